import type { Json } from "../../../src/rpc/parseJson.ts";
import { MATCHING_ORDER, OPEN_ORDER } from "../../fakes/fakeNode.ts";
import {
  A_TIME_MS,
  A_UUID,
  ANYTHING,
  anyPair,
  anyTriple,
  type Entry,
  type Expected,
  having,
  mapOf,
  pair,
  type Row,
  triple,
} from "./row.ts";
import { refusals } from "./rowMakers.ts";

/** Own orders (interface document: buy, sell, setprice, cancel_all_orders; reference rpc.md 4.1 to 4.3, 5.2, 5.4). */

/** Objects of a match (5.2). */
const BOBS_REQUEST: Expected = {
  ...{ base: "DOC", rel: "MARTY", base_amount: "1", base_amount_rat: ANYTHING, rel_amount: "2", rel_amount_rat: ANYTHING, action: "Buy" },
  ...{ uuid: A_UUID, method: "request", sender_pubkey: "$bobX", dest_pub_key: "0".repeat(64), match_by: { type: "Any" } },
  conf_settings: ANYTHING,
};
const reservedBy = (sender_pubkey: string, dest_pub_key: string): Expected => ({
  ...{ base: "DOC", rel: "MARTY", base_amount: "1", base_amount_rat: ANYTHING, rel_amount: "2", rel_amount_rat: ANYTHING },
  ...{ taker_order_uuid: A_UUID, maker_order_uuid: "$third", sender_pubkey, dest_pub_key, conf_settings: ANYTHING, method: "reserved" },
});
const handshake = (method: string, sender_pubkey: string, dest_pub_key: string): Expected => ({
  ...{ taker_order_uuid: A_UUID, maker_order_uuid: "$third", method, sender_pubkey, dest_pub_key },
});

type Fields = { readonly [key: string]: Json };
const NONE = "00000000-0000-0000-0000-000000000001";
const ONES = `0.000${"1".repeat(100)}`;
const order = { base: "DOC", rel: "MARTY", price: "1", volume: "1" };
const DIGITS = `0.${"0".repeat(200)}1`;

const conf = (base_confs = 1, base_nota = false, rel_confs = 1, rel_nota = false) => ({ base_confs, base_nota, rel_confs, rel_nota });
const NO_TICKERS = { base_orderbook_ticker: null, rel_orderbook_ticker: null };

/** The 15 fields of the document and the four KDF has beside them. */
const request = (fields: { readonly [key: string]: Expected }): { readonly [key: string]: Expected } => ({
  ...{ base: "DOC", rel: "MARTY", uuid: A_UUID, method: "request", sender_pubkey: "$aliceX", dest_pub_key: "0".repeat(64) },
  ...{ match_by: { type: "Any" }, conf_settings: conf() },
  ...fields,
});
const takerReply = (fields: { readonly [key: string]: Expected }): Expected => ({
  ...request(fields),
  order_type: fields.order_type ?? { type: "GoodTillCancelled" },
  ...("min_volume" in fields ? {} : anyTriple("min_volume")),
  ...(fields.base_orderbook_ticker === undefined ? NO_TICKERS : {}),
});
const makerReply = (fields: { readonly [key: string]: Expected }): { readonly [key: string]: Expected } => ({
  ...{ base: "DOC", rel: "MARTY", created_at: A_TIME_MS, updated_at: A_TIME_MS, matches: {}, started_swaps: [], uuid: A_UUID },
  ...{ conf_settings: conf(), ...NO_TICKERS },
  ...fields,
});

const on = (state: Row["on"]) => ({
  ok: (method: string, params: Fields, result: Expected, more: Partial<Pick<Row, "keep" | "note">> = {}): Entry => ({
    on: state,
    method,
    style: "flat",
    params,
    result,
    ...more,
  }),
  fails: (method: string, params: Fields, error: string, text: string, more: Partial<Pick<Row, "status" | "note">> = {}): Entry => ({
    on: state,
    method,
    style: "flat",
    params,
    error,
    text,
    ...more,
  }),
});
const { ok, fails } = on("trade");
const step = (name: string): Entry => ({ on: "trade", step: name });

/** What `buy` and `sell` refuse alike, in the order of reference rpc.md 4.1: each call breaks every later rule too, where one call can. */
const ONE_CHAIN = "DOC and DOC-2 are one coin with two kinds of addresses: move it with withdraw";

const takerRefusals = (method: "buy" | "sell"): readonly Entry[] => {
  const mine = method === "buy" ? "MARTY" : "DOC";
  const [first, second] = method === "buy" ? ["Rel", "Base"] : ["Base", "Rel"];
  return [
    fails(method, { ...order, rel: "DOC", price: "0", volume: "0" }, "SameCoin", "Base and rel must be different coins"),
    fails(method, { ...order, base: "LTC", rel: "NOSUCH", price: "0" }, "CoinNotActive", `${first} coin is not found or inactive`),
    fails(
      method,
      { ...order, [method === "buy" ? "base" : "rel"]: "LTC", price: "0" },
      "CoinNotActive",
      `${second} coin is not found or inactive`,
    ),
    fails(
      method,
      { ...order, base: "WALLET", volume: "1000", price: "0" },
      "WalletOnly",
      "'WALLET' is a wallet only asset and can't be used in orders.",
    ),
    fails(
      method,
      { ...order, rel: "WALLET", volume: "1000" },
      "WalletOnly",
      "'WALLET' is a wallet only asset and can't be used in orders.",
    ),
    fails(method, { ...order, rel: "DOC-2" }, "OneChain", ONE_CHAIN),
    fails(
      method,
      { ...order, [method === "buy" ? "rel" : "base"]: "KMD" },
      "NoFeeKey",
      "the network profile spec has no dex fee key for KMD, a coin with a value: set swapnode.network_profile to the network you join (kdf-3 or kdf-2), or swapnode.profile_overrides.dex_fee_pubkey",
    ),
    fails(
      method,
      { ...order, [method === "buy" ? "base" : "rel"]: "KMD" },
      "NoFeeKey",
      "the network profile spec has no dex fee key for KMD, a coin with a value: set swapnode.network_profile to the network you join (kdf-3 or kdf-2), or swapnode.profile_overrides.dex_fee_pubkey; or use order_type FillOrKill: a GoodTillCancelled order becomes a maker order, whose takers would pay the dex fee in KMD",
      { note: "only the order it would become lacks the key" },
    ),
    fails(method, { ...order, volume: "-1", price: "1" }, "Internal", "Internal error: Could not get sat from amount -1 with decimals 8"),
    fails(
      method,
      { ...order, volume: "0" },
      "VolumeTooLow",
      `The volume 0 of the ${mine} coin less than minimum transaction amount 0.00001`,
    ),
    fails(
      method,
      { ...order, volume: "100" },
      "NotSufficientBalance",
      `Not enough ${mine} for swap: available 100, required at least 100.0000024, locked by swaps None`,
      { note: "the volume and its own miner fee, without the dex fee" },
    ),
    fails(
      method,
      { ...order, volume: "99.9" },
      "NotSufficientBalance",
      `Not enough ${mine} for swap: available 100, required at least 100.0285766185714285714285714285714285714285714285714285714285714285714285714285714285714285714285714, locked by swaps Some(BigDecimal("0"))`,
      { note: "all of it together" },
    ),
    fails(
      method,
      { ...order, price: "0.000000009", volume: method === "buy" ? "2000" : "99" },
      "PriceTooLow",
      "Price is too low, minimum is 0.00000001",
    ),
    fails(method, { ...order, volume: "0.00005" }, "BaseVolumeTooLow", "Base amount 0.00005 is too low, required: 0.0001"),
    fails(method, { ...order, price: "0.00002", volume: "1" }, "RelVolumeTooLow", "Rel amount 0.00002 is too low, required: 0.0001"),
    fails(method, { ...order, min_volume: "0.00001" }, "MinVolumeTooLow", "Min volume 0.00001 is too low, required: 0.0001"),
    fails(method, { ...order, price: "0.9", min_volume: "0.0001" }, "MinVolumeTooLow", `Min volume 0.0001 is too low, required: ${ONES}`, {
      note: "the rel coin's least, in base coins",
    }),
    fails(method, { ...order, min_volume: "2" }, "MaxBelowMin", "Max base vol 1 is below min base vol: 2"),
    fails(
      method,
      { ...order, price: `1${DIGITS.slice(1)}` },
      "NumberTooLong",
      "price has too many digits for an order: write it with 190 decimal places at most",
    ),
    fails(method, { ...order, base_confs: 100 }, "ConfirmationsDoNotFit", confirmationsText("DOC")),
    fails(method, { base: "DOC", rel: "MARTY", volume: "1" }, "bad_params", "missing field `price`"),
    fails(method, { ...order, price: "abc" }, "bad_params", 'Could not deserialize any variant of MmNumber from "abc"'),
    fails(method, { ...order, match_by: { type: "X" } }, "bad_params", "unknown variant `X`, expected one of `Any`, `Orders`, `Pubkeys`"),
    fails(
      method,
      { ...order, match_by: { type: "Pubkeys", data: ["zz"] } },
      "bad_params",
      'invalid value: string "zz", expected a hash string',
    ),
    fails(
      method,
      { ...order, order_type: { type: "X" } },
      "bad_params",
      "unknown variant `X`, expected `FillOrKill` or `GoodTillCancelled`",
    ),
    fails(method, { ...order, destpubkey: "zz" }, "bad_params", 'invalid value: string "zz", expected a hash string'),
  ];
};

const elsewhereText =
  "Another node trades with the key of this one: a PubkeyKeepAlive that this node did not send was heard at 2026-11-21T02:41:42.000Z. This node finishes its open swaps and takes part in no new trade. Stop the other node; this one goes on when the other has been silent until 2026-11-21T02:51:42.000Z, or after a restart";
const slowText = (maker: string, taker: string) =>
  `A swap of ${maker} for ${taker} leaves 7379 s between its two locks, but on chains this slow 7380 s may be needed to claim the ${maker} before its maker may take it back`;
const cappedText = (coin: string) =>
  `50 ${coin} in one swap ask for 50 confirmations at a block reward of 1 ${coin}, but 40 fit into 3120 s: at most 40 ${coin} can be received in one swap; trade less at a time, or ask for a notarization where the chain has one`;
const confirmationsText = (coin: string) =>
  `100 confirmations of ${coin} may take 18000 s, but a swap with a lock of 7800 s leaves 3120 s for them; ask for fewer`;
/** What the order would be refused for is said of its figures already, in both forms. */
const figures = (state: Row["on"], params: Fields, error: string, text: string, data?: Expected): readonly Entry[] => [
  fake(state, "trade_preimage", params, error, text),
  refusals(state, "v2")("trade_preimage", params, error, text, { status: 400, ...(data === undefined ? {} : { data }) }),
];
/** The coin each placement receives. */
const received = (method: string) => (method === "buy" ? "DOC" : "MARTY");
const big = { ...order, volume: "50" };
const placements: readonly (readonly [string, Fields])[] = [
  ["buy", big],
  ["sell", big],
  ["setprice", { ...big, cancel_previous: false }],
  ["update_maker_order", { uuid: OPEN_ORDER, new_price: "1", volume_delta: "47" }],
];
const fake = (state: Row["on"], method: string, params: Fields, error: string, text: string): Entry =>
  on(state).fails(method, params, error, text);

/** States that take a real node too long, or that its chains cannot be brought to. */
const IMITATED: readonly Entry[] = [
  ...placements.map(([method, params]) => fake("elsewhere", method, params, "KeyInUseElsewhere", elsewhereText)),
  ...placements.map(([method, params]) =>
    fake("slow", method, params, "LocksTooClose", method === "sell" ? slowText("MARTY", "DOC") : slowText("DOC", "MARTY")),
  ),
  ...placements.map(([method, params]) => fake("capped", method, params, "AmountAboveCap", cappedText(received(method)))),
  ...["setprice", "buy", "sell"].flatMap((swap_method) => {
    const [coin, given] = swap_method === "buy" ? ["DOC", "MARTY"] : ["MARTY", "DOC"];
    const slow = swap_method === "sell" ? slowText("MARTY", "DOC") : slowText("DOC", "MARTY");
    const asked = { ...big, swap_method };
    return [
      ...figures("slow", asked, "LocksTooClose", slow),
      ...figures("capped", asked, "AmountAboveCap", cappedText(coin), { coin, amount: "50", cap: "40" }),
      on("capped").ok("set_required_confirmations", { coin: given, confirmations: 100 }, { coin: given, confirmations: 100 }),
      ...figures("capped", asked, "ConfirmationsDoNotFit", confirmationsText(given)),
      on("capped").ok("set_required_confirmations", { coin: given, confirmations: 1 }, { coin: given, confirmations: 1 }),
    ];
  }),
  ...placements
    .filter(([method]) => method !== "update_maker_order")
    .map(([method, params]) =>
      fake("full", method, params, "TooManyOrders", "This node has 10000 open orders, the most it can hold; cancel some first"),
    ),
  fake(
    "full",
    "orders_history_by_filter",
    { include_details: true },
    "TooManyDetails",
    "10000 orders match, and one reply has the details of 1000 at most: narrow the filter",
  ),
  fake(
    "unpaid",
    "update_maker_order",
    { uuid: OPEN_ORDER, new_price: "3" },
    "NoFeeKey",
    "the network profile spec has no dex fee key for MARTY, a coin with a value: set swapnode.network_profile to the network you join (kdf-3 or kdf-2), or swapnode.profile_overrides.dex_fee_pubkey",
  ),
  fake(
    "raised",
    "update_maker_order",
    { uuid: OPEN_ORDER, volume_delta: "-2.995" },
    "BaseVolumeTooLow",
    "Max base vol 0.005 is too low, required: 0.01",
  ),
  fake(
    "busy",
    "update_maker_order",
    { uuid: MATCHING_ORDER, new_price: "3" },
    "OngoingMatches",
    "Can't update an order that has ongoing matches",
  ),
];

export const ORDER_ROWS: readonly Entry[] = [
  ok(
    "sell",
    { base: "DOC", rel: "MARTY", price: "0.9", volume: "0.5" },
    takerReply({
      ...pair("base_amount", "0.5", 1n, 2n),
      ...pair("rel_amount", "0.45", 9n, 20n),
      action: "Sell",
      ...triple("min_volume", ONES, 1n, 9_000n),
    }),
    { keep: { sold: "uuid" } },
  ),
  ok(
    "order_status",
    { uuid: "$sold" },
    {
      type: "Taker",
      order: {
        created_at: A_TIME_MS,
        request: request({ ...pair("base_amount", "0.5", 1n, 2n), ...pair("rel_amount", "0.45", 9n, 20n), action: "Sell", uuid: "$sold" }),
        matches: {},
        order_type: { type: "GoodTillCancelled" },
        cancellable: true,
        ...NO_TICKERS,
      },
    },
  ),
  ok("cancel_order", { uuid: "$sold" }, "success"),
  ok(
    "buy",
    {
      ...{
        base: "DOC",
        rel: "MARTY",
        price: { numer: "2", denom: "1" },
        volume: [
          [1, [1]],
          [1, [2]],
        ],
        min_volume: 0.25,
      },
      ...{ match_by: { type: "Pubkeys", data: ["$bobX", "$bobX"] }, order_type: { type: "FillOrKill" }, timeout: 5 },
      ...{ base_confs: 2, base_nota: false, rel_confs: 3, rel_nota: false, save_in_history: false },
      ...{ destpubkey: "1".repeat(64), duration: 3_600, gui: "a client", unknown: true },
    },
    takerReply({
      ...pair("base_amount", "0.5", 1n, 2n),
      ...pair("rel_amount", "1", 1n, 1n),
      action: "Buy",
      match_by: { type: "Pubkeys", data: ["$bobX"] },
      order_type: { type: "FillOrKill" },
      conf_settings: conf(2, false, 3, false),
      ...triple("min_volume", "0.25", 1n, 4n),
    }),
    { note: "every form of number, every parameter", keep: { bought: "uuid" } },
  ),
  ok("my_orders", {}, { maker_orders: {}, taker_orders: having({ $bought: ANYTHING }) }, { note: "ends by itself after 5 s" }),
  ok(
    "buy",
    { ...order, base: "DOC-2", match_by: { type: "Orders", data: [NONE] }, order_type: { type: "FillOrKill" } },
    takerReply({
      ...{ base: "DOC-2", action: "Buy", match_by: { type: "Orders", data: [NONE] }, order_type: { type: "FillOrKill" } },
      ...pair("base_amount", "1", 1n, 1n),
      ...pair("rel_amount", "1", 1n, 1n),
      ...{ base_orderbook_ticker: "DOC", rel_orderbook_ticker: null },
    }),
  ),
  ok("cancel_all_orders", { cancel_by: { type: "All" } }, { cancelled: ANYTHING, currently_matching: [] }),
  ...takerRefusals("buy"),
  ...takerRefusals("sell"),

  ok(
    "setprice",
    { base: "DOC", rel: "MARTY", price: "0.9", volume: "1" },
    makerReply({
      ...pair("price", "0.9", 9n, 10n),
      ...pair("max_base_vol", "1", 1n, 1n),
      ...pair("min_base_vol", ONES, 1n, 9_000n),
    }),
    { keep: { first: "uuid" } },
  ),
  ok(
    "setprice",
    {
      base: "DOC",
      rel: "MARTY",
      price: "2",
      volume: "0",
      max: true,
      cancel_previous: false,
      min_volume: "0.5",
      timeout_in_minutes: 60,
      base_confs: 2,
    },
    makerReply({
      ...pair("price", "2", 2n, 1n),
      ...pair("max_base_vol", "99.999", 99_999n, 1_000n),
      ...pair("min_base_vol", "0.5", 1n, 2n),
      conf_settings: conf(2),
    }),
    { note: "all but the reserve of the document", keep: { second: "uuid" } },
  ),
  ok(
    "order_status",
    { uuid: "$second" },
    {
      type: "Maker",
      order: {
        ...makerReply({
          ...pair("price", "2", 2n, 1n),
          ...pair("max_base_vol", "99.999", 99_999n, 1_000n),
          ...pair("min_base_vol", "0.5", 1n, 2n),
          conf_settings: conf(2),
          uuid: "$second",
        }),
        cancellable: true,
        available_amount: "99.999",
      },
    },
  ),
  ok(
    "setprice",
    { base: "DOC", rel: "MARTY", price: "2", volume: "3" },
    makerReply({ ...pair("price", "2", 2n, 1n), ...pair("max_base_vol", "3", 3n, 1n), ...pair("min_base_vol", "0.0001", 1n, 10_000n) }),
    { note: "cancels both", keep: { third: "uuid" } },
  ),
  ok(
    "order_status",
    { uuid: "$first" },
    {
      type: "Maker",
      order: makerReply({ ...anyPair("price"), ...anyPair("max_base_vol"), ...anyPair("min_base_vol"), uuid: "$first" }),
      cancellation_reason: "Cancelled",
    },
  ),
  ok(
    "my_orders",
    {},
    {
      maker_orders: {
        $third: {
          ...makerReply({
            ...pair("price", "2", 2n, 1n),
            ...pair("max_base_vol", "3", 3n, 1n),
            ...pair("min_base_vol", "0.0001", 1n, 10_000n),
            uuid: "$third",
          }),
          cancellable: true,
          available_amount: "3",
        },
      },
      taker_orders: {},
    },
  ),
  ...["urn:uuid:$third", "{$third}"].map((uuid) =>
    ok("order_status", { uuid }, having({ type: "Maker", order: having({ uuid: "$third" }) })),
  ),
  ...["urn:uuid:{$third}", "{$third", "$third}", "urn:uuid:$third}"].map((uuid) =>
    fails(
      "order_status",
      { uuid },
      "bad_params",
      uuid.startsWith("$")
        ? "UUID parsing failed: invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], found `}` at 37"
        : `UUID parsing failed: invalid character: expected an optional prefix of \`urn:uuid:\` followed by [0-9a-fA-F-], found \`${uuid.charAt(0)}\` at 1`,
    ),
  ),
  fails("setprice", { ...order, base: "LTC", rel: "NOSUCH" }, "CoinNotActive", "Base coin LTC is not found"),
  fails("setprice", { ...order, rel: "LTC" }, "CoinNotActive", "Rel coin LTC is not found"),
  fails("setprice", { ...order, base: "WALLET" }, "WalletOnly", "'WALLET' is a wallet only asset and can't be used in orders."),
  fails("setprice", { ...order, rel: "WALLET" }, "WalletOnly", "'WALLET' is a wallet only asset and can't be used in orders."),
  fails("setprice", { ...order, rel: "DOC-2" }, "OneChain", ONE_CHAIN),
  fails(
    "setprice",
    { ...order, rel: "KMD" },
    "NoFeeKey",
    "the network profile spec has no dex fee key for KMD, a coin with a value: set swapnode.network_profile to the network you join (kdf-3 or kdf-2), or swapnode.profile_overrides.dex_fee_pubkey",
  ),
  fails("setprice", { ...order, volume: "-1" }, "Internal", "Internal error: Could not get sat from amount -1 with decimals 8"),
  fails(
    "setprice",
    { base: "DOC", rel: "DOC", price: "0" },
    "VolumeTooLow",
    "The volume 0 of the DOC coin less than minimum transaction amount 0.00001",
    { note: "no volume and no max" },
  ),
  fails(
    "setprice",
    { ...order, rel: "DOC", volume: "100", price: "0" },
    "NotSufficientBalance",
    "Not enough DOC for swap: available 100, required at least 100.0000024, locked by swaps None",
    { note: "before the same coin and the price" },
  ),
  fails(
    "setprice",
    { ...order, base: "DOC-2", max: true },
    "NotSufficientBalance",
    'Not enough DOC-2 for swap: available 0, required at least 0.00001034, locked by swaps Some(BigDecimal("0"))',
  ),
  fails("setprice", { ...order, rel: "DOC", price: "0" }, "SameCoin", "Rel coin can not be same as base"),
  fails("setprice", { ...order, price: "0", min_volume: "0" }, "PriceTooLow", "Price 0 is too low, required: 0"),
  fails("setprice", { ...order, price: "-1" }, "PriceTooLow", "Price -1 is too low, required: 0"),
  fails("setprice", { ...order, min_volume: "0.00001" }, "MinVolumeTooLow", "Min base vol 0.00001 is too low, required: 0.0001"),
  fails("setprice", { ...order, min_volume: "2" }, "MaxBelowMin", "Max base vol 1 is below min base vol: 2"),
  fails("setprice", { ...order, volume: "0.00005" }, "BaseVolumeTooLow", "Max base vol 0.00005 is too low, required: 0.0001"),
  fails("setprice", { ...order, price: "0.00001" }, "RelVolumeTooLow", "Max rel vol 0.00001 is too low, required: 0.0001"),
  fails(
    "setprice",
    { ...order, price: `1${DIGITS.slice(1)}` },
    "NumberTooLong",
    "price has too many digits for an order: write it with 190 decimal places at most",
  ),
  fails("setprice", { ...order, rel_confs: 100 }, "ConfirmationsDoNotFit", confirmationsText("MARTY")),
  fails("setprice", { ...order, volume: null }, "bad_params", "Could not deserialize any variant of MmNumber from null"),
  fails("setprice", { ...order, timeout_in_minutes: 65_536 }, "bad_params", "invalid value: integer `65536`, expected u16"),
  ok("my_orders", {}, { maker_orders: having({ $third: ANYTHING }), taker_orders: {} }, { note: "a refusal cancels nothing" }),

  fails("update_maker_order", { uuid: NONE, new_price: "0" }, "OrderNotFound", `There is no order with UUID ${NONE}`),
  fails("update_maker_order", { uuid: "$third", new_price: "0", min_volume: "0" }, "PriceTooLow", "Price 0 is too low, required: 0"),
  fails(
    "update_maker_order",
    { uuid: "$third", min_volume: "0.00001", volume_delta: "-3" },
    "MinVolumeTooLow",
    "Min base vol 0.00001 is too low, required: 0.0001",
  ),
  fails("update_maker_order", { uuid: "$third", volume_delta: "-3" }, "VolumeNotPositive", "New volume 0 should be more than zero"),
  fails(
    "update_maker_order",
    { uuid: "$third", volume_delta: "97" },
    "NotSufficientBalance",
    "Not enough DOC for swap: available 100, required at least 100.0000024, locked by swaps None",
  ),
  fails(
    "update_maker_order",
    { uuid: "$third", volume_delta: "-2.999999" },
    "VolumeTooLow",
    "The volume 0.000001 of the DOC coin less than minimum transaction amount 0.00001",
  ),
  fails("update_maker_order", { uuid: "$third", min_volume: "4" }, "MaxBelowMin", "Max base vol 3 is below min base vol: 4"),
  fails(
    "update_maker_order",
    { uuid: "$third", volume_delta: "-2.99995", new_price: "10" },
    "MaxBelowMin",
    "Max base vol 0.00005 is below min base vol: 0.0001",
  ),
  fails(
    "update_maker_order",
    { uuid: "$third", new_price: "0.00001" },
    "RelVolumeTooLow",
    "Max rel vol 0.00003 is too low, required: 0.0001",
  ),
  fails(
    "update_maker_order",
    { uuid: "$third", new_price: `1${DIGITS.slice(1)}` },
    "NumberTooLong",
    "price has too many digits for an order: write it with 190 decimal places at most",
  ),
  fails("update_maker_order", { uuid: "$third", base_confs: 100 }, "ConfirmationsDoNotFit", confirmationsText("DOC")),
  ok(
    "update_maker_order",
    { uuid: "$third", new_price: "2", volume_delta: "1", min_volume: "0.5", rel_confs: 2 },
    makerReply({
      ...pair("price", "2", 2n, 1n),
      ...pair("max_base_vol", "4", 4n, 1n),
      ...pair("min_base_vol", "0.5", 1n, 2n),
      conf_settings: conf(1, false, 2, false),
      uuid: "$third",
    }),
  ),
  ok(
    "orders_history_by_filter",
    { status: "Updated" },
    {
      orders: [
        {
          ...{ uuid: "$third", order_type: "Maker", initial_action: "Sell", base: "DOC", rel: "MARTY", price: 2, volume: 4 },
          ...{ created_at: A_TIME_MS, last_updated: A_TIME_MS, was_taker: 0, status: "Updated" },
        },
      ],
      details: [],
      found_records: 1,
      warnings: [],
    },
  ),
  ok(
    "orders_history_by_filter",
    {
      ...{ order_type: "Maker", initial_action: "Sell", base: "DOC", rel: "MARTY", from_price: "0.5", to_price: 1, from_volume: "1" },
      ...{
        to_volume: "1",
        from_timestamp: 0,
        to_timestamp: 9_999_999_999_999,
        was_taker: false,
        status: "Cancelled",
        include_details: true,
      },
    },
    {
      orders: [
        {
          ...{ uuid: "$first", order_type: "Maker", initial_action: "Sell", base: "DOC", rel: "MARTY", price: 0.9, volume: 1 },
          ...{ created_at: A_TIME_MS, last_updated: A_TIME_MS, was_taker: 0, status: "Cancelled" },
        },
      ],
      details: [
        {
          type: "Maker",
          order: makerReply({ ...anyPair("price"), ...anyPair("max_base_vol"), ...anyPair("min_base_vol"), uuid: "$first" }),
        },
      ],
      found_records: 1,
      warnings: [],
    },
  ),

  step("a second passes"),
  step("bob asks for 1 DOC and falls silent"),
  ok(
    "order_status",
    { uuid: "$third" },
    {
      type: "Maker",
      order: having({
        cancellable: false,
        available_amount: "3",
        max_base_vol: "4",
        matches: mapOf({
          request: BOBS_REQUEST,
          reserved: reservedBy("$aliceX", "$bobX"),
          connect: null,
          connected: null,
          last_updated: A_TIME_MS,
        }),
      }),
    },
  ),
  fails(
    "sell",
    { ...order, volume: "99.5" },
    "NotSufficientBalance",
    `Not enough DOC for swap: available 98.99997808, required at least 99.62806181805662805662805662805662805662805662805662805662805662805662805662805662805662805662805663, locked by swaps Some(BigDecimal("1.00002192"))`,
    { note: "what the handshake holds" },
  ),
  fails("cancel_order", { uuid: "$third" }, "BeingMatched", "Order $third is being matched now, can't cancel"),
  fails("update_maker_order", { uuid: "$third", new_price: "3" }, "OngoingMatches", "Can't update an order that has ongoing matches"),
  ok(
    "cancel_all_orders",
    { cancel_by: { type: "Pair", data: { base: "DOC", rel: "MARTY" } } },
    { cancelled: [], currently_matching: ["$third"] },
  ),
  ok("cancel_all_orders", { cancel_by: { type: "Coin", data: { ticker: "MARTY" } } }, { cancelled: [], currently_matching: ["$third"] }),
  step("bob is back"),
  ok(
    "cancel_all_orders",
    { cancel_by: { type: "Pair", data: { base: "MARTY", rel: "DOC" } } },
    { cancelled: [], currently_matching: [] },
    {
      note: "the other direction",
    },
  ),
  step("bob buys 1 DOC"),
  ok(
    "my_orders",
    {},
    {
      maker_orders: {
        $third: having({
          available_amount: "3",
          cancellable: true,
          started_swaps: [A_UUID],
          matches: mapOf({
            request: BOBS_REQUEST,
            reserved: reservedBy("$aliceX", "$bobX"),
            connect: handshake("connect", "$bobX", "$aliceX"),
            connected: handshake("connected", "$aliceX", "$bobX"),
            last_updated: A_TIME_MS,
          }),
        }),
      },
      taker_orders: {},
    },
  ),
  fails(
    "update_maker_order",
    { uuid: "$third", volume_delta: "-3.5" },
    "VolumeNotAboveReserved",
    "New volume 0.5 should be more than reserved amount for order matches 1",
  ),
  step("all swaps end"),
  ok("cancel_order", { uuid: "$third" }, "success"),
  fails("cancel_order", { uuid: "$third" }, "OrderNotFound", "Order with uuid $third is not found", { status: 404 }),
  fails(
    "cancel_order",
    { uuid: "x" },
    "bad_params",
    "UUID parsing failed: invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], found `x` at 1",
  ),
  fails("order_status", { uuid: NONE }, "OrderNotFound", `Order with uuid ${NONE} is not found`),
  fails("cancel_all_orders", {}, "bad_params", "invalid type: null, expected adjacently tagged enum CancelBy"),
  fails("cancel_all_orders", { cancel_by: { type: "X" } }, "bad_params", "unknown variant `X`, expected one of `All`, `Pair`, `Coin`"),
  fails("cancel_all_orders", { cancel_by: { type: "Coin" } }, "bad_params", "missing field `data`"),
  fails(
    "cancel_all_orders",
    { cancel_by: { type: "All", data: {} } },
    "bad_params",
    "invalid type: map, expected unit variant CancelBy::All",
  ),

  ok("cancel_all_orders", { cancel_by: { type: "Coin", data: { ticker: "NOSUCH" } } }, { cancelled: [], currently_matching: [] }),
  ok("setprice", { base: "MARTY", rel: "DOC", price: "1", volume: "1", timeout_in_minutes: 0 }, having({ price: "1" }), {
    keep: { brief: "uuid" },
  }),
  step("a second passes"),
  ok("order_status", { uuid: "$brief" }, having({ type: "Maker", cancellation_reason: "Expired" })),
  step("bob offers 4 DOC at 0.5 MARTY"),
  ok("buy", { base: "DOC", rel: "MARTY", price: "0.5", volume: "2" }, having({ action: "Buy", base_amount: "2", rel_amount: "1" }), {
    keep: { taken: "uuid" },
  }),
  step("alice's request is taken"),
  ok("order_status", { uuid: "$taken" }, having({ type: "Taker", cancellation_reason: "Fulfilled" }), {
    note: "a taker order is over once its swap begins",
  }),
  step("all swaps end"),
  ok("order_status", { uuid: "$taken" }, having({ type: "Taker", cancellation_reason: "Fulfilled" })),
  ok("buy", { base: "DOC", rel: "MARTY", price: "0.1", volume: "2" }, having({ action: "Buy" }), {
    note: "too cheap for bob",
    keep: { cheap: "uuid" },
  }),
  step("a minute passes"),
  ok(
    "my_orders",
    {},
    {
      maker_orders: {
        $cheap: {
          ...makerReply({
            ...{ base: "MARTY", rel: "DOC", uuid: "$cheap" },
            ...pair("price", "10", 10n, 1n),
            ...pair("max_base_vol", "0.2", 1n, 5n),
            ...pair("min_base_vol", "0.0001", 1n, 10_000n),
          }),
          cancellable: true,
          available_amount: "0.2",
        },
      },
      taker_orders: {},
    },
    { note: "a maker order of the reverse pair after 30 s" },
  ),
  ok(
    "cancel_all_orders",
    { cancel_by: { type: "Pair", data: { base: "MARTY", rel: "DOC" } } },
    { cancelled: ["$cheap"], currently_matching: [] },
  ),

  ok("setprice", { ...order, price: "3" }, having({ price: "3" }), { keep: { last: "uuid" } }),
  step("the daemon of DOC goes away"),
  fails("buy", order, "Transport", "Transport error: The DOC daemon cannot be used: HTTP 500."),
  fails("sell", order, "Transport", "Transport error: The DOC daemon cannot be used: HTTP 500."),
  fails("setprice", order, "Transport", "Transport error: The DOC daemon cannot be used: HTTP 500."),
  fails(
    "update_maker_order",
    { uuid: "$last", volume_delta: "1" },
    "Transport",
    "Transport error: The DOC daemon cannot be used: HTTP 500.",
  ),
  step("the daemon of DOC is back"),
  ok("setprice", { ...order, price: "2" }, having({ price: "2" }), { keep: { left: "uuid" } }),
  step("a second passes"),
  step("bob asks for 1 DOC and falls silent"),
  ok("disable_coin", { coin: "MARTY", force_disable: true }, { coin: "MARTY", cancelled_orders: [], passivized: true }),
  step("a minute passes"),
  fails("update_maker_order", { uuid: "$left", new_price: "3" }, "CoinsNotActive", "Base coin DOC and/or rel coin MARTY are not activated"),
  ok(
    "disable_coin",
    { coin: "DOC" },
    { coin: "DOC", cancelled_orders: ["$left"], passivized: true },
    { note: "its last swap is not final" },
  ),
  ...IMITATED,
];
