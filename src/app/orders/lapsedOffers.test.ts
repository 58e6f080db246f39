import { expect, test } from "vitest";
import { available, buy, pair, place, sell, take } from "../../../test/fakes/orderSteps.ts";
import { keyHex, type OrderWorld, type TestNode } from "../../../test/fakes/orderWorld.ts";
import { decimal } from "../../core/money/rational.ts";

/** Of two nodes with one order each, the swaps of both. */
const swaps = (...nodes: readonly TestNode[]) => nodes.map((n) => n.swaps.started.map((s) => s.uuid));
const offersOf = (node: TestNode): number => node.log.lines.filter((l) => l.event === "order_reserved").length;

/** A taker has chosen, and the maker's offer lapsed before it heard of that. */
async function chosenTooLate(): Promise<{ world: OrderWorld; maker: TestNode; taker: TestNode; offered: string; order: string }> {
  const { world, maker, taker } = await pair();
  const offered = await place(maker, sell());
  world.deliver = ({ message }) => message.type !== "TakerConnect";
  const order = await take(taker, buy("1", { timeoutSec: 600 }));
  await world.clock.advance(40_000);
  expect(world.messages("TakerConnect").length).toBeGreaterThan(2);
  expect([maker.coin("AAA").openReservations, available(maker, offered)]).toEqual([0, "10"]);
  return { world, maker, taker, offered, order };
}

test("a taker whose choice comes after the offer has lapsed is taken at its word", async () => {
  const { world, maker, taker, offered, order } = await chosenTooLate();
  world.deliver = () => true;
  await world.clock.advance(6_000);
  expect(swaps(maker, taker)).toEqual([[order], [order]]);
  expect(available(maker, offered)).toBe("9");
  // Repeats of the choice start nothing more.
  world.send("maker", "taker", { type: "TakerConnect", body: { takerOrderUuid: order, makerOrderUuid: offered } });
  await world.clock.advance(6_000);
  expect(swaps(maker, taker)).toEqual([[order], [order]]);
});

test("a choice that comes late waits for funds like everybody, and is nobody else's to make", async () => {
  const { world, maker, taker, offered, order } = await chosenTooLate();
  const stranger = await world.node("stranger");
  world.send("maker", "stranger", { type: "TakerConnect", body: { takerOrderUuid: order, makerOrderUuid: offered } });
  await world.clock.advance(100);
  expect(swaps(maker, taker, stranger)).toEqual([[], [], []]);
  maker.coin("AAA").trouble = { kind: "Transport", coin: "AAA", message: "nothing listens there" };
  world.deliver = () => true;
  await world.clock.advance(20_000);
  expect(swaps(maker, taker)).toEqual([[], []]);
  maker.coin("AAA").trouble = null;
  await world.clock.advance(6_000);
  expect(swaps(maker, taker)).toEqual([[order], [order]]);
});

test("a choice that comes late starts no swap on other terms than were offered", async () => {
  const { world, maker, taker, offered } = await chosenTooLate();
  const updated = await maker.orders.updateMakerOrder({ uuid: offered, price: decimal("1.5") });
  expect(updated.ok).toBe(true);
  world.deliver = () => true;
  await world.clock.advance(30_000);
  expect(swaps(maker, taker)).toEqual([[], []]);
  expect(maker.coin("AAA").openReservations).toBe(0);
});

test("a choice that comes when its taker has given up starts nothing: it is old, or a replay", async () => {
  const { world, maker, taker, offered, order } = await chosenTooLate();
  await world.clock.advance(69_000);
  expect(taker.orders.myOrders().takers).toEqual([]);
  const connect = (): void =>
    world.send("maker", "taker", { type: "TakerConnect", body: { takerOrderUuid: order, makerOrderUuid: offered } });
  await world.clock.advance(2_000);
  connect();
  await world.clock.advance(1_000);
  expect([swaps(maker), maker.coin("AAA").openReservations, available(maker, offered)]).toEqual([[[]], 0, "10"]);
});

test("an offer that lapsed unheard is made again to a taker that goes on asking, on the same terms and three times at most", async () => {
  const { world, maker, taker } = await pair();
  await place(maker, sell());
  world.deliver = ({ message }) => message.type !== "MakerReserved";
  const order = await take(taker, buy("1", { timeoutSec: 600 }));
  await world.clock.advance(40_000);
  expect(offersOf(maker)).toBe(2);
  world.deliver = () => true;
  await world.clock.advance(30_000);
  expect(swaps(maker, taker)).toEqual([[order], [order]]);

  world.deliver = ({ message }) => message.type !== "MakerReserved";
  const before = offersOf(maker);
  await take(taker, buy("1", { timeoutSec: 600 }));
  await world.clock.advance(300_000);
  expect(offersOf(maker) - before).toBe(3);
});

test("of a request that names very many orders or makers only our own name is kept, and it is offered the same again", async () => {
  const { world, maker, taker } = await pair();
  const offered = await place(maker, sell());
  world.deliver = ({ message }) => message.type !== "MakerReserved";
  const others = (count: number, name: (i: number) => string) => Array.from({ length: count }, (_, i) => name(i));
  const uuids = others(20, (i) => `00000000-0000-4000-8000-${String(i).padStart(12, "0")}`);
  const keys = others(20, (i) => String(i).padStart(64, "0"));
  const ours = keyHex(maker).slice(2);
  for (const [type, data, kept] of [
    ["Orders", [...uuids.slice(1), offered], [...uuids.slice(1), offered]],
    ["Orders", [...uuids, offered], [offered]],
    ["Pubkeys", [...keys, ours], [ours]],
  ] as const) {
    const before = offersOf(maker);
    const order = await take(taker, buy("1", { timeoutSec: 40, orderType: "FillOrKill", matchBy: { type, data } }));
    await world.clock.advance(1_000);
    const match = maker.orders.myOrders().makers[0]?.matches.get(order);
    expect(match?.request.matchBy).toEqual({ type, data: kept });
    await world.clock.advance(100_000);
    expect(offersOf(maker) - before).toBe(2);
  }
});

test("what was offered once is not offered on other terms: its taker may have chosen the first", async () => {
  const { world, maker, taker } = await pair();
  const offered = await place(maker, sell());
  world.deliver = ({ message }) => message.type !== "MakerReserved";
  await take(taker, buy("1", { timeoutSec: 600 }));
  await world.clock.advance(31_000);
  const updated = await maker.orders.updateMakerOrder({ uuid: offered, price: decimal("1.5") });
  expect([updated.ok, offersOf(maker)]).toEqual([true, 1]);
  world.deliver = () => true;
  await world.clock.advance(60_000);
  expect([offersOf(maker), ...swaps(maker, taker)]).toEqual([1, [], []]);
});
