import { expect, test } from "vitest";
import { pair } from "../../../test/fakes/orderSteps.ts";
import { decimal } from "../../core/money/rational.ts";
import type { KeyElsewhere } from "./ordersDeps.ts";

const HEARD: KeyElsewhere = { kind: "KeyInUseElsewhere", heardAtMs: 1, message: "PubkeyKeepAlive", untilMs: 600_001 };
const sell = { base: "AAA", rel: "BBB", price: decimal("2"), volume: decimal("10"), minVolume: decimal("0.5") };
const buy = { action: "Buy", base: "AAA", rel: "BBB", price: decimal("2"), volume: decimal("1") } as const;

test("a node whose key trades elsewhere refuses new orders, keeps and shows its own, says nothing of them and answers nobody", async () => {
  const { world, maker, taker } = await pair();
  const placed = await maker.orders.placeMakerOrder(sell);
  expect(placed.ok).toBe(true);
  await world.clock.advance(1_000);
  maker.keyElsewhere = HEARD;
  // at once, before the orders' next round
  await taker.orders.placeTakerOrder({ ...buy, orderType: "FillOrKill" });
  await world.clock.advance(20);
  expect([world.messages("TakerRequest").length, world.messages("MakerReserved")]).toEqual([1, []]);
  await world.clock.advance(1_000);
  expect(maker.orders.ownOrders.orders()).toEqual([]);
  expect([await maker.orders.placeMakerOrder(sell), await maker.orders.placeTakerOrder(buy)]).toEqual([
    { ok: false, error: HEARD },
    { ok: false, error: HEARD },
  ]);
  await taker.orders.placeTakerOrder({ ...buy, orderType: "FillOrKill" });
  await world.clock.advance(60_000);
  expect([world.messages("MakerReserved"), world.messages("MakerOrderCancelled"), maker.orders.myOrders().makers.length]).toEqual([
    [],
    [],
    1,
  ]);
  maker.keyElsewhere = null;
  await world.clock.advance(1_000);
  expect([maker.orders.ownOrders.orders().length, world.messages("MakerOrderCreated", "maker").length]).toEqual([1, 2]);
  await taker.orders.placeTakerOrder(buy);
  await world.clock.advance(5_000);
  expect(maker.swaps.started).toHaveLength(1);
});

test("a handshake that is open when the other is heard begins no swap, and holds nothing", async () => {
  const { world, maker, taker } = await pair();
  await maker.orders.placeMakerOrder(sell);
  await taker.orders.placeTakerOrder({ ...buy, orderType: "FillOrKill" });
  world.deliver = (sent) => sent.message.type !== "TakerConnect";
  await world.clock.advance(4_000);
  world.deliver = () => true;
  maker.keyElsewhere = HEARD;
  await world.clock.advance(60_000);
  expect([maker.swaps.started, taker.swaps.started, maker.coin("AAA").openReservations, taker.coin("BBB").openReservations]).toEqual([
    [],
    [],
    0,
    0,
  ]);
});

test.each(["before the request leaves", "before an offer is taken", "before the maker has confirmed"])(
  "a taker that hears the other %s begins no swap",
  async (when) => {
    const { world, maker, taker } = await pair();
    await maker.orders.placeMakerOrder(sell);
    world.online = when !== "before the request leaves";
    world.deliver = (sent) => when !== "before the maker has confirmed" || sent.message.type !== "MakerConnected";
    await taker.orders.placeTakerOrder({ ...buy, orderType: "FillOrKill" });
    await world.clock.advance(when === "before the maker has confirmed" ? 3_500 : 1_000);
    taker.keyElsewhere = HEARD;
    world.deliver = () => true;
    world.goOnline();
    await world.clock.advance(120_000);
    const sent = [world.messages("TakerRequest").length, world.messages("TakerConnect").length > 0];
    expect(sent).toEqual(when === "before the request leaves" ? [0, false] : [1, when === "before the maker has confirmed"]);
    expect([taker.swaps.started, taker.coin("BBB").openReservations, taker.orders.myOrders().takers]).toEqual([[], 0, []]);
  },
);
