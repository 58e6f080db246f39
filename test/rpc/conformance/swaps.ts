import type { Json } from "../../../src/rpc/parseJson.ts";
import {
  A_DECIMAL,
  A_HASH,
  A_KEY,
  A_TEXT,
  A_TIME_MS,
  A_TIME_SEC,
  A_UUID,
  ANYTHING,
  anyTriple,
  type Entry,
  type Expected,
  having,
  listOf,
  SOME_HEX,
  triple,
} from "./row.ts";
import { calls, type Failing, refusals } from "./rowMakers.ts";

/** Swaps and what they cost (interface document: my_recent_swaps, trade_preimage, get_trade_fee; reference rpc.md 4.4 to 4.6, 5.3, 5.4, 7). */

type Fields = { readonly [key: string]: Json };
const [flat, v2, fails, failsV2] = [calls("trade", "flat"), calls("trade", "v2"), refusals("trade", "flat"), refusals("trade", "v2")];
const step = (name: string): Entry => ({ on: "trade", step: name });

/** Reference rpc.md 1.8: no `params` at all. */
const noParams = (method: string, struct: string): Entry => {
  const data = `invalid type: null, expected struct ${struct}`;
  const text = `Error parsing request: ${data}`;
  return {
    on: "trade",
    method,
    style: "v2",
    params: null,
    error: "bad_params",
    text,
    status: 400,
    type: "InvalidRequest",
    path: "dispatcher",
    data,
  };
};
const NONE = "00000000-0000-0000-0000-000000000001";
const ZEROS = "0".repeat(64);
const order = { base: "DOC", rel: "MARTY", price: "1", volume: "1" };
const UNKNOWN_FROM = "Unknown SQL error: Query returned no rows";

/** 7.2, word for word. */
const MAKER_SUCCESS = [
  ...["Started", "Negotiated", "MakerPaymentInstructionsReceived", "TakerFeeValidated", "MakerPaymentSent", "TakerPaymentReceived"],
  ...["TakerPaymentWaitConfirmStarted", "TakerPaymentValidatedAndConfirmed", "TakerPaymentSpent", "TakerPaymentSpendConfirmStarted"],
  ...["TakerPaymentSpendConfirmed", "Finished"],
];
const MAKER_ERRORS = [
  ...["StartFailed", "NegotiateFailed", "TakerFeeValidateFailed", "MakerPaymentTransactionFailed", "MakerPaymentDataSendFailed"],
  ...["MakerPaymentWaitConfirmFailed", "TakerPaymentValidateFailed", "TakerPaymentWaitConfirmFailed", "TakerPaymentSpendFailed"],
  ...["TakerPaymentSpendConfirmFailed", "MakerPaymentWaitRefundStarted", "MakerPaymentRefundStarted", "MakerPaymentRefunded"],
  ...["MakerPaymentRefundFailed", "MakerPaymentRefundFinished"],
];
const TAKER_SUCCESS = [
  ...[
    "Started",
    "Negotiated",
    "TakerFeeSent",
    "TakerPaymentInstructionsReceived",
    "MakerPaymentReceived",
    "MakerPaymentWaitConfirmStarted",
  ],
  ...[
    "MakerPaymentValidatedAndConfirmed",
    "TakerPaymentSent",
    "TakerPaymentSpent",
    "MakerPaymentSpent",
    "MakerPaymentSpendConfirmed",
    "Finished",
  ],
];
const TAKER_ERRORS = [
  ...["StartFailed", "NegotiateFailed", "TakerFeeSendFailed", "MakerPaymentValidateFailed", "MakerPaymentWaitConfirmFailed"],
  ...["TakerPaymentTransactionFailed", "TakerPaymentWaitConfirmFailed", "TakerPaymentDataSendFailed", "TakerPaymentWaitForSpendFailed"],
  ...["MakerPaymentSpendFailed", "MakerPaymentSpendConfirmFailed", "TakerPaymentWaitRefundStarted", "TakerPaymentRefundStarted"],
  ...["TakerPaymentRefunded", "TakerPaymentRefundedByWatcher", "TakerPaymentRefundFailed", "TakerPaymentRefundFinished"],
];

const event = (type: string, ...data: readonly Expected[]): Expected => ({
  timestamp: A_TIME_MS,
  event: data[0] === undefined ? { type } : { type, data: data[0] },
});
const TX = { tx_hex: SOME_HEX, tx_hash: A_HASH };
const KEY = A_KEY;
const fee = (coin: string, paid_from_trading_vol: boolean) => ({ coin, amount: A_DECIMAL, paid_from_trading_vol });
const CONFS = {
  ...{ maker_payment_confirmations: 1, maker_payment_requires_nota: false },
  ...{ taker_payment_confirmations: 1, taker_payment_requires_nota: false },
};
const MAKER_STARTED = event("Started", {
  ...{ taker_coin: "MARTY", maker_coin: "DOC", taker: ZEROS, secret: ZEROS, secret_hash: SOME_HEX, my_persistent_pub: KEY },
  ...{ lock_duration: 7_800, maker_amount: "1", taker_amount: "2", ...CONFS, maker_payment_lock: A_TIME_SEC, uuid: "$swap" },
  ...{ started_at: A_TIME_SEC, maker_coin_start_block: ANYTHING, taker_coin_start_block: ANYTHING },
  ...{ maker_payment_trade_fee: fee("DOC", false), taker_payment_spend_trade_fee: fee("MARTY", true) },
  ...{ maker_coin_htlc_pubkey: KEY, taker_coin_htlc_pubkey: KEY, p2p_privkey: null },
});
const CONTRACTS = { maker_coin_swap_contract_addr: null, taker_coin_swap_contract_addr: null };
const HTLC_KEYS = { maker_coin_htlc_pubkey: KEY, taker_coin_htlc_pubkey: KEY };
const MAKER_NEGOTIATED = event("Negotiated", {
  taker_payment_locktime: A_TIME_SEC,
  taker_pubkey: "0".repeat(66),
  ...CONTRACTS,
  ...HTLC_KEYS,
});
const MAKER_PAID = [
  MAKER_STARTED,
  MAKER_NEGOTIATED,
  event("MakerPaymentInstructionsReceived", null),
  event("TakerFeeValidated", TX),
  event("MakerPaymentSent", TX),
];
const MAKER_DONE = [
  ...MAKER_PAID,
  event("TakerPaymentReceived", TX),
  event("TakerPaymentWaitConfirmStarted"),
  event("TakerPaymentValidatedAndConfirmed"),
  event("TakerPaymentSpent", TX),
  event("TakerPaymentSpendConfirmStarted"),
  event("TakerPaymentSpendConfirmed"),
  event("Finished"),
];
/** 7.1: the saved swap; `gui` none in this configuration, no price feed is asked. */
const savedMaker = (events: readonly Expected[]): { readonly [key: string]: Expected } => ({
  ...{ type: "Maker", uuid: "$swap", my_order_uuid: A_UUID, events, maker_amount: "1", maker_coin: "DOC", maker_coin_usd_price: null },
  ...{ taker_amount: "2", taker_coin: "MARTY", taker_coin_usd_price: null, gui: null, mm_version: A_TEXT },
  ...{ success_events: MAKER_SUCCESS, error_events: MAKER_ERRORS, swapnode: ANYTHING },
});
const MY_INFO = { my_coin: "DOC", other_coin: "MARTY", my_amount: "1", other_amount: "2", started_at: A_TIME_SEC };
const statusOf = (events: readonly Expected[], end: { readonly [key: string]: Expected }): Expected => ({
  ...savedMaker(events),
  my_info: MY_INFO,
  ...end,
});
const { type: _type, ...MAKER_DATA } = savedMaker(MAKER_DONE);
const { swapnode: _ours, ...PUBLIC_DATA } = MAKER_DATA;
const WON = { recoverable: false, is_finished: true, is_success: true };

const TAKER_DONE: readonly Expected[] = [
  event("Started", {
    ...{ taker_coin: "MARTY", maker_coin: "DOC", maker: ZEROS, my_persistent_pub: KEY, lock_duration: 7_800, maker_amount: "2" },
    ...{ taker_amount: "1", ...CONFS, taker_payment_lock: A_TIME_SEC, uuid: "$taken", started_at: A_TIME_SEC },
    ...{ maker_payment_wait: A_TIME_SEC, maker_coin_start_block: ANYTHING, taker_coin_start_block: ANYTHING },
    ...{ fee_to_send_taker_fee: fee("MARTY", false), taker_payment_trade_fee: fee("MARTY", false) },
    ...{ maker_payment_spend_trade_fee: fee("DOC", true), ...HTLC_KEYS, p2p_privkey: null },
  }),
  event("Negotiated", {
    maker_payment_locktime: A_TIME_SEC,
    maker_pubkey: "0".repeat(66),
    secret_hash: SOME_HEX,
    ...CONTRACTS,
    ...HTLC_KEYS,
  }),
  event("TakerFeeSent", TX),
  event("TakerPaymentInstructionsReceived", null),
  event("MakerPaymentReceived", TX),
  event("MakerPaymentWaitConfirmStarted"),
  event("MakerPaymentValidatedAndConfirmed"),
  event("TakerPaymentSent", TX),
  event("TakerPaymentSpent", { transaction: TX, secret: A_HASH }),
  event("MakerPaymentSpent", TX),
  event("MakerPaymentSpendConfirmed"),
  event("Finished"),
];

const page = (swaps: Expected, more: { readonly [key: string]: Expected }): Expected => ({
  ...{ swaps, from_uuid: null, skipped: 0, limit: 10, total: 0, page_number: 1, total_pages: 0, found_records: 0 },
  ...more,
});

const extended = (coin: string, paid_from_trading_vol: boolean, amount: Expected | undefined = undefined) => ({
  coin,
  ...(amount === undefined ? anyTriple("amount") : (amount as object)),
  paid_from_trading_vol,
});
const SPEND_FEE = triple("amount", "0.00000496", 31n, 6_250_000n);
const total = (coin: string) => ({ coin, ...anyTriple("amount"), ...anyTriple("required_balance") });
const NO_REQUIREMENT = triple("required_balance", "0", 0n, 1n);
const PREIMAGES: readonly (readonly [Fields, Expected])[] = [
  [
    { ...order, swap_method: "setprice" },
    {
      base_coin_fee: extended("DOC", false),
      rel_coin_fee: extended("MARTY", true, SPEND_FEE),
      total_fees: [total("DOC"), { coin: "MARTY", ...SPEND_FEE, ...NO_REQUIREMENT }],
    },
  ],
  [
    { base: "DOC", rel: "MARTY", price: "1", volume: "0.000001", swap_method: "setprice", max: true },
    {
      base_coin_fee: extended("DOC", false),
      rel_coin_fee: extended("MARTY", true, SPEND_FEE),
      ...anyTriple("volume"),
      total_fees: [total("DOC"), { coin: "MARTY", ...SPEND_FEE, ...NO_REQUIREMENT }],
    },
  ],
  [
    { ...order, swap_method: "sell" },
    {
      base_coin_fee: extended("DOC", false),
      rel_coin_fee: extended("MARTY", true, SPEND_FEE),
      taker_fee: extended("DOC", false, triple("amount", `0.00${"128700".repeat(16)}1287`, 1n, 777n)),
      fee_to_send_taker_fee: extended("DOC", false),
      total_fees: [total("DOC"), { coin: "MARTY", ...SPEND_FEE, ...NO_REQUIREMENT }],
    },
  ],
  [
    { ...order, swap_method: "buy" },
    {
      base_coin_fee: extended("DOC", true, SPEND_FEE),
      rel_coin_fee: extended("MARTY", false),
      taker_fee: extended("MARTY", false, triple("amount", `0.00${"128700".repeat(16)}1287`, 1n, 777n)),
      fee_to_send_taker_fee: extended("MARTY", false),
      total_fees: listOf(having({ coin: ANYTHING })),
    },
  ],
];
const MAX_TEXT = "Incorrect use of the 'max' parameter: 'max' cannot be used with 'sell' or 'buy' method";
const preimageRefusals: readonly (readonly [Fields, string, string, Failing?])[] = [
  [
    { ...order, base: "WALLET", rel: "LTC", swap_method: "sell" },
    "CoinIsWalletOnly",
    "Coin WALLET is wallet only",
    { data: { coin: "WALLET" } },
  ],
  [
    { ...order, base: "LTC", rel: "NOSUCH", swap_method: "sell" },
    "CoinIsWalletOnly",
    "Coin NOSUCH is wallet only",
    { data: { coin: "NOSUCH" } },
  ],
  [{ ...order, base: "LTC", swap_method: "buy" }, "NoSuchCoin", "No such coin LTC", { data: { coin: "LTC" } }],
  [{ ...order, rel: "LTC", swap_method: "setprice" }, "NoSuchCoin", "No such coin LTC", { data: { coin: "LTC" } }],
  [
    { ...order, base: "KMD", swap_method: "sell" },
    "NoFeeKey",
    "the network profile spec has no dex fee key for KMD, a coin with a value: set swapnode.network_profile to the network you join (kdf-3 or kdf-2), or swapnode.profile_overrides.dex_fee_pubkey",
    { data: { coin: "KMD", profile: "spec" } },
  ],
  [
    { base: "DOC", rel: "DOC", price: "0", swap_method: "sell", max: true },
    "MaxWithTaker",
    MAX_TEXT,
    { type: "InvalidParam", data: { param: "max", reason: "'max' cannot be used with 'sell' or 'buy' method" } },
  ],
  [
    { base: "DOC", rel: "DOC", price: "0", swap_method: "setprice" },
    "VolumeTooLow",
    "The volume 0 of the DOC coin less than minimum transaction amount 0.0001",
    { data: { coin: "DOC", volume: "0", threshold: "0.0001" } },
  ],
  [
    { ...order, volume: "0.000001", swap_method: "setprice" },
    "VolumeTooLow",
    "The volume 0.000001 of the DOC coin less than minimum transaction amount 0.00001",
    { data: { coin: "DOC", volume: "0.000001", threshold: "0.00001" } },
  ],
  [
    { ...order, volume: "0.00005", swap_method: "sell" },
    "VolumeTooLow",
    "The volume 0.00005 of the DOC coin less than minimum transaction amount 0.0001",
    { data: { coin: "DOC", volume: "0.00005", threshold: "0.0001" }, note: "the rules of the order" },
  ],
  [
    { ...order, volume: "-1", swap_method: "sell" },
    "Internal",
    "Internal error: Could not get sat from amount -1 with decimals 8",
    { status: 500, type: "InternalError", data: "Could not get sat from amount -1 with decimals 8" },
  ],
  [
    { ...order, volume: "1000", swap_method: "sell" },
    "NotSufficientBalance",
    "Not enough DOC for swap: available 100, required at least 1000.0000024, locked by swaps None",
    { data: { coin: "DOC", available: "100", required: "1000.0000024" }, note: "locks unknown, so not in the data" },
  ],
  [{ ...order, rel: "DOC", swap_method: "sell" }, "BaseEqualRel", "Rel coin can not be same as base"],
  [{ ...order, rel: "DOC", price: "0", swap_method: "setprice" }, "BaseEqualRel", "Rel coin can not be same as base"],
  [
    { ...order, price: "0", swap_method: "setprice" },
    "PriceTooLow",
    "Price 0 is too low, required at least 0",
    { data: { price: "0", threshold: "0" } },
  ],
  [
    { ...order, price: `1.${"0".repeat(200)}1`, swap_method: "setprice" },
    "NumberTooLong",
    "price has too many digits for an order: write it with 190 decimal places at most",
  ],
];

export const SWAP_ROWS: readonly Entry[] = [
  flat("my_recent_swaps", {}, page([], {})),
  flat("my_recent_swaps", { from_uuid: NONE, limit: 3 }, page([], { from_uuid: NONE, limit: 3, page_number: null }), {
    note: "nothing under the filters: the uuid is not looked up",
  }),
  v2("my_recent_swaps", { page_number: 7 }, page([], { page_number: 7 })),
  flat("my_recent_swaps", { from_uuid: null, my_coin: null, other_coin: null, from_timestamp: null, to_timestamp: null }, page([], {}), {
    note: "null is as good as none",
  }),
  noParams("my_recent_swaps", "MyRecentSwapsRequest"),
  noParams("active_swaps", "ActiveSwapsRequest"),
  noParams("my_swap_status", "MySwapStatusRequest"),
  noParams("trade_preimage", "TradePreimageRequest"),
  noParams("max_maker_vol", "MaxMakerVolRequest"),
  flat("active_swaps", {}, { uuids: [], statuses: null }),
  v2("active_swaps", {}, { uuids: [], statuses: {} }),
  flat("coins_needed_for_kick_start", {}, []),
  ...PREIMAGES.flatMap(([params, result]) => [flat("trade_preimage", params, result), v2("trade_preimage", params, result)]),
  ...preimageRefusals.flatMap(([params, error, text, more = {}]) => [
    fails("trade_preimage", params, error, text),
    failsV2("trade_preimage", params, error, text, { status: 400, ...more }),
  ]),
  fails("trade_preimage", { ...order, swap_method: "x" }, "bad_params", "unknown variant `x`, expected one of `setprice`, `buy`, `sell`"),
  fails(
    "trade_preimage",
    { ...order, swap_method: "sell", volume: null },
    "bad_params",
    "Could not deserialize any variant of MmNumber from null",
  ),
  flat("get_trade_fee", { coin: "DOC" }, { coin: "DOC", ...triple("amount", "0.00001", 1n, 100_000n) }),
  fails("get_trade_fee", {}, "bad_params", "No 'coin' field"),
  fails("get_trade_fee", { coin: 5 }, "bad_params", "No 'coin' field"),
  fails("get_trade_fee", { coin: "LTC" }, "NoSuchCoin", "No such coin: LTC"),
  flat("max_taker_vol", { coin: "DOC" }, { result: { numer: A_TEXT, denom: A_TEXT }, coin: "DOC" }),
  flat(
    "max_taker_vol",
    { coin: "DOC-2", trade_with: "MARTY" },
    { result: { numer: "0", denom: "1" }, coin: "DOC-2" },
    { note: "an empty wallet: 0" },
  ),
  fails("max_taker_vol", { coin: "LTC" }, "NoSuchCoin", "No such coin: LTC"),
  v2("max_maker_vol", { coin: "DOC" }, { coin: "DOC", volume: ANYTHING, balance: ANYTHING, locked_by_swaps: ANYTHING }),
  failsV2("max_maker_vol", { coin: "LTC" }, "NoSuchCoin", "No such coin LTC", { status: 404, data: { coin: "LTC" } }),
  failsV2(
    "max_maker_vol",
    { coin: "DOC-2" },
    "NotSufficientBalance",
    'Not enough DOC-2 for swap: available 0, required at least 0.00001034, locked by swaps Some(BigDecimal("0"))',
    {
      status: 400,
      data: { coin: "DOC-2", available: "0", required: "0.00001034", locked_by_swaps: "0" },
    },
  ),
  flat("min_trading_vol", { coin: "DOC" }, { coin: "DOC", ...triple("min_trading_vol", "0.0001", 1n, 10_000n) }),
  fails("min_trading_vol", { coin: "LTC" }, "NoSuchCoin", "No such coin: LTC"),

  flat("setprice", { base: "DOC", rel: "MARTY", price: "2", volume: "3" }, having({ price: "2" })),
  step("a second passes"),
  step("bob buys 1 DOC"),
  flat("active_swaps", { include_status: true }, { uuids: [A_UUID], statuses: ANYTHING }, { keep: { swap: "uuids.0" } }),
  flat(
    "active_swaps",
    { include_status: true },
    { uuids: ["$swap"], statuses: { $swap: savedMaker(MAKER_PAID) } },
    { note: "secrets hidden" },
  ),
  v2(
    "active_swaps",
    { include_status: true },
    {
      uuids: ["$swap"],
      statuses: { $swap: { swap_type: "MakerV1", swap_data: having({ uuid: "$swap", maker_coin: "DOC" }) } },
    },
  ),
  flat("my_swap_status", { params: { uuid: "$swap" } }, statusOf(MAKER_PAID, { recoverable: false, is_finished: false })),
  fails("stats_swap_status", { params: { uuid: "$swap" } }, "SwapNotFound", "swap data is not found", { note: "it runs" }),
  fails("recover_funds_of_swap", { params: { uuid: "$swap" } }, "SwapNotFinished", "Swap must be finished before recover funds attempt"),
  step("all swaps end"),
  flat("my_swap_status", { params: { uuid: "$swap" } }, statusOf(MAKER_DONE, WON)),
  v2("my_swap_status", { uuid: "$swap" }, { swap_type: "MakerV1", swap_data: MAKER_DATA }),
  flat("stats_swap_status", { params: { uuid: "$swap" } }, { maker: PUBLIC_DATA, taker: null }),
  flat("my_recent_swaps", {}, page([statusOf(MAKER_DONE, WON)], { total: 1, total_pages: 1, found_records: 1 })),
  v2("my_recent_swaps", {}, page([{ swap_type: "MakerV1", swap_data: MAKER_DATA }], { total: 1, total_pages: 1, found_records: 1 })),
  fails(
    "recover_funds_of_swap",
    { params: { uuid: "$swap" } },
    "NotRecoverable",
    "Taker payment spend transaction has been sent and confirmed",
  ),
  fails("my_swap_status", { params: { uuid: NONE } }, "NoSwapWithUuid", `No swap with uuid ${NONE}`),
  fails("my_swap_status", { uuid: "$swap" }, "bad_params", "invalid type: null, expected a UUID string"),
  failsV2("my_swap_status", { uuid: NONE }, "NoSwapWithUuid", NONE, { status: 400, data: NONE }),
  fails("stats_swap_status", { params: { uuid: NONE } }, "SwapNotFound", "swap data is not found"),
  fails("recover_funds_of_swap", { params: { uuid: NONE } }, "SwapNotFound", "swap data is not found"),
  fails("my_recent_swaps", { from_uuid: NONE }, "UnknownFromUuid", UNKNOWN_FROM),
  failsV2("my_recent_swaps", { from_uuid: NONE }, "UnknownFromUuid", UNKNOWN_FROM, { status: 500, type: "DbError", data: UNKNOWN_FROM }),
  fails("my_recent_swaps", { page_number: 0 }, "bad_params", "invalid value: integer `0`, expected a nonzero usize"),
  fails("my_recent_swaps", { limit: null }, "bad_params", "invalid type: null, expected usize"),
  flat("my_recent_swaps", { limit: 0 }, page([], { limit: 0, total: 1 })),
  flat("my_recent_swaps", { page_number: 3, limit: 2 }, page([], { skipped: 4, limit: 2, total: 1, page_number: 3, total_pages: 1 })),
  flat(
    "my_recent_swaps",
    { from_uuid: "$swap", page_number: 9 },
    page([], { from_uuid: "$swap", skipped: 1, total: 1, page_number: null, total_pages: 1 }),
  ),
  flat("my_recent_swaps", { my_coin: "MARTY" }, page([], {})),
  v2("my_recent_swaps", { from_timestamp: 9_000_000_000, to_timestamp: 1 }, page([], {}), { note: "the bounds crossed" }),
  flat("my_recent_swaps", { my_coin: "DOC", other_coin: "MARTY", from_timestamp: 0, to_timestamp: 9_999_999_999 }, having({ total: 1 })),
  flat("my_recent_swaps", { from_timestamp: 9_999_999_999 }, page([], {})),

  step("bob offers 4 DOC at 0.5 MARTY"),
  flat("buy", { base: "DOC", rel: "MARTY", price: "0.5", volume: "2" }, having({ action: "Buy" }), { keep: { taken: "uuid" } }),
  step("alice's request is taken"),
  step("all swaps end"),
  flat(
    "my_swap_status",
    { params: { uuid: "$taken" } },
    {
      ...{ type: "Taker", uuid: "$taken", my_order_uuid: "$taken", events: TAKER_DONE, maker_amount: "2", maker_coin: "DOC" },
      ...{ maker_coin_usd_price: null, taker_amount: "1", taker_coin: "MARTY", taker_coin_usd_price: null, gui: null, mm_version: A_TEXT },
      ...{ success_events: TAKER_SUCCESS, error_events: TAKER_ERRORS, swapnode: ANYTHING, ...WON },
      my_info: { my_coin: "MARTY", other_coin: "DOC", my_amount: "1", other_amount: "2", started_at: A_TIME_SEC },
    },
  ),
  fails(
    "recover_funds_of_swap",
    { params: { uuid: "$taken" } },
    "NotRecoverable",
    "Maker payment is spent and confirmed, swap is not recoverable",
  ),
  flat(
    "all_swaps_uuids_by_filter",
    {},
    {
      ...{ found_records: 2, uuids: ["$taken", "$swap"], my_coin: null, other_coin: null, from_timestamp: null, to_timestamp: null },
    },
  ),
  flat(
    "all_swaps_uuids_by_filter",
    { my_coin: "DOC", other_coin: "MARTY", from_timestamp: 1, to_timestamp: 9_999_999_999 },
    {
      ...{ found_records: 1, uuids: ["$swap"], my_coin: "DOC", other_coin: "MARTY", from_timestamp: 1, to_timestamp: 9_999_999_999 },
    },
  ),
  step("bob buys 1 DOC and falls silent"),
  flat("active_swaps", {}, { uuids: [A_UUID], statuses: null }, { keep: { failed: "uuids.0" } }),
  step("all swaps end"),
  flat(
    "my_swap_status",
    { params: { uuid: "$failed" } },
    having({
      events: [having({}), event("NegotiateFailed", { error: A_TEXT }), event("Finished")],
      ...{ recoverable: false, is_finished: true, is_success: false },
    }),
  ),
  flat(
    "stats_swap_status",
    { params: { uuid: "$failed" } },
    { maker: having({ events: [having({}), event("NegotiateFailed", { error: "NegotiateFailed" }), event("Finished")] }), taker: null },
    { note: "anybody may ask, so of a failure there is only the name" },
  ),
  fails("recover_funds_of_swap", { params: { uuid: "$failed" } }, "NotRecoverable", "Maker payment transaction was not found"),
  step("bob is back"),
  step("bob buys 1 DOC"),
  step("bob falls silent"),
  flat("active_swaps", {}, { uuids: [A_UUID], statuses: null }, { keep: { refunded: "uuids.0" } }),
  fails(
    "recover_funds_of_swap",
    { params: { uuid: "$refunded" } },
    "SwapNotFinished",
    "Swap must be finished before recover funds attempt",
    {
      note: "the refund is not due yet",
    },
  ),
  step("all swaps end"),
  flat(
    "my_swap_status",
    { params: { uuid: "$refunded" } },
    having({
      events: [
        ...[having({}), having({}), having({}), having({})],
        ...[event("MakerPaymentSent", TX), event("TakerPaymentValidateFailed", { error: A_TEXT })],
        ...[event("MakerPaymentWaitRefundStarted", { wait_until: A_TIME_SEC }), event("MakerPaymentRefundStarted")],
        ...[event("MakerPaymentRefunded", TX), event("MakerPaymentRefundFinished"), event("Finished")],
      ],
      ...{ recoverable: false, is_finished: true, is_success: false },
    }),
  ),
  fails(
    "recover_funds_of_swap",
    { params: { uuid: "$refunded" } },
    "NotRecoverable",
    "Maker payment is refunded, swap is not recoverable",
    { note: "it was due, and the node has taken it" },
  ),
  step("the daemon of DOC goes away"),
  fails("trade_preimage", { ...order, swap_method: "sell" }, "Transport", "Transport error: The DOC daemon cannot be used: HTTP 500."),
  failsV2(
    "trade_preimage",
    { ...order, swap_method: "setprice" },
    "Transport",
    "Transport error: The DOC daemon cannot be used: HTTP 500.",
    {
      status: 500,
      data: "The DOC daemon cannot be used: HTTP 500.",
    },
  ),
  fails("max_taker_vol", { coin: "DOC" }, "Transport", "Transport error: The DOC daemon cannot be used: HTTP 500."),
  failsV2("max_maker_vol", { coin: "DOC" }, "Transport", "Transport error: The DOC daemon cannot be used: HTTP 500.", {
    status: 500,
    data: "The DOC daemon cannot be used: HTTP 500.",
  }),
  step("the daemon of DOC is back"),
  flat("disable_coin", { coin: "MARTY" }, having({ coin: "MARTY", passivized: true }), { note: "its last swap is not final" }),
  fails("recover_funds_of_swap", { params: { uuid: "$swap" } }, "CoinNotActive", "Coin MARTY is not activated"),

  flat("import_swaps", { swaps: [] }, { imported: [], skipped: {} }),
  flat(
    "import_swaps",
    { swaps: [{ type: "Maker", uuid: "bb2e902d-a810-4d81-aecb-202c8b037216", events: [], success_events: [], error_events: [] }] },
    { imported: [], skipped: { "bb2e902d-a810-4d81-aecb-202c8b037216": A_TEXT } },
  ),
  fails("import_swaps", {}, "bad_params", "missing field `swaps`"),
  calls("recovers", "flat")(
    "recover_funds_of_swap",
    { params: { uuid: NONE } },
    { action: "RefundedMyPayment", coin: "DOC", tx_hash: "ab".repeat(32), tx_hex: "04000080" },
    { note: "swaps of this node recover by themselves, so only the form of the reply is looked at" },
  ),
  refusals("full", "flat")(
    "my_recent_swaps",
    { limit: 1_001 },
    "TooManySwaps",
    "more than 1000 swaps to return, the most in one reply; ask with a limit of at most 1000 and page_number",
  ),
  refusals("full", "v2")(
    "my_recent_swaps",
    { limit: 1_001 },
    "TooManySwaps",
    "more than 1000 swaps to return, the most in one reply; ask with a limit of at most 1000 and page_number",
    {
      status: 400,
      data: { most: 1_000 },
    },
  ),
];
