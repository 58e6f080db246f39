import { expect, test } from "vitest";
import type { Json } from "../../src/rpc/parseJson.ts";
import { fakeNode, MATCHING_ORDER, OPEN_ORDER, PASSWORD } from "../fakes/fakeNode.ts";
import { FINISHED_SWAP, RUNNING_SWAP } from "../fakes/rpc/fakeSwaps.ts";
import { fakeDispatcher } from "../fakes/rpcServer.ts";

/** Final texts and their order, as clients of KDF know them (reference rpc.md 4, 5, 10). */

async function call(method: string, params: { readonly [key: string]: Json }): Promise<{ status: number; reply: Record<string, unknown> }> {
  const dispatcher = fakeDispatcher(await fakeNode({ busy: true }));
  const { status, body } = await dispatcher.answer({ userpass: PASSWORD, method, ...params }, "127.0.0.1");
  return { status, reply: JSON.parse(body) };
}
const taker = (more: { readonly [key: string]: Json }) => ({ base: "DOC", rel: "MARTY", price: "1", volume: "1", ...more });

test.each<[string, { readonly [key: string]: Json }, string]>([
  ["buy", { base: "DOC", rel: "MARTY", price: "1" }, "missing field `volume`"],
  ["buy", taker({ base: 5 }), "invalid type: integer `5`, expected a string"],
  ["buy", taker({ price: "abc" }), 'Could not deserialize any variant of MmNumber from "abc"'],
  ["buy", taker({ rel: "DOC" }), "Base and rel must be different coins"],
  ["buy", taker({ base: "X", rel: "Y" }), "Rel coin is not found or inactive"],
  ["sell", taker({ base: "X", rel: "Y" }), "Base coin is not found or inactive"],
  // The balance is looked at before price and volume.
  [
    "sell",
    taker({ volume: "1000", price: "0" }),
    "Not enough DOC for swap: available 200, required at least 1000.0001, locked by swaps None",
  ],
  ["sell", taker({ volume: "0" }), "The volume 0 of the DOC coin less than minimum transaction amount 0.00001"],
  [
    "sell",
    taker({ volume: "198.7566" }),
    'Not enough DOC for swap: available 198.9999, required at least 199.0126, locked by swaps Some(BigDecimal("1.0001"))',
  ],
  ["sell", taker({ volume: "-1" }), "Internal error: Could not get sat from amount -1 with decimals 8"],
  ["buy", taker({ volume: "-1.5", price: "2" }), "Internal error: Could not get sat from amount -3 with decimals 8"],
  ["setprice", taker({ volume: "-1" }), "Internal error: Could not get sat from amount -1 with decimals 8"],
  ["trade_preimage", taker({ volume: "-1", swap_method: "setprice" }), "Internal error: Could not get sat from amount -1 with decimals 8"],
  ["trade_preimage", taker({ volume: "-1", swap_method: "sell" }), "Internal error: Could not get sat from amount -1 with decimals 8"],
  ["sell", taker({ price: "-1" }), "Price is too low, minimum is 0.00000001"],
  ["sell", taker({ price: "0.000000001" }), "Price is too low, minimum is 0.00000001"],
  ["sell", taker({ volume: "0.00005" }), "Base amount 0.00005 is too low, required: 0.0001"],
  ["sell", taker({ price: "0.00001" }), "Rel amount 0.00001 is too low, required: 0.0001"],
  ["sell", taker({ min_volume: "0.00001" }), "Min volume 0.00001 is too low, required: 0.0001"],
  ["sell", taker({ min_volume: "2" }), "Max base vol 1 is below min base vol: 2"],
  ["sell", taker({ match_by: { type: "X" } }), "unknown variant `X`, expected one of `Any`, `Orders`, `Pubkeys`"],
  ["sell", taker({ match_by: { type: "Pubkeys", data: ["zz"] } }), 'invalid value: string "zz", expected a hash string'],
  ["sell", taker({ match_by: { type: "Orders" } }), "missing field `data`"],
  ["sell", taker({ order_type: { type: "X" } }), "unknown variant `X`, expected `FillOrKill` or `GoodTillCancelled`"],
  ["sell", taker({ base_confs: "1" }), 'invalid type: string "1", expected u64'],
  ["sell", taker({ base_confs: -1 }), "invalid value: integer `-1`, expected u64"],
  ["sell", taker({ save_in_history: null }), "invalid type: null, expected a boolean"],
  ["setprice", taker({ base: "X", rel: "Y" }), "Base coin X is not found"],
  ["setprice", taker({ rel: "Y" }), "Rel coin Y is not found"],
  ["setprice", taker({ rel: "DOC" }), "Rel coin can not be same as base"],
  ["setprice", taker({ volume: null }), "Could not deserialize any variant of MmNumber from null"],
  [
    "setprice",
    taker({ volume: "1000", price: "0" }),
    "Not enough DOC for swap: available 200, required at least 1000.0001, locked by swaps None",
  ],
  ["setprice", taker({ price: "0" }), "Price 0 is too low, required: 0"],
  ["setprice", taker({ price: "-1" }), "Price -1 is too low, required: 0"],
  ["setprice", taker({ min_volume: "0.00001" }), "Min base vol 0.00001 is too low, required: 0.0001"],
  ["setprice", taker({ min_volume: "2" }), "Max base vol 1 is below min base vol: 2"],
  ["setprice", taker({ volume: "0.00005" }), "Max base vol 0.00005 is too low, required: 0.0001"],
  ["setprice", taker({ price: "0.00001" }), "Max rel vol 0.00001 is too low, required: 0.0001"],
  ["setprice", taker({ timeout_in_minutes: 65_536 }), "invalid value: integer `65536`, expected u16"],
  ["cancel_all_orders", {}, "invalid type: null, expected adjacently tagged enum CancelBy"],
  ["cancel_all_orders", { cancel_by: null }, "invalid type: null, expected adjacently tagged enum CancelBy"],
  ["cancel_all_orders", { cancel_by: { type: "X" } }, "unknown variant `X`, expected one of `All`, `Pair`, `Coin`"],
  ["cancel_all_orders", { cancel_by: { type: "Pair" } }, "missing field `data`"],
  ["cancel_all_orders", { cancel_by: { type: "Pair", data: { base: "DOC" } } }, "missing field `rel`"],
  ["cancel_all_orders", { cancel_by: { type: "All", data: {} } }, "invalid type: map, expected unit variant CancelBy::All"],
  ["cancel_order", { uuid: MATCHING_ORDER }, `Order ${MATCHING_ORDER} is being matched now, can't cancel`],
  ["my_recent_swaps", { page_number: 0 }, "invalid value: integer `0`, expected a nonzero usize"],
  ["my_recent_swaps", { limit: "5" }, 'invalid type: string "5", expected usize'],
  ["my_recent_swaps", { limit: null }, "invalid type: null, expected usize"],
  ["my_recent_swaps", { from_uuid: "00000000-0000-0000-0000-000000000001" }, "Unknown SQL error: Query returned no rows"],
  [
    "my_recent_swaps",
    { from_uuid: "xyz" },
    "UUID parsing failed: invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], found `x` at 1",
  ],
  ["my_swap_status", {}, "invalid type: null, expected a UUID string"],
  ["my_swap_status", { uuid: FINISHED_SWAP }, "invalid type: null, expected a UUID string"],
  [
    "trade_preimage",
    { base: "DOC", rel: "MARTY", price: "1", swap_method: "x" },
    "unknown variant `x`, expected one of `setprice`, `buy`, `sell`",
  ],
  ["trade_preimage", taker({ swap_method: "buy", base: "WALLET" }), "Coin WALLET is wallet only"],
  ["trade_preimage", taker({ swap_method: "buy", base: "NOSUCH" }), "Coin NOSUCH is wallet only"],
  ["trade_preimage", taker({ swap_method: "buy", base: "KMD" }), "No such coin KMD"],
  [
    "trade_preimage",
    taker({ swap_method: "sell", max: true }),
    "Incorrect use of the 'max' parameter: 'max' cannot be used with 'sell' or 'buy' method",
  ],
  [
    "trade_preimage",
    taker({ swap_method: "setprice", volume: "0" }),
    "The volume 0 of the DOC coin less than minimum transaction amount 0.0001",
  ],
  ["trade_preimage", taker({ swap_method: "setprice", price: "0" }), "Price 0 is too low, required at least 0"],
  ["trade_preimage", taker({ swap_method: "setprice", rel: "DOC" }), "Rel coin can not be same as base"],
  [
    "trade_preimage",
    taker({ swap_method: "sell", volume: "0.00005" }),
    "The volume 0.00005 of the DOC coin less than minimum transaction amount 0.0001",
  ],
  ["get_trade_fee", {}, "No 'coin' field"],
  ["get_trade_fee", { coin: 5 }, "No 'coin' field"],
  ["my_balance", { coin: "KMD" }, "No such coin: KMD"],
  ["set_required_confirmations", { coin: "KMD", confirmations: 1 }, "No such coin KMD"],
  ["withdraw", { coin: "KMD", to: "R" }, "No such coin KMD"],
  [
    "withdraw",
    { coin: "DOC", to: "R", fee: { type: "EthGas", gas_price: "1", gas: 1 } },
    "Invalid fee policy: Expected 'UtxoFixed' or 'UtxoPerKbyte' fee type, found EthGas",
  ],
  ["withdraw", { coin: "DOC", to: "R", max: true }, "Balance is zero"],
  ["send_raw_transaction", { coin: "DOC" }, "No 'tx_hex' or 'tx_json' field"],
  ["orderbook", { base: "DOC", rel: "WALLET" }, "Base Coin WALLET is wallet only"],
  ["enable", { coin: "NOSUCH" }, "mm2 param is not set neither in coins config nor enable request, assuming that coin is not supported"],
  ["recover_funds_of_swap", { params: { uuid: RUNNING_SWAP } }, "Swap must be finished before recover funds attempt"],
])("%s %j: %s", async (method, params, text) => {
  const { status, reply } = await call(method, params);
  expect(reply.error).toBe(text);
  expect(status).toBe(500);
});

test("paging by uuid counts what was skipped and names no page", async () => {
  const { reply } = await call("my_recent_swaps", { from_uuid: FINISHED_SWAP, page_number: 7 });
  expect(reply.result).toMatchObject({
    from_uuid: FINISHED_SWAP,
    skipped: 1,
    page_number: null,
    total: 1,
    total_pages: 1,
    found_records: 0,
    swaps: [],
  });
});

test("a page beyond the end is empty with true totals; a limit of 0 has no pages", async () => {
  expect((await call("my_recent_swaps", { page_number: 3, limit: 2 })).reply.result).toMatchObject({
    skipped: 4,
    total: 1,
    total_pages: 1,
    page_number: 3,
    swaps: [],
  });
  expect((await call("my_recent_swaps", { limit: 0 })).reply.result).toMatchObject({ total: 1, total_pages: 0, found_records: 0 });
});

test("no status shows the secret or a private key, in any style", async () => {
  const dispatcher = fakeDispatcher(await fakeNode({ busy: true }));
  const call2 = { userpass: PASSWORD, mmrpc: "2.0", id: 0 };
  for (const body of [
    { userpass: PASSWORD, method: "my_recent_swaps" },
    { userpass: PASSWORD, method: "my_swap_status", params: { uuid: FINISHED_SWAP } },
    { ...call2, method: "my_recent_swaps", params: {} },
    { ...call2, method: "my_swap_status", params: { uuid: FINISHED_SWAP } },
  ]) {
    const { status, body: text } = await dispatcher.answer(body, "127.0.0.1");
    expect(status, text).toBe(200);
    expect(text).toContain("0".repeat(64));
    expect(text).not.toContain("11".repeat(32));
    expect(text).not.toContain("a private key");
  }
});

test("an order that is being matched shows the handshake and is not cancellable", async () => {
  const { reply } = await call("order_status", { uuid: MATCHING_ORDER });
  const order = reply.order as Record<string, unknown>;
  expect(reply.type).toBe("Maker");
  expect(order).toMatchObject({ cancellable: false, available_amount: "2", max_base_vol: "3" });
  const [match] = Object.values(order.matches as Record<string, Record<string, unknown>>);
  expect(match).toMatchObject({
    connect: null,
    connected: null,
    request: { action: "Buy", method: "request", sender_pubkey: "11".repeat(32) },
    reserved: { method: "reserved", dest_pub_key: "11".repeat(32), maker_order_uuid: MATCHING_ORDER },
  });
});

test("a cancelled order is shown from the history with its reason, without the live fields", async () => {
  const dispatcher = fakeDispatcher(await fakeNode({ busy: true }));
  const ask = async (method: string, params: object): Promise<Record<string, unknown>> =>
    JSON.parse((await dispatcher.answer({ userpass: PASSWORD, method, ...params }, "127.0.0.1")).body);
  const placed = (await ask("setprice", { base: "MARTY", rel: "DOC", price: "1", volume: "1" })).result as { uuid: string };
  await ask("cancel_order", { uuid: placed.uuid });
  const status = await ask("order_status", { uuid: placed.uuid });
  expect(status).toMatchObject({ type: "Maker", cancellation_reason: "Cancelled" });
  expect(status.order).not.toHaveProperty("cancellable");
  expect((await ask("my_orders", {})).result).toHaveProperty(`maker_orders.${OPEN_ORDER}`);
});

test.each([
  ["buy", { base: "WALLET", rel: "DOC" }],
  ["sell", { base: "DOC", rel: "WALLET" }],
  ["setprice", { base: "DOC", rel: "WALLET" }],
  ["setprice", { base: "WALLET", rel: "WALLET" }],
])("%s %j: a coin that is for the wallet only is not traded", async (method, coins) => {
  const dispatcher = fakeDispatcher(await fakeNode({ active: ["DOC", "WALLET"] }));
  // Told before the balance is looked at.
  const { body } = await dispatcher.answer({ userpass: PASSWORD, method, price: "1", volume: "1000", ...coins }, "127.0.0.1");
  expect(JSON.parse(body)).toEqual({ error: "'WALLET' is a wallet only asset and can't be used in orders." });
});

test("stop answers first, then stops", async () => {
  const node = await fakeNode();
  const { body } = await fakeDispatcher(node).answer({ userpass: PASSWORD, method: "stop" }, "127.0.0.1");
  expect(body).toBe('{"result":"success"}');
  expect(node.stopped).toBe(false);
  await node.clock.advance(50);
  expect(node.stopped).toBe(true);
});

test.each<[string, { readonly [key: string]: Json }, string]>([
  ["sell", { base: "KMD", rel: "DOC" }, ""],
  ["buy", { base: "DOC", rel: "KMD" }, ""],
  ["setprice", { base: "DOC", rel: "KMD" }, ""],
  ["trade_preimage", { base: "KMD", rel: "DOC", swap_method: "sell" }, ""],
  ["trade_preimage", { base: "DOC", rel: "KMD", swap_method: "setprice" }, ""],
  [
    "sell",
    { base: "DOC", rel: "KMD" },
    "; or use order_type FillOrKill: a GoodTillCancelled order becomes a maker order, whose takers would pay the dex fee in KMD",
  ],
])("%s %j without a receiver of the dex fee is refused with what to set", async (method, coins, more) => {
  const node = await fakeNode({ active: ["DOC", "KMD"] });
  const body = { userpass: PASSWORD, method, price: "1", volume: "1", ...coins };
  const { status, body: text } = await fakeDispatcher(node).answer(body, "127.0.0.1");
  expect([status, JSON.parse(text)]).toEqual([
    500,
    {
      error:
        "the network profile spec has no dex fee key for KMD, a coin with a value: set swapnode.network_profile to the network you join (kdf-3 or kdf-2), or swapnode.profile_overrides.dex_fee_pubkey" +
        more,
    },
  ]);
  expect(node.orders.myOrders()).toEqual({ makers: [], takers: [] });
});
