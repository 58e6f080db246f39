import { expect, test } from "vitest";
import { fromHex } from "../../src/core/util/bytes.ts";
import type { Json } from "../../src/rpc/parseJson.ts";
import { fakeNode, MATCHING_ORDER, OPEN_ORDER, PASSWORD } from "../fakes/fakeNode.ts";
import { RECORDED_ORDER } from "../fakes/rpc/fakeBook.ts";
import { send, serveRpc } from "../fakes/rpcServer.ts";

/** Final texts of `update_maker_order`, the book's questions and the history, and their order (reference rpc.md 5.2, 5.4, 10). */

type Params = { readonly [key: string]: Json };
type Options = Parameters<typeof fakeNode>[0];

async function ask(body: object, options: Options = {}): Promise<{ status: number; reply: Record<string, unknown> }> {
  const node = await fakeNode({ busy: true, ...options });
  const server = await serveRpc(node);
  try {
    const { status, text } = await send(server, JSON.stringify({ userpass: PASSWORD, ...body }));
    return { status, reply: JSON.parse(text) };
  } finally {
    await server.close();
  }
}
const update = (more: Params): Params => ({ uuid: OPEN_ORDER, ...more });
const UUID_TEXT =
  "UUID parsing failed: invalid character: expected an optional prefix of `urn:uuid:` followed by [0-9a-fA-F-], found `x` at 1";

/** 1.00…01 with 200 decimal places: other nodes would drop an order with it. */
const LONG = `1.${"0".repeat(199)}1`;
const TOO_LONG = (what: string): string => `${what} has too many digits for an order: write it with 190 decimal places at most`;

test.each<[string, Params, string]>([
  ["update_maker_order", {}, "missing field `uuid`"],
  ["update_maker_order", { uuid: "xyz" }, UUID_TEXT],
  ["update_maker_order", update({ new_price: "abc" }), 'Could not deserialize any variant of MmNumber from "abc"'],
  ["update_maker_order", update({ max: "yes" }), 'invalid type: string "yes", expected a boolean'],
  // Each row but the last of a kind is wrong in what the later rows look at, too.
  [
    "update_maker_order",
    { uuid: RECORDED_ORDER.uuid.replace("1", "2"), new_price: "0" },
    "There is no order with UUID 244ce75d-d765-4ecc-b29a-1504c99c1112",
  ],
  ["update_maker_order", { uuid: MATCHING_ORDER, new_price: "0" }, "Can't update an order that has ongoing matches"],
  ["update_maker_order", update({ new_price: "0", min_volume: "0", volume_delta: "-9" }), "Price 0 is too low, required: 0"],
  ["update_maker_order", update({ min_volume: "0.00001", volume_delta: "-9" }), "Min base vol 0.00001 is too low, required: 0.0001"],
  ["update_maker_order", update({ min_volume: "5", volume_delta: "-9" }), "New volume -6 should be more than zero"],
  ["update_maker_order", update({ volume_delta: "-3" }), "New volume 0 should be more than zero"],
  [
    "update_maker_order",
    update({ volume_delta: "-2.999999", min_volume: "5" }),
    "The volume 0.000001 of the DOC coin less than minimum transaction amount 0.00001",
  ],
  [
    "update_maker_order",
    update({ volume_delta: "997", min_volume: "5000" }),
    "Not enough DOC for swap: available 200, required at least 1000.0001, locked by swaps None",
  ],
  ["update_maker_order", update({ new_price: LONG, min_volume: "0" }), TOO_LONG("price")],
  ["update_maker_order", update({ min_volume: LONG }), TOO_LONG("min_volume")],
  ["setprice", { base: "DOC", rel: "MARTY", price: LONG, volume: "1" }, TOO_LONG("price")],
  ["buy", { base: "DOC", rel: "MARTY", price: "1", volume: LONG }, TOO_LONG("volume")],
  ["trade_preimage", { base: "DOC", rel: "MARTY", swap_method: "setprice", price: LONG, volume: "1" }, TOO_LONG("price")],
  ["update_maker_order", update({ min_volume: "4" }), "Max base vol 3 is below min base vol: 4"],
  ["update_maker_order", update({ volume_delta: "-2.99995" }), "Max base vol 0.00005 is below min base vol: 0.0001"],
  ["update_maker_order", update({ new_price: "0.00001" }), "Max rel vol 0.00003 is too low, required: 0.0001"],
  ["orderbook_depth", {}, "missing field `pairs`"],
  ["orderbook_depth", { pairs: "DOC" }, 'invalid type: string "DOC", expected a sequence'],
  ["orderbook_depth", { pairs: [["DOC"]] }, "invalid length 1, expected a tuple of size 2"],
  ["orderbook_depth", { pairs: [["DOC", 5]] }, "invalid type: integer `5`, expected a string"],
  [
    "orderbook_depth",
    {
      pairs: [
        ["DOC", "MARTY"],
        ["DOC", "WALLET"],
        ["NOSUCH", "DOC"],
      ],
    },
    'Pairs [("DOC", "WALLET"), ("NOSUCH", "DOC")] have wallet only coins',
  ],
  ["best_orders", { action: "buy", volume: "1" }, "missing field `coin`"],
  ["best_orders", { coin: "DOC", action: "Buy", volume: "1" }, "unknown variant `Buy`, expected `buy` or `sell`"],
  ["best_orders", { coin: "DOC", action: 5, volume: "1" }, "invalid type: integer `5`, expected string or map"],
  ["best_orders", { coin: "DOC", action: "buy" }, "missing field `volume`"],
  ["best_orders", { coin: "WALLET", action: "buy", volume: "1" }, "Coin WALLET is wallet only"],
  ["best_orders", { coin: "NOSUCH", action: "buy", volume: "1" }, "Coin NOSUCH is wallet only"],
  ["best_orders", { coin: "KMD", action: "buy", volume: "1" }, "No response from any peer"],
  ["orders_history_by_filter", { order_type: "maker" }, "unknown variant `maker`, expected `Maker` or `Taker`"],
  ["orders_history_by_filter", { initial_action: "sell" }, "unknown variant `sell`, expected `Sell` or `Buy`"],
  ["orders_history_by_filter", { from_price: "x" }, 'Could not deserialize any variant of MmNumber from "x"'],
  ["orders_history_by_filter", { was_taker: 1 }, "invalid type: integer `1`, expected a boolean"],
  ["orders_history_by_filter", { from_timestamp: -1 }, "invalid value: integer `-1`, expected u64"],
  ["orders_history_by_filter", { include_details: null }, "invalid type: null, expected a boolean"],
])("%s %j says so", async (method, params, text) => {
  const { status, reply } = await ask({ method, ...params });
  const final = String(reply.error).replace(/^[\w.]+:\d+\] RPC call failed: /, "");
  expect({ status, final }).toEqual({ status: 500, final: text });
});

test("an update of an order whose coins are not both active names them, before anything else is looked at", async () => {
  const node = await fakeNode({ busy: true });
  const server = await serveRpc(node);
  const body = (more: object) => JSON.stringify({ userpass: PASSWORD, ...more });
  await send(server, body({ method: "disable_coin", coin: "MARTY" }));
  const { status, text } = await send(server, body({ method: "update_maker_order", uuid: OPEN_ORDER, new_price: "0" }));
  await server.close();
  expect(status).toBe(500);
  expect(text).toContain("Base coin DOC and/or rel coin MARTY are not activated");
});

test.each<[object, number, object]>([
  [{ request_by: { type: "number", value: 5 } }, 400, { error_type: "InvalidRequest" }],
  [
    { coin: "WALLET", action: "buy", request_by: { type: "number", value: 5 } },
    400,
    { error: "Coin WALLET is wallet only", error_type: "CoinIsWalletOnly", error_data: "WALLET" },
  ],
  [
    { coin: "KMD", action: "buy", request_by: { type: "volume", value: "1" } },
    500,
    { error: "No response from any peer", error_type: "P2PError", error_data: "No response from any peer" },
  ],
  [{ coin: "DOC", action: "buy", request_by: { type: "all" } }, 400, { error_type: "InvalidRequest" }],
  [{ coin: "DOC", action: "buy", request_by: { type: "number" } }, 400, { error_type: "InvalidRequest" }],
  [{ coin: "DOC", action: "buy", request_by: { type: "number", value: "5" } }, 400, { error_type: "InvalidRequest" }],
])("best_orders, versioned, with %j", async (params, status, reply) => {
  const answer = await ask({ mmrpc: "2.0", method: "best_orders", params, id: 1 });
  expect(answer).toMatchObject({ status, reply });
});

const bestOf = async (params: object, options: Options = {}) => {
  const { reply } = await ask({ mmrpc: "2.0", method: "best_orders", params }, { others: [RECORDED_ORDER], busy: false, ...options });
  return (reply.result as { readonly orders: Record<string, readonly Record<string, unknown>[]> }).orders;
};

test("orders that ask for a coin are shown in the terms of whoever sells it", async () => {
  const { DOC } = await bestOf({ coin: "MARTY", action: "sell", request_by: { type: "number", value: 5 } });
  expect(DOC).toMatchObject([
    {
      coin: "DOC",
      price: { decimal: "0.4" },
      base_max_volume: { decimal: "7.5" },
      rel_max_volume: { decimal: "3" },
      conf_settings: { base_confs: 1 },
      is_mine: false,
    },
  ]);
});

test("a coin that the coins file has not, or keeps for the wallet, is left out of the best orders", async () => {
  const others = [RECORDED_ORDER, { ...RECORDED_ORDER, rel: "WALLET" }, { ...RECORDED_ORDER, rel: "NOSUCH" }];
  expect(Object.keys(await bestOf({ coin: "DOC", action: "buy", request_by: { type: "number", value: 5 } }, { others }))).toEqual([
    "MARTY",
  ]);
});

test("exclude_mine leaves own orders out; otherwise they are shown as such", async () => {
  const by = { coin: "DOC", action: "buy", request_by: { type: "number", value: 5 } };
  expect((await bestOf(by, { busy: true })).MARTY?.map((o) => o.is_mine)).toEqual([true, true, false]);
  expect((await bestOf({ ...by, exclude_mine: true }, { busy: true })).MARTY?.map((o) => o.is_mine)).toEqual([false]);
});

test("the history shows an updated and a cancelled order, with details of either", async () => {
  const node = await fakeNode({ busy: true });
  const server = await serveRpc(node);
  const call = async (body: object): Promise<Record<string, unknown>> =>
    JSON.parse((await send(server, JSON.stringify({ userpass: PASSWORD, ...body }))).text).result;
  await call({ method: "update_maker_order", uuid: OPEN_ORDER, new_price: "4" });
  const placed = await call({ method: "setprice", base: "MARTY", rel: "DOC", price: "0.1", volume: "7" });
  await node.clock.advance(10);
  await call({ method: "cancel_order", uuid: String(placed.uuid) });
  const history = await call({ method: "orders_history_by_filter", include_details: true });
  expect(history).toMatchObject({
    found_records: 3,
    warnings: [],
    orders: [
      { uuid: placed.uuid, order_type: "Maker", initial_action: "Sell", price: 0.1, volume: 7, was_taker: 0, status: "Cancelled" },
      { uuid: MATCHING_ORDER, status: "Created" },
      { uuid: OPEN_ORDER, price: 4, status: "Updated" },
    ],
    details: [
      { type: "Maker", order: { uuid: placed.uuid, price: "0.1" } },
      { type: "Maker", order: { uuid: MATCHING_ORDER, cancellable: false, available_amount: "2" } },
      { type: "Maker", order: { uuid: OPEN_ORDER, price: "4", cancellable: true, available_amount: "3" } },
    ],
  });
  expect((history.details as readonly { order: object }[])[0]?.order).not.toHaveProperty("cancellable");
  expect(await call({ method: "orders_history_by_filter", status: "Updated" })).toMatchObject({ found_records: 1, details: [] });
  expect(await call({ method: "orders_history_by_filter", from_price: "0.1", to_price: 0.1 })).toMatchObject({
    found_records: 1,
    orders: [{ uuid: placed.uuid }],
  });
  await server.close();
});

test("an update cannot take off what a swap of the order has", async () => {
  const node = await fakeNode({ busy: true });
  const order = () => node.orders.myOrders().makers.find((o) => o.uuid === MATCHING_ORDER);
  const [takerOrderUuid = ""] = [...(order()?.matches.keys() ?? [])];
  const taker = fromHex(`02${"11".repeat(32)}`);
  node.orders.onMessage(taker, { type: "TakerConnect", body: { takerOrderUuid, makerOrderUuid: MATCHING_ORDER } });
  for (let turn = 0; turn < 100 && order()?.startedSwaps.length === 0; turn++) await new Promise((resolve) => setImmediate(resolve));
  const server = await serveRpc(node);
  const body = { userpass: PASSWORD, method: "update_maker_order", uuid: MATCHING_ORDER, volume_delta: "-2" };
  const { text } = await send(server, JSON.stringify(body));
  await server.close();
  expect(text).toContain("New volume 1 should be more than reserved amount for order matches 1");
});

test.each([
  ["spec", "198.9989"],
  ["kdf", "198.9998"],
] as const)("with max the change of volume is ignored; what is kept back is %s's", async (compatibility, volume) => {
  const { reply } = await ask({ method: "update_maker_order", ...update({ max: true, volume_delta: "-9" }) }, { compatibility });
  expect(reply.result).toMatchObject({ max_base_vol: volume });
});

test("details of more orders than one reply may have are refused, the orders alone are not", async () => {
  const node = await fakeNode();
  const { orders } = node.ctx;
  const row = {
    ...{ uuid: OPEN_ORDER, kind: "Maker", initialAction: "Sell", base: "DOC", rel: "MARTY", price: 1, volume: 1 },
    ...{ createdAtMs: 1, updatedAtMs: 1, wasTaker: false, status: "Cancelled" },
  } as const;
  const history: typeof orders.history = async () => Array.from({ length: 1_001 }, () => row);
  const server = await serveRpc({ ...node, ctx: { ...node.ctx, orders: { ...orders, history } } });
  try {
    const call = (more: object) => send(server, JSON.stringify({ userpass: PASSWORD, method: "orders_history_by_filter", ...more }));
    const refused = await call({ include_details: true });
    expect([refused.status, JSON.parse(refused.text).error]).toEqual([
      500,
      "1001 orders match, and one reply has the details of 1000 at most: narrow the filter",
    ]);
    expect(JSON.parse((await call({})).text).result.found_records).toBe(1_001);
  } finally {
    await server.close();
  }
});
