import { expect, test } from "vitest";
import { OrderWorld, type TestNode } from "../../../test/fakes/orderWorld.ts";
import { VirtualClock } from "../../adapters/virtualClock/virtualClock.ts";
import type { TakerRequest } from "../../core/message/types.ts";
import { decimal } from "../../core/money/rational.ts";
import { availableVolume } from "../../core/order/makerOrder.ts";
import { toHex } from "../../core/util/bytes.ts";
import type { OrdersDeps } from "./ordersDeps.ts";
import { WaitingRequests } from "./waitingRequests.ts";

const sell = (volume: string) => ({ base: "AAA", rel: "BBB", price: decimal("1"), volume: decimal(volume) });
const buy = (volume: string, timeoutSec = 600) => ({
  action: "Buy" as const,
  base: "AAA",
  rel: "BBB",
  price: decimal("1"),
  volume: decimal(volume),
  timeoutSec,
});
const uuid = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
const request = (n: number, amount = "1"): TakerRequest => ({
  base: "AAA",
  rel: "BBB",
  baseAmount: decimal(amount),
  relAmount: decimal(amount),
  action: "Buy",
  uuid: uuid(n),
  matchBy: { type: "Any" },
  conf: { baseConfs: 1, baseNota: false, relConfs: 1, relNota: false },
  swapVersion: 1,
});

async function place(node: TestNode, volume: string): Promise<string> {
  const placed = await node.orders.placeMakerOrder(sell(volume));
  if (!placed.ok) throw new Error(placed.error.kind);
  return placed.value.uuid;
}
async function take(node: TestNode, volume: string, timeoutSec?: number): Promise<string> {
  const placed = await node.orders.placeTakerOrder(buy(volume, timeoutSec));
  if (!placed.ok) throw new Error(placed.error.kind);
  return placed.value.uuid;
}
async function pair(policy: Partial<OrdersDeps["policy"]> = {}) {
  const world = new OrderWorld();
  return { world, maker: await world.node("maker", { policy }), taker: await world.node("taker") };
}

test("a maker that is reached only later hears the request again, and the order is matched", async () => {
  const { world, maker, taker } = await pair();
  await place(maker, "10");
  world.deliver = () => false;
  const order = await take(taker, "1", 30);
  await world.clock.advance(12_000);
  expect(taker.swaps.started).toEqual([]);
  world.deliver = () => true;
  await world.clock.advance(10_000);
  expect([maker, taker].map((n) => n.swaps.started.map((s) => s.uuid))).toEqual([[order], [order]]);
});

test("the repeats of a request are the same request, and end with its match", async () => {
  const { world, maker, taker } = await pair();
  await take(taker, "1");
  await world.clock.advance(20_000);
  const said = world.messages("TakerRequest");
  expect([said.length, new Set(said.map((r) => JSON.stringify(r, (_, v) => (typeof v === "bigint" ? `${v}n` : v)))).size]).toEqual([4, 1]);
  await place(maker, "10");
  await world.clock.advance(10_000);
  expect(taker.swaps.started).toHaveLength(1);
  const before = world.messages("TakerRequest").length;
  await world.clock.advance(30_000);
  expect(world.messages("TakerRequest")).toHaveLength(before);
});

test("a taker's order that is open over a restart is heard again", async () => {
  const { world, maker, taker } = await pair();
  world.deliver = () => false;
  const order = await take(taker, "1");
  await taker.restart();
  world.deliver = () => true;
  await place(maker, "10");
  await world.clock.advance(10_000);
  expect(maker.swaps.started.map((s) => s.uuid)).toEqual([order]);
});

test("thousands of open requests are repeated in turn, and never more than a few in a second", async () => {
  const { world, taker } = await pair();
  taker.coin("BBB").setBalance("100000");
  await Promise.all(Array.from({ length: 300 }, () => take(taker, "1")));
  await world.clock.advance(1_000);
  expect(world.messages("TakerRequest")).toHaveLength(300);
  await world.clock.advance(30_000);
  const counts = new Map<string, number>();
  for (const r of world.messages("TakerRequest")) counts.set(r.uuid, (counts.get(r.uuid) ?? 0) + 1);
  expect(world.messages("TakerRequest").length - 300).toBeLessThanOrEqual(31 * 13);
  expect([...counts.values()].every((n) => n >= 2)).toBe(true);
});

test("an offer that was lost is made again to a taker that asks again, and holds nothing twice", async () => {
  const { world, maker, taker } = await pair();
  await place(maker, "10");
  let lost = 0;
  world.deliver = ({ message }) => message.type !== "MakerReserved" || lost++ >= 2;
  await take(taker, "1");
  await world.clock.advance(4_000);
  expect([taker.swaps.started.length, maker.coin("AAA").openReservations]).toEqual([0, 1]);
  await world.clock.advance(10_000);
  expect([taker.swaps.started.length, maker.swaps.started.length]).toEqual([1, 1]);
});

test("of a hundred requests of one taker all are matched, ten handshakes at a time", async () => {
  const { world, maker, taker } = await pair();
  maker.coin("AAA").setBalance("1000");
  taker.coin("BBB").setBalance("1000");
  await place(maker, "200");
  const orders = await Promise.all(Array.from({ length: 100 }, () => take(taker, "1")));
  let most = 0;
  for (let s = 0; s < 40; s++) {
    await world.clock.advance(1_000);
    const open = [...(maker.orders.myOrders().makers[0]?.matches.values() ?? [])].filter((m) => m.connectedAtMs === null).length;
    most = Math.max(most, open);
  }
  expect(most).toBeLessThanOrEqual(10);
  expect(new Set(maker.swaps.started.map((s) => s.uuid))).toEqual(new Set(orders));
  expect(taker.swaps.started).toHaveLength(100);
});

/** No output of the coin can be had before the next block. */
const beforeTheBlock = { kind: "Internal", coin: "AAA", message: "every output is in use" } as const;

test.each(["AAA", "BBB"])(
  "while the backend of %s is away nobody is promised anything, and who asked is served when it is back",
  async (away) => {
    const { world, maker, taker } = await pair();
    await place(maker, "50");
    const outage = { kind: "Transport", coin: away, message: "nothing listens there" } as const;
    maker.coin(away).trouble = outage;
    world.send("maker", "taker", { type: "TakerRequest", body: request(1) });
    await world.clock.advance(3_000);
    expect(world.messages("MakerReserved")).toEqual([]);
    maker.coin(away).trouble = null;
    await world.clock.advance(1_000);
    expect(world.messages("MakerReserved")).toHaveLength(1);
    taker.coin(away).trouble = outage;
    const order = { base: "AAA", rel: "BBB", price: decimal("2"), volume: decimal("1") };
    expect(await taker.orders.placeTakerOrder({ ...order, action: "Buy" })).toEqual({ ok: false, error: outage });
    taker.coin(away).isBack = true;
    expect(await taker.orders.placeTakerOrder({ ...order, action: "Buy" })).toMatchObject({ ok: true });
  },
);

test.each(["AAA", "BBB"])(
  "while somebody else's transactions of the %s account wait nobody is promised anything: the taker would pay its fee in vain",
  async (coin) => {
    const { world, maker } = await pair();
    await place(maker, "50");
    maker.coin(coin).hidden = "the nodes have a transaction of this account which nothing here sent";
    world.send("maker", "taker", { type: "TakerRequest", body: request(1) });
    await world.clock.advance(3_000);
    expect(world.messages("MakerReserved")).toEqual([]);
    maker.coin(coin).hidden = null;
    await world.clock.advance(1_000);
    expect(world.messages("MakerReserved")).toHaveLength(1);
  },
);

test("offers that came while a backend was away are taken when it is back: some makers offer once", async () => {
  const { world, maker, taker } = await pair();
  await place(maker, "10");
  let firstAtMs = 0;
  world.deliver = ({ message }) => {
    if (message.type !== "MakerReserved") return true;
    firstAtMs ||= world.clock.nowMs();
    return world.clock.nowMs() - firstAtMs < 100;
  };
  await take(taker, "1", 30);
  await world.clock.advance(2_500);
  taker.coin("AAA").trouble = { kind: "Transport", coin: "AAA", message: "nothing listens there" };
  await world.clock.advance(1_000);
  expect(world.messages("TakerConnect")).toEqual([]);
  taker.coin("AAA").trouble = null;
  await world.clock.advance(2_000);
  expect(taker.swaps.started).toHaveLength(1);
});

test("an outage longer than offers stand: the order goes on asking, and is matched with whoever offers then", async () => {
  const { world, maker, taker } = await pair();
  const other = await world.node("other");
  await place(maker, "10");
  await take(taker, "1");
  await world.clock.advance(1_000);
  taker.coin("AAA").trouble = { kind: "Transport", coin: "AAA", message: "nothing listens there" };
  await world.clock.advance(60_000);
  await place(other, "10");
  await world.clock.advance(30_000);
  taker.coin("AAA").trouble = null;
  await world.clock.advance(10_000);
  expect(taker.swaps.started).toHaveLength(1);
});

test("a request that cannot be served while a backend is away takes nobody's place", async () => {
  const known = new Set<string>();
  const world = new OrderWorld();
  const policy: Partial<OrdersDeps["policy"]> = {
    isKnown: (sender) => known.has(sender),
    mayReserve: ({ sender }) => ({ kind: "granted", connectWithinMs: 30_000, alone: known.has(sender) ? null : "alone" }),
  };
  const maker = await world.node("maker", { policy: policy as OrdersDeps["policy"] });
  await world.node("stranger");
  known.add(toHex((await world.node("friend")).key));
  await place(maker, "1");
  world.send("maker", "stranger", { type: "TakerRequest", body: request(1) });
  await world.clock.advance(1_000);
  const open = (): readonly string[] => [...(maker.orders.myOrders().makers[0]?.matches.keys() ?? [])];
  expect(open()).toEqual([uuid(1)]);
  maker.coin("BBB").trouble = { kind: "Transport", coin: "BBB", message: "nothing listens there" };
  world.send("maker", "friend", { type: "TakerRequest", body: request(2) });
  await world.clock.advance(1_000);
  expect(open()).toEqual([uuid(1)]);
});

test("requests that no output is free for wait, and are served in the order they came when there is one", async () => {
  const { world, maker } = await pair();
  await place(maker, "50");
  maker.coin("AAA").trouble = beforeTheBlock;
  for (const n of [3, 1, 2]) world.send("maker", "taker", { type: "TakerRequest", body: request(n) });
  await world.clock.advance(3_000);
  expect(world.messages("MakerReserved")).toEqual([]);
  maker.coin("AAA").trouble = null;
  await world.clock.advance(1_000);
  expect(world.messages("MakerReserved").map((r) => r.takerOrderUuid)).toEqual([uuid(3), uuid(1), uuid(2)]);
});

test("a request that waits is forgotten after 30 s, unless it was said again", async () => {
  const { world, maker } = await pair();
  await place(maker, "50");
  maker.coin("AAA").trouble = beforeTheBlock;
  for (const n of [1, 2]) world.send("maker", "taker", { type: "TakerRequest", body: request(n) });
  await world.clock.advance(20_000);
  world.send("maker", "taker", { type: "TakerRequest", body: request(2) });
  await world.clock.advance(11_000);
  maker.coin("AAA").trouble = null;
  await world.clock.advance(2_000);
  expect(world.messages("MakerReserved").map((r) => r.takerOrderUuid)).toEqual([uuid(2)]);
});

test("a taker that was silent while it waited has ten seconds for its connect, and its silence is not held against it", async () => {
  const blamed: string[] = [];
  const { world, maker } = await pair({ onNeverConnected: (name) => void blamed.push(name) });
  await place(maker, "50");
  world.send("maker", "taker", { type: "TakerRequest", body: request(1) });
  await world.clock.advance(100);
  maker.coin("AAA").trouble = beforeTheBlock;
  world.send("maker", "taker", { type: "TakerRequest", body: request(2) });
  await world.clock.advance(10_000);
  maker.coin("AAA").trouble = null;
  await world.clock.advance(1_000);
  expect(maker.coin("AAA").openReservations).toBe(2);
  await world.clock.advance(11_000);
  expect(maker.coin("AAA").openReservations).toBe(1);
  await world.clock.advance(20_000);
  expect([maker.coin("AAA").openReservations, blamed]).toEqual([0, [uuid(1)]]);
});

test("a refused share is asked for again, once there may be more of it", async () => {
  let mayHave = false;
  const { world, maker } = await pair({
    mayReserve: () =>
      mayHave ? { kind: "granted", alone: null, connectWithinMs: 30_000 } : { kind: "refused", reason: "strangers_share" },
  });
  await place(maker, "50");
  world.send("maker", "taker", { type: "TakerRequest", body: request(1) });
  await world.clock.advance(3_000);
  expect(world.messages("MakerReserved")).toEqual([]);
  mayHave = true;
  await world.clock.advance(1_000);
  expect(world.messages("MakerReserved")).toHaveLength(1);
});

test("what waits is bounded per key and in all, and whoever has most makes room for whoever has least", () => {
  const clock = new VirtualClock();
  const waiting = new WaitingRequests(clock);
  const added = (sender: string, from: number, count: number): number =>
    Array.from({ length: count }, (_, i) => waiting.add(sender, request(from + i))).filter(Boolean).length;
  expect(added("a", 0, 1_100)).toBe(1_000);
  for (const sender of ["b", "c", "d", "e"]) expect(added(sender, 0, 1_000)).toBe(1_000);
  expect([added("f", 0, 1), waiting.size]).toEqual([1, 5_000]);
  const [first] = waiting.inOrder();
  expect([first?.sender, waiting.inOrder().at(-1)?.sender]).toEqual(["a", "f"]);
  const names = { type: "Orders" as const, data: Array.from({ length: 21 }, (_, i) => uuid(i)) };
  expect(waiting.add("g", { ...request(1), matchBy: names })).toBe(false);
});

test("a round that breaks off is taken up behind where it ended", () => {
  const waiting = new WaitingRequests(new VirtualClock());
  for (const n of [1, 2, 3]) waiting.add("a", request(n));
  const order = (): string[] => waiting.inOrder().map((w) => w.request.uuid);
  const second = waiting.inOrder()[1];
  if (second) waiting.breakOffAt(second);
  expect([order(), order()]).toEqual([
    [uuid(3), uuid(1), uuid(2)],
    [uuid(1), uuid(2), uuid(3)],
  ]);
});

test("one order serves any number of takers: matches that are settled are not kept", async () => {
  const { world, maker, taker } = await pair();
  maker.coin("AAA").setBalance("100000");
  taker.coin("BBB").setBalance("100000");
  await place(maker, "5000");
  for (let round = 0; round < 4; round++) {
    await Promise.all(Array.from({ length: 100 }, () => take(taker, "1")));
    for (let s = 0; s < 36; s++) await world.clock.advance(1_000);
  }
  expect([maker.swaps.started.length, taker.swaps.started.length]).toEqual([400, 400]);
  const [order] = maker.orders.myOrders().makers;
  expect(order && [order.matches.size < 250, availableVolume(order)]).toEqual([true, decimal("4600")]);
  await maker.restart();
  const [again] = maker.orders.myOrders().makers;
  expect(again && availableVolume(again)).toEqual(decimal("4600"));
});

test.each(["Buy", "Sell"] as const)(
  "a %s request that fits hundreds of orders asks the funds a few times, not for each of them",
  async (action) => {
    const { world, maker, taker } = await pair();
    for (let i = 0; i < 300; i++) {
      const price = decimal(`1.${String(i).padStart(3, "0")}`);
      const placed = await maker.orders.placeMakerOrder({ ...sell("50"), price, cancelPrevious: false });
      expect(placed.ok).toBe(true);
    }
    const coin = maker.coin("AAA");
    let asked = 0;
    const reserve = coin.reserve.bind(coin);
    coin.reserve = (...args) => {
      asked++;
      return reserve(...args);
    };
    reserve([decimal("90")]);
    const [base, rel] = action === "Buy" ? ["AAA", "BBB"] : ["BBB", "AAA"];
    const price = action === "Buy" ? decimal("2") : decimal("0.5");
    await taker.orders.placeTakerOrder({ ...buy("40"), action, base, rel, price });
    await world.clock.advance(500);
    // What is asked for is the same with each order, or a little less.
    expect(asked).toBe(action === "Buy" ? 1 : 20);
  },
);
