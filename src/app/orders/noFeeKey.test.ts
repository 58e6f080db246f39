import { expect, test } from "vitest";
import { OrderWorld, type TestNode } from "../../../test/fakes/orderWorld.ts";
import { decimal } from "../../core/money/rational.ts";
import type { TakerOrderInput } from "./orderInputs.ts";
import type { TradeRules } from "./ordersDeps.ts";

/** A network whose profile names no fee key: only BBB, a coin without a value, may be a taker's coin. */
const ONLY_BBB: Partial<TradeRules> = {
  noFeeKey: (ticker) => (ticker === "BBB" ? null : { kind: "NoFeeKey", coin: ticker, profile: "spec" }),
};
const order: TakerOrderInput = { action: "Sell", base: "BBB", rel: "AAA", price: decimal("1"), volume: decimal("1") };
const NO_KEY = { kind: "NoFeeKey", coin: "AAA", profile: "spec" };
const open = (node: TestNode) => [...node.orders.myOrders().makers, ...node.orders.myOrders().takers].map((o) => o.uuid);

test("a taker coin without a fee key is refused after the coins are known and before the balance, and nothing is kept", async () => {
  const node = await new OrderWorld().node("node", { rules: ONLY_BBB });
  const sell = { ...order, base: "AAA", rel: "BBB", volume: decimal("1000000") };
  expect(await node.orders.placeTakerOrder(sell)).toEqual({ ok: false, error: { ...NO_KEY, converted: false } });
  expect(await node.orders.placeTakerOrder({ ...sell, action: "Buy", base: "BBB", rel: "AAA" })).toMatchObject({ error: NO_KEY });
  expect(await node.orders.placeTakerOrder({ ...sell, base: "XXX" })).toMatchObject({ error: { kind: "CoinNotActive", ticker: "XXX" } });
  expect(await node.orders.placeTakerOrder({ ...sell, rel: "AAA" })).toMatchObject({ error: { kind: "SameCoin" } });
  expect(open(node)).toEqual([]);
});

test("a maker order whose takers would pay with such a coin is refused too, and previous orders stay", async () => {
  const node = await new OrderWorld().node("node", { rules: ONLY_BBB });
  const placed = await node.orders.placeMakerOrder({ base: "AAA", rel: "BBB", price: decimal("1"), volume: decimal("1") });
  const other = await node.orders.placeMakerOrder({ base: "BBB", rel: "AAA", price: decimal("1"), volume: decimal("1000000") });
  expect(other).toEqual({ ok: false, error: { ...NO_KEY, converted: false } });
  expect(open(node)).toEqual(placed.ok ? [placed.value.uuid] : []);
});

test("a taker order that could become such a maker order is refused, unless it ends instead", async () => {
  const node = await new OrderWorld().node("node", { rules: ONLY_BBB });
  expect(await node.orders.placeTakerOrder(order)).toEqual({ ok: false, error: { ...NO_KEY, converted: true } });
  expect(await node.orders.placeTakerOrder({ ...order, orderType: "FillOrKill" })).toMatchObject({ ok: true });
});

test("orders stored under another profile are neither converted nor announced", async () => {
  const world = new OrderWorld();
  let rules: Partial<TradeRules> = {};
  const node = await world.node("node", { rules: { noFeeKey: (ticker) => rules.noFeeKey?.(ticker) ?? null } });
  await node.orders.placeTakerOrder(order);
  await node.orders.placeMakerOrder({ base: "BBB", rel: "AAA", price: decimal("1"), volume: decimal("1") });
  await world.clock.advance(1_000);
  await node.orders.close();
  const told = world.messages("MakerOrderCreated").length;
  rules = ONLY_BBB;
  await node.restart();
  await world.clock.advance(40_000);
  expect(world.messages("MakerOrderCreated")).toHaveLength(told);
  expect(node.orders.myOrders()).toMatchObject({ takers: [], makers: [{ base: "BBB", rel: "AAA" }] });
  expect(node.log.lines.filter((l) => l.event === "maker_order_not_announced")).toHaveLength(1);
});
