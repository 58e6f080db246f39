import type { Json } from "../../src/rpc/parseJson.ts";
import { MATCHING_ORDER, OPEN_ORDER } from "../fakes/fakeNode.ts";

/** One request that must end with the text. Sent to a busy node with DOC, MARTY and WALLET enabled. */
export type Provocation = {
  readonly method: string;
  readonly params?: { readonly [key: string]: Json };
  /** Sent with the versioned envelope. */
  readonly v2?: true;
  /** `userpass` of the request; default: the right one. Null: none. */
  readonly userpass?: string | null;
  /** Wrong passwords sent before. */
  readonly afterFailures?: number;
  /** The caller's address; default: loopback. */
  readonly from?: string;
  readonly verb?: "GET" | "PUT";
  /** Default 500 for a flat call. */
  readonly status?: number;
};

export type CatalogueEntry = {
  /** What went wrong, in our words. */
  readonly key: string;
  /**
   * The text, word for word. `<l>` is `None` or `Some(BigDecimal("<number>"))`, `<u>` a uuid, `<n>` a count; any other name in
   * angle brackets is a value of one word or more.
   */
  readonly text: string;
} & (
  | {
      /** The files of src that say it, separated by ", ". */
      readonly source: string;
      readonly provoke: readonly Provocation[];
    }
  /** No call: why none can end with it. */
  | { readonly cannotArise: string }
);

const NONE = "00000000-0000-0000-0000-000000000001";
const pair = { base: "DOC", rel: "MARTY", price: "1", volume: "1" };
type Fields = { readonly [key: string]: Json };
const asks = (methods: readonly string[], params: Fields): Provocation[] => methods.map((method) => ({ method, params }));
const sell = (more: Fields): Provocation => ({ method: "sell", params: { ...pair, ...more } });
const buy = (more: Fields): Provocation => ({ method: "buy", params: { ...pair, ...more } });
const setprice = (more: Fields): Provocation => ({ method: "setprice", params: { ...pair, ...more } });
const preimage = (swap_method: string, more: Fields): Provocation => ({
  method: "trade_preimage",
  params: { ...pair, swap_method, ...more },
});
const update = (more: Fields): Provocation => ({ method: "update_maker_order", params: { uuid: OPEN_ORDER, ...more } });
const ONE_COIN = ["my_balance", "get_trade_fee", "send_raw_transaction", "show_priv_key", "disable_coin", "enable"];

/** Every text of the reference's catalogue (rpc.md 10), in its order. */
export const ERROR_CATALOGUE: readonly CatalogueEntry[] = [
  {
    key: "password missing",
    text: "Userpass is not set!",
    source: "rpc/dispatch.ts",
    provoke: [
      { method: "my_orders", userpass: null },
      { method: "max_maker_vol", params: { coin: "DOC" }, v2: true, userpass: null, status: 403 },
    ],
  },
  {
    key: "password wrong",
    text: "Userpass is invalid! - Rate Limit attempts left: <n>",
    source: "rpc/dispatch.ts",
    provoke: [
      { method: "my_orders", userpass: "wrong" },
      { method: "max_maker_vol", params: { coin: "DOC" }, v2: true, userpass: "wrong", status: 403 },
    ],
  },
  {
    key: "too many wrong passwords",
    text: "Your IP is banned.",
    source: "rpc/dispatch.ts",
    provoke: [
      { method: "my_orders", afterFailures: 10 },
      { method: "version", afterFailures: 10 },
    ],
  },
  {
    key: "another machine",
    text: "Selected method can only be called from localhost.",
    source: "rpc/dispatch.ts",
    provoke: [{ method: "my_orders", from: "192.0.2.7" }],
  },
  {
    key: "wrong verb",
    text: "Only POST requests are supported!",
    source: "rpc/rpcHandler.ts",
    provoke: [{ method: "version", verb: "PUT" }],
  },
  { key: "no coin named", text: "No 'coin' field", source: "rpc/field.ts", provoke: asks(ONE_COIN, {}) },
  {
    key: "coin not enabled",
    text: "No such coin: <X>",
    source: "rpc/coinFaults.ts",
    provoke: asks(["my_balance", "get_trade_fee", "show_priv_key", "disable_coin", "max_taker_vol"], { coin: "KMD" }),
  },
  {
    key: "coin not enabled, without the colon",
    text: "No such coin <X>",
    source: "rpc/coinFaults.ts",
    provoke: [
      { method: "set_required_confirmations", params: { coin: "KMD", confirmations: 1 } },
      { method: "set_requires_notarization", params: { coin: "KMD", requires_notarization: true } },
      { method: "withdraw", params: { coin: "KMD", to: "R" } },
      preimage("buy", { base: "KMD" }),
      preimage("setprice", { rel: "KMD" }),
    ],
  },
  {
    key: "one coin twice",
    text: "Base and rel must be different coins",
    source: "rpc/placeOrderFaults.ts, rpc/methods/orderbook.ts",
    provoke: [buy({ rel: "DOC" }), sell({ rel: "DOC" }), { method: "orderbook", params: { base: "DOC", rel: "DOC" } }],
  },
  {
    key: "one coin twice, makers",
    text: "Rel coin can not be same as base",
    source: "rpc/placeOrderFaults.ts, rpc/methods/tradePreimage.ts",
    provoke: [setprice({ rel: "DOC" }), preimage("setprice", { rel: "DOC" }), preimage("sell", { rel: "DOC" })],
  },
  {
    key: "taker's base not enabled",
    text: "Base coin is not found or inactive",
    source: "rpc/placeOrderFaults.ts",
    provoke: [buy({ base: "KMD" }), sell({ base: "KMD" })],
  },
  {
    key: "taker's rel not enabled",
    text: "Rel coin is not found or inactive",
    source: "rpc/placeOrderFaults.ts",
    provoke: [buy({ rel: "KMD" }), sell({ rel: "KMD" })],
  },
  {
    key: "maker's base not enabled",
    text: "Base coin <X> is not found",
    source: "rpc/placeOrderFaults.ts",
    provoke: [setprice({ base: "KMD" })],
  },
  {
    key: "maker's rel not enabled",
    text: "Rel coin <X> is not found",
    source: "rpc/placeOrderFaults.ts",
    provoke: [setprice({ rel: "KMD" })],
  },
  {
    key: "coin for the wallet only",
    text: "'<X>' is a wallet only asset and can't be used in orders.",
    source: "rpc/placeOrderFaults.ts",
    provoke: [buy({ base: "WALLET" }), sell({ rel: "WALLET" }), setprice({ rel: "WALLET" })],
  },
  {
    key: "too little of the coin that is given",
    text: "Not enough <X> for swap: available <a>, required at least <r>, locked by swaps <l>",
    source: "app/fundsErrorText.ts",
    provoke: [
      buy({ volume: "1000" }),
      sell({ volume: "1000" }),
      setprice({ volume: "1000" }),
      update({ volume_delta: "997" }),
      preimage("sell", { volume: "1000" }),
      preimage("setprice", { volume: "1000" }),
    ],
  },
  {
    key: "too little of the coin that pays the fees",
    text: "Not enough platform coin <X> balance for swap: available <a>, required at least <r>, locked by swaps <l>",
    cannotArise: "only a token has another coin pay its fees, and this node has no tokens: UTXO coins pay their own",
  },
  {
    key: "too little of the coin that pays the fees, as 2.5.1 said it",
    text: "Not enough base coin ...",
    cannotArise: "as above, and the words of an older version",
  },
  {
    key: "volume below what a transaction may carry",
    text: "The volume <v> of the <X> coin less than minimum transaction amount <t>",
    source: "app/fundsErrorText.ts",
    provoke: [
      buy({ volume: "0" }),
      sell({ volume: "0" }),
      setprice({ volume: "0" }),
      update({ volume_delta: "-2.999999" }),
      preimage("sell", { volume: "0.00005" }),
    ],
  },
  {
    key: "taker's price too low",
    text: "Price is too low, minimum is 0.00000001",
    source: "rpc/placeOrderFaults.ts",
    provoke: [buy({ price: "0.000000009", volume: "150000" }), sell({ price: "-1" })],
  },
  {
    key: "maker's price too low",
    text: "Price <p> is too low, required: 0",
    source: "rpc/placeOrderFaults.ts",
    provoke: [setprice({ price: "-1" }), update({ new_price: "0" })],
  },
  {
    key: "taker's base volume too low",
    text: "Base amount <v> is too low, required: <t>",
    source: "rpc/placeOrderFaults.ts",
    provoke: [buy({ volume: "0.00005" }), sell({ volume: "0.00005" })],
  },
  {
    key: "taker's rel volume too low",
    text: "Rel amount <v> is too low, required: <t>",
    source: "rpc/placeOrderFaults.ts",
    provoke: [buy({ price: "0.00002" }), sell({ price: "0.00001" })],
  },
  {
    key: "taker's least volume too low",
    text: "Min volume <v> is too low, required: <t>",
    source: "rpc/placeOrderFaults.ts",
    provoke: [buy({ min_volume: "0.00001" }), sell({ min_volume: "0.00001" })],
  },
  {
    key: "maker's base volume too low",
    text: "Max base vol <v> is too low, required: <t>",
    source: "rpc/placeOrderFaults.ts",
    provoke: [setprice({ volume: "0.00005" })],
  },
  {
    key: "maker's rel volume too low",
    text: "Max rel vol <v> is too low, required: <t>",
    source: "rpc/placeOrderFaults.ts",
    provoke: [setprice({ price: "0.00001" }), update({ new_price: "0.00001" })],
  },
  {
    key: "maker's least volume too low",
    text: "Min base vol <v> is too low, required: <t>",
    source: "rpc/placeOrderFaults.ts",
    provoke: [setprice({ min_volume: "0.00001" }), update({ min_volume: "0.00001" })],
  },
  {
    key: "least volume above the volume",
    text: "Max base vol <max> is below min base vol: <min>",
    source: "rpc/placeOrderFaults.ts",
    provoke: [buy({ min_volume: "2" }), sell({ min_volume: "2" }), setprice({ min_volume: "2" }), update({ min_volume: "4" })],
  },
  {
    key: "no number",
    text: "Could not deserialize any variant of MmNumber from <raw>",
    source: "rpc/mmNumber.ts",
    provoke: [buy({ price: "abc" }), sell({ volume: {} }), setprice({ volume: null }), update({ new_price: [] })],
  },
  {
    key: "no such order",
    text: "Order with uuid <u> is not found",
    source: "rpc/methods/cancelOrder.ts, rpc/methods/orderStatus.ts",
    provoke: [
      { method: "cancel_order", params: { uuid: NONE }, status: 404 },
      { method: "order_status", params: { uuid: NONE } },
    ],
  },
  {
    key: "order in a handshake, not cancelled",
    text: "Order <u> is being matched now, can't cancel",
    source: "rpc/methods/cancelOrder.ts",
    provoke: [{ method: "cancel_order", params: { uuid: MATCHING_ORDER } }],
  },
  {
    key: "no such order to change",
    text: "There is no order with UUID <u>",
    source: "rpc/methods/updateMakerOrder.ts",
    provoke: [update({ uuid: NONE })],
  },
  {
    key: "order in a handshake, not changed",
    text: "Can't update an order that has ongoing matches",
    source: "rpc/methods/updateMakerOrder.ts",
    provoke: [update({ uuid: MATCHING_ORDER, new_price: "3" })],
  },
  {
    key: "no such swap",
    text: "No swap with uuid <u>",
    source: "rpc/methods/mySwapStatus.ts",
    provoke: [{ method: "my_swap_status", params: { params: { uuid: NONE } } }],
  },
  {
    key: "no such swap to recover or to show",
    text: "swap data is not found",
    source: "rpc/methods/recoverFundsOfSwap.ts, rpc/methods/statsSwapStatus.ts",
    provoke: asks(["recover_funds_of_swap", "stats_swap_status"], { params: { uuid: NONE } }),
  },
  {
    key: "page after a swap that is not there",
    text: "Unknown SQL error: Query returned no rows",
    source: "rpc/recentSwaps.ts",
    provoke: [{ method: "my_recent_swaps", params: { from_uuid: NONE } }],
  },
  {
    key: "coin enabled before",
    text: "Coin <X> already initialized",
    source: "rpc/methods/enable.ts",
    provoke: [{ method: "enable", params: { coin: "DOC" } }],
  },
  {
    key: "no relay knows of orders",
    text: "No response from any peer",
    source: "rpc/methods/bestOrders.ts",
    provoke: [
      { method: "best_orders", params: { coin: "KMD", action: "buy", volume: "1" } },
      { method: "best_orders", params: { coin: "KMD", action: "buy", request_by: { type: "number", value: 5 } }, v2: true },
    ],
  },
];
