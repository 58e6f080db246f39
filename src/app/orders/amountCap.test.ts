import { expect, test } from "vitest";
import { OrderWorld, type TestNode } from "../../../test/fakes/orderWorld.ts";
import { decimal, toDecimalString } from "../../core/money/rational.ts";
import type { MakerOrderInput, TakerOrderInput } from "./orderInputs.ts";
import type { TradeRules } from "./ordersDeps.ts";

/** 3120 s hold 40 blocks of a minute: of BBB at 1 each, 40 can be received in one swap. */
const rewards = (of: string, reward: string): Partial<TradeRules> => ({
  blockTimes: () => ({ slowBlockSec: 180, notarizationSec: 3_600 }),
  blockReward: (ticker) => (ticker === of ? decimal(reward) : null),
});
const sell = (volume: string | "max", over: Partial<MakerOrderInput> = {}): MakerOrderInput => ({
  base: "AAA",
  rel: "BBB",
  price: decimal("2"),
  volume: volume === "max" ? volume : decimal(volume),
  ...over,
});
const take = (action: "Buy" | "Sell", base: string, rel: string, volume: string): TakerOrderInput => ({
  action,
  base,
  rel,
  price: decimal("2"),
  volume: decimal(volume),
});
const orders = (node: TestNode): number => node.orders.myOrders().makers.length + node.orders.myOrders().takers.length;

test("setprice, buy and sell above the cap are refused with the numbers; what lies below is placed", async () => {
  const node = await new OrderWorld().node("node", { rules: rewards("BBB", "1") });
  const error = { kind: "AmountAboveCap", coin: "BBB", cap: decimal("40"), confirmations: 41, fitting: 40, windowSec: 3_120 };
  expect(await node.orders.placeMakerOrder(sell("20.25"))).toMatchObject({ ok: false, error });
  expect(await node.orders.placeTakerOrder(take("Sell", "AAA", "BBB", "20.25"))).toMatchObject({ ok: false, error });
  expect(await node.orders.placeTakerOrder(take("Buy", "BBB", "AAA", "40.5"))).toMatchObject({ ok: false, error });
  expect(orders(node)).toBe(0);
  expect((await node.orders.placeMakerOrder(sell("20"))).ok).toBe(true);
  expect((await node.orders.placeTakerOrder(take("Sell", "AAA", "BBB", "20"))).ok).toBe(true);
  expect((await node.orders.placeTakerOrder(take("Buy", "BBB", "AAA", "40"))).ok).toBe(true);
});

test("setprice with max offers no more than can be received in one swap", async () => {
  const node = await new OrderWorld().node("node", { rules: rewards("BBB", "1") });
  const placed = await node.orders.placeMakerOrder(sell("max"));
  expect(placed.ok && toDecimalString(placed.value.maxBaseVol)).toBe("20");
});

test("when a reward falls under an open order, the maker serves only what is still below the cap", async () => {
  const world = new OrderWorld();
  let reward = "1";
  const rules = rewards("BBB", "1");
  const maker = await world.node("maker", { rules: { ...rules, blockReward: (t) => (t === "BBB" ? decimal(reward) : null) } });
  const taker = await world.node("taker");
  expect((await maker.orders.placeMakerOrder(sell("20"))).ok).toBe(true);
  reward = "0.5";
  expect((await taker.orders.placeTakerOrder(take("Buy", "AAA", "BBB", "15"))).ok).toBe(true);
  await world.clock.advance(5_000);
  expect(world.messages("MakerReserved")).toEqual([]);
  expect((await taker.orders.placeTakerOrder(take("Buy", "AAA", "BBB", "10"))).ok).toBe(true);
  await world.clock.advance(5_000);
  // 20 BBB at 0.5 a block.
  expect(maker.swaps.started).toMatchObject([{ safety: { valueConfs: 40 }, takerConfs: 1 }]);
});

test("a taker leaves an offer that gives it more than it can see deep enough", async () => {
  const world = new OrderWorld();
  let reward = "10";
  const maker = await world.node("maker");
  const rules = rewards("AAA", "1");
  const taker = await world.node("taker", { rules: { ...rules, blockReward: (t) => (t === "AAA" ? decimal(reward) : null) } });
  expect((await maker.orders.placeMakerOrder(sell("20"))).ok).toBe(true);
  expect((await taker.orders.placeTakerOrder(take("Buy", "AAA", "BBB", "10"))).ok).toBe(true);
  reward = "0.1";
  await world.clock.advance(5_000);
  expect(world.messages("TakerConnect")).toEqual([]);
  expect(taker.log.lines.find((l) => l.event === "offer_refused")?.fields).toMatchObject({ kind: "AmountAboveCap", coin: "AAA" });
});

test("amounts whose contract could not pay its claim or refund at the fee ceiling are refused, on either coin", async () => {
  const world = new OrderWorld();
  const node = await world.node("node");
  const tooLow = (coin: string) => ({ ok: false, error: { kind: "VolumeTooLow", coin, threshold: decimal("3") } });
  node.coin("BBB").least = decimal("3");
  expect(await node.orders.placeMakerOrder(sell("1"))).toMatchObject(tooLow("BBB"));
  expect(await node.orders.placeTakerOrder(take("Buy", "AAA", "BBB", "1"))).toMatchObject(tooLow("BBB"));
  expect(await node.orders.placeTakerOrder(take("Buy", "BBB", "AAA", "1"))).toMatchObject(tooLow("BBB"));
  expect((await node.orders.placeMakerOrder(sell("1.5"))).ok).toBe(true);
});

test("an order asks for no less than its contracts can be of, unless it says so itself", async () => {
  const world = new OrderWorld();
  const node = await world.node("node");
  node.coin("BBB").least = decimal("3");
  const least = decimal("1.5");
  // Two BBB for each AAA.
  expect(await node.orders.placeMakerOrder(sell("20"))).toMatchObject({ value: { minBaseVol: least } });
  expect(await node.orders.placeTakerOrder(take("Buy", "AAA", "BBB", "20"))).toMatchObject({ value: { minVolume: least } });
  node.coin("AAA").least = decimal("2");
  expect(await node.orders.placeMakerOrder(sell("20"))).toMatchObject({ value: { minBaseVol: decimal("2") } });
  expect(await node.orders.placeMakerOrder({ ...sell("20"), minVolume: decimal("1") })).toMatchObject({
    value: { minBaseVol: decimal("1") },
  });
});

test("a match too small to pay for its claim at the ceiling is not begun by either side", async () => {
  const world = new OrderWorld();
  const [maker, taker] = [await world.node("maker"), await world.node("taker")];
  expect((await maker.orders.placeMakerOrder(sell("20"))).ok).toBe(true);
  expect((await taker.orders.placeTakerOrder(take("Buy", "AAA", "BBB", "1"))).ok).toBe(true);
  taker.coin("AAA").least = decimal("3");
  await world.clock.advance(5_000);
  expect([world.messages("MakerReserved").length, world.messages("TakerConnect").length]).toEqual([1, 0]);
  maker.coin("BBB").least = decimal("5");
  taker.coin("AAA").least = decimal("0");
  expect((await taker.orders.placeTakerOrder(take("Buy", "AAA", "BBB", "2"))).ok).toBe(true);
  await world.clock.advance(5_000);
  // The first one's offer may come again for its repeated request; the second gets none.
  expect(new Set(world.messages("MakerReserved").map((r) => r.takerOrderUuid)).size).toBe(1);
});
