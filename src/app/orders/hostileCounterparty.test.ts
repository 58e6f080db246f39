import { expect, test } from "vitest";
import { FakeTradingCoin } from "../../../test/fakes/fakeTradingCoin.ts";
import { keyHex, OrderWorld, type TestNode } from "../../../test/fakes/orderWorld.ts";
import type { MakerReserved, TakerRequest } from "../../core/message/types.ts";
import { decimal, type Rational, rational, toDecimalString } from "../../core/money/rational.ts";
import { availableVolume } from "../../core/order/makerOrder.ts";

const conf = { baseConfs: 1, baseNota: false, relConfs: 1, relNota: false };
const uuid = (n: number): string => `00000000-0000-4000-8000-${n.toString(16).padStart(12, "0")}`;
const aRequest = (over: Partial<TakerRequest> = {}): TakerRequest => ({
  base: "AAA",
  rel: "BBB",
  baseAmount: decimal("1"),
  relAmount: decimal("2"),
  action: "Buy",
  uuid: uuid(1),
  matchBy: { type: "Any" },
  conf,
  swapVersion: 1,
  ...over,
});
async function aMaker(): Promise<{ world: OrderWorld; maker: TestNode; orderUuid: string; available: () => string }> {
  const world = new OrderWorld();
  const maker = await world.node("maker");
  const placed = await maker.orders.placeMakerOrder({
    base: "AAA",
    rel: "BBB",
    price: decimal("2"),
    volume: decimal("10"),
    minVolume: decimal("0.5"),
  });
  if (!placed.ok) throw new Error(placed.error.kind);
  const available = (): string => {
    const order = maker.orders.myOrders().makers[0];
    return order ? toDecimalString(availableVolume(order)) : "gone";
  };
  return { world, maker, orderUuid: placed.value.uuid, available };
}

test.each<[string, Partial<TakerRequest>]>([
  ["nothing", { baseAmount: rational(0n) }],
  ["less than nothing", { baseAmount: rational(-1n), relAmount: rational(-2n) }],
  ["for less than nothing", { relAmount: rational(-2n) }],
  ["for nothing", { relAmount: rational(0n) }],
  ["an amount of a thousand digits", { baseAmount: { n: (1n << 1_500n) + 1n, d: 1n << 1_500n } }],
  ["less than the minimum", { baseAmount: decimal("0.4"), relAmount: decimal("9") }],
  ["more than there is", { baseAmount: decimal("10.00000001"), relAmount: decimal("99") }],
  ["a price a hair too low", { relAmount: { n: 2n * 10n ** 60n - 1n, d: 10n ** 60n } }],
  ["another pair", { rel: "CCC" }],
  ["the coin for itself", { rel: "AAA" }],
  ["other orders", { matchBy: { type: "Orders", data: [uuid(9)] } }],
  ["other makers", { matchBy: { type: "Pubkeys", data: ["ab".repeat(32)] } }],
  ["nobody", { matchBy: { type: "Pubkeys", data: [] } }],
])("a request for %s gets no answer and holds nothing", async (_, over) => {
  const { world, maker, available } = await aMaker();
  await world.node("taker");
  world.send("maker", "taker", { type: "TakerRequest", body: aRequest(over) });
  await world.clock.advance(100);
  expect([world.messages("MakerReserved").length, available(), maker.coin("AAA").openReservations]).toEqual([0, "10", 0]);
});

/** A token that is moved in whole pieces only. */
class WholeCoin extends FakeTradingCoin {
  override readonly decimals: number = 0;
}

test("a request whose payment would be cut to base units far below the price is not answered, one that is paid to the unit is", async () => {
  const { world, maker } = await aMaker();
  await world.node("taker");
  maker.coins.set("BBB", new WholeCoin("BBB"));
  world.send("maker", "taker", { type: "TakerRequest", body: aRequest({ baseAmount: decimal("0.99"), relAmount: decimal("1.98") }) });
  await world.clock.advance(100);
  expect(world.messages("MakerReserved")).toEqual([]);
  world.send("maker", "taker", { type: "TakerRequest", body: aRequest({ uuid: uuid(2) }) });
  await world.clock.advance(100);
  expect(world.messages("MakerReserved")).toHaveLength(1);
});

test("an offer that would be cut to base units far below the price is not taken", async () => {
  const world = new OrderWorld();
  const [taker, maker] = [await world.node("taker"), await world.node("maker")];
  taker.coins.set("BBB", new WholeCoin("BBB"));
  const sell = (price: string) =>
    taker.orders.placeTakerOrder({ action: "Sell", base: "AAA", rel: "BBB", price: decimal(price), volume: decimal("1") });
  for (const price of ["1.9", "2"]) {
    const placed = await sell(price);
    if (!placed.ok) throw new Error(placed.error.kind);
    const body: MakerReserved = {
      ...{ base: "BBB", rel: "AAA", baseAmount: decimal(price), relAmount: decimal("1"), conf, swapVersion: 1 },
      ...{ takerOrderUuid: placed.value.uuid, makerOrderUuid: uuid(9) },
    };
    world.send("taker", maker.name, { type: "MakerReserved", body });
    await world.clock.advance(5_000);
    expect([price, world.messages("TakerConnect").length > 0]).toEqual([price, price === "2"]);
  }
});

test("amounts with both signs negative or not in lowest terms mean what they are worth", async () => {
  const { world, available } = await aMaker();
  await world.node("taker");
  world.send("maker", "taker", {
    type: "TakerRequest",
    body: aRequest({ baseAmount: { n: -10n, d: -10n }, relAmount: { n: 40n, d: 20n } }),
  });
  await world.clock.advance(100);
  expect(world.messages("MakerReserved")).toHaveLength(1);
  expect(available()).toBe("9");
});

test("a thousand requests of a hundred keys hold what there is for 30 s and not a moment longer", async () => {
  const { world, maker, available } = await aMaker();
  const takers = await Promise.all(Array.from({ length: 100 }, (_, i) => world.node(`t${i}`)));
  takers.forEach((taker, i) => {
    for (let k = 0; k < 10; k++)
      world.send("maker", taker.name, { type: "TakerRequest", body: aRequest({ uuid: uuid(1000 + i * 10 + k) }) });
  });
  await world.clock.advance(500);
  expect([world.messages("MakerReserved").length, available()]).toEqual([10, "0"]);
  // The order is sold out by nobody: it must not end.
  expect(maker.orders.myOrders().makers).toHaveLength(1);
  await world.clock.advance(31_000);
  expect([available(), maker.coin("AAA").openReservations]).toEqual(["10", 0]);
  world.send("maker", "t7", { type: "TakerRequest", body: aRequest({ uuid: uuid(5) }) });
  await world.clock.advance(100);
  expect(world.messages("MakerReserved")).toHaveLength(11);
});

test("one key has ten handshakes open at most", async () => {
  const { world } = await aMaker();
  await world.node("taker");
  for (let i = 0; i < 20; i++) {
    world.send("maker", "taker", { type: "TakerRequest", body: aRequest({ uuid: uuid(i), baseAmount: decimal("0.5") }) });
  }
  await world.clock.advance(500);
  expect(world.messages("MakerReserved")).toHaveLength(10);
});

test("the same uuid from two keys is one handshake, and only the first key's", async () => {
  const { world, maker, orderUuid } = await aMaker();
  await world.node("first");
  await world.node("second");
  world.send("maker", "first", { type: "TakerRequest", body: aRequest() });
  world.send("maker", "second", { type: "TakerRequest", body: aRequest() });
  await world.clock.advance(100);
  world.send("maker", "second", { type: "TakerConnect", body: { takerOrderUuid: uuid(1), makerOrderUuid: orderUuid } });
  await world.clock.advance(100);
  expect([world.messages("MakerReserved").length, maker.swaps.started.length]).toEqual([1, 0]);
  for (let i = 0; i < 3; i++)
    world.send("maker", "first", { type: "TakerConnect", body: { takerOrderUuid: uuid(1), makerOrderUuid: orderUuid } });
  await world.clock.advance(100);
  expect(maker.swaps.started).toHaveLength(1);
  // Only the taker itself is told again.
  const told = world.messages("MakerConnected").length;
  world.send("maker", "second", { type: "TakerConnect", body: { takerOrderUuid: uuid(1), makerOrderUuid: orderUuid } });
  await world.clock.advance(100);
  expect(world.messages("MakerConnected")).toHaveLength(told);
});

test("an offer of a maker that is banned before the choice is not taken", async () => {
  const { world, maker } = await aMaker();
  const taker = await world.node("taker");
  const placed = await taker.orders.placeTakerOrder({ action: "Buy", base: "AAA", rel: "BBB", price: decimal("2"), volume: decimal("1") });
  expect(placed.ok).toBe(true);
  await world.clock.advance(1_000);
  expect(world.messages("MakerReserved")).toHaveLength(1);
  taker.banned.add(keyHex(maker));
  await world.clock.advance(5_000);
  expect([world.messages("TakerConnect"), taker.coin("BBB").openReservations]).toEqual([[], 0]);
});

test("a connect without a request, for another order, or after the order was cancelled starts nothing", async () => {
  const { world, maker, orderUuid } = await aMaker();
  await world.node("taker");
  const connect = (takerOrderUuid: string, makerOrderUuid: string): void =>
    world.send("maker", "taker", { type: "TakerConnect", body: { takerOrderUuid, makerOrderUuid } });
  connect(uuid(1), orderUuid);
  world.send("maker", "taker", { type: "TakerRequest", body: aRequest() });
  await world.clock.advance(100);
  connect(uuid(1), uuid(77));
  connect(uuid(2), orderUuid);
  await world.clock.advance(100);
  expect(maker.swaps.started).toEqual([]);
  await maker.orders.placeMakerOrder({ base: "AAA", rel: "BBB", price: decimal("3"), volume: decimal("1") });
  connect(uuid(1), orderUuid);
  await world.clock.advance(100);
  expect([maker.swaps.started, maker.coin("AAA").openReservations]).toEqual([[], 0]);
});

test("messages signed with our own key, whatever its first byte, are never answered", async () => {
  const { world, maker } = await aMaker();
  const mirror = Uint8Array.from(maker.key);
  mirror[0] = 3;
  for (const key of [maker.key, mirror]) maker.orders.onMessage(key, { type: "TakerRequest", body: aRequest() });
  await world.clock.advance(100);
  expect(world.messages("MakerReserved")).toEqual([]);
});

test.each<[string, (r: MakerReserved) => Partial<MakerReserved>]>([
  ["another amount of what we get", () => ({ baseAmount: decimal("0.99999999") })],
  ["more of it than asked", () => ({ baseAmount: decimal("1.00000001") })],
  ["a dearer price by a hair", () => ({ relAmount: { n: 2n * 10n ** 60n + 1n, d: 10n ** 60n } })],
  ["nothing to pay", () => ({ relAmount: rational(0n) })],
  ["less than nothing to pay", () => ({ relAmount: rational(-2n) })],
  ["a thousand digits to pay", () => ({ relAmount: { n: 1n, d: (1n << 1_500n) + 1n } })],
  ["the coins the other way round", (r) => ({ base: r.rel, rel: r.base })],
  ["another coin", () => ({ base: "CCC" })],
  ["protocol infos that do not suit", () => ({ baseProtocolInfo: Uint8Array.of(0x91, 0xa1, 0x78) })],
])("an offer with %s is not taken", async (_, change) => {
  const { world } = await aMaker();
  const taker = await world.node("taker");
  const rogue = await world.node("rogue");
  // Only the rogue's own words arrive.
  world.deliver = (sent) => sent.message.type !== "MakerReserved";
  const placed = await taker.orders.placeTakerOrder({ action: "Buy", base: "AAA", rel: "BBB", price: decimal("2"), volume: decimal("1") });
  if (!placed.ok) throw new Error(placed.error.kind);
  await world.clock.advance(100);
  const [reserved] = world.messages("MakerReserved");
  if (!reserved) throw new Error("no offer");
  world.send("taker", rogue.name, { type: "MakerReserved", body: { ...reserved, ...change(reserved) } });
  await world.clock.advance(5_000);
  expect(world.messages("TakerConnect")).toEqual([]);
  expect(taker.coin("BBB").openReservations).toBe(0);
  // The same offer as it should be is taken.
  world.send("taker", rogue.name, { type: "MakerReserved", body: reserved });
  await world.clock.advance(5_000);
  expect(world.messages("TakerConnect")).toHaveLength(1);
});

test("an offer of more than any chain can lock is not the best one", async () => {
  const { world, orderUuid } = await aMaker();
  const taker = await world.node("taker");
  const rogue = await world.node("rogue");
  const placed = await taker.orders.placeTakerOrder({
    action: "Sell",
    base: "BBB",
    rel: "AAA",
    price: decimal("0.5"),
    volume: decimal("2"),
  });
  if (!placed.ok) throw new Error(placed.error.kind);
  await world.clock.advance(100);
  const [reserved] = world.messages("MakerReserved");
  if (!reserved) throw new Error("no offer");
  const body = { ...reserved, makerOrderUuid: uuid(7), baseAmount: rational(10n ** 40n, 10n ** 8n) };
  world.send("taker", rogue.name, { type: "MakerReserved", body });
  await world.clock.advance(5_000);
  expect(world.messages("TakerConnect").map(({ makerOrderUuid }) => makerOrderUuid)).toEqual([orderUuid]);
});

test("connected before connect starts nothing, and the handshake goes on", async () => {
  const { world, maker, orderUuid } = await aMaker();
  const taker = await world.node("taker");
  const placed = await taker.orders.placeTakerOrder({ action: "Buy", base: "AAA", rel: "BBB", price: decimal("2"), volume: decimal("1") });
  if (!placed.ok) throw new Error(placed.error.kind);
  const pair = { takerOrderUuid: placed.value.uuid, makerOrderUuid: orderUuid };
  world.send("taker", "maker", { type: "MakerConnected", body: pair });
  await world.clock.advance(500);
  world.send("taker", "maker", { type: "MakerConnected", body: pair });
  await world.clock.advance(500);
  expect(taker.swaps.started).toEqual([]);
  await world.clock.advance(4_000);
  expect([taker.swaps.started.length, maker.swaps.started.length]).toEqual([1, 1]);
});

test("a taker with odd fractions leaves the maker's announced volume short, rounded down", async () => {
  const { world, maker, orderUuid } = await aMaker();
  await world.node("taker");
  const odd: Rational = { n: 1n << 900n, d: (1n << 900n) + 1n };
  world.send("maker", "taker", { type: "TakerRequest", body: aRequest({ baseAmount: odd }) });
  await world.clock.advance(100);
  world.send("maker", "taker", { type: "TakerConnect", body: { takerOrderUuid: uuid(1), makerOrderUuid: orderUuid } });
  await world.clock.advance(100);
  expect(maker.swaps.started).toHaveLength(1);
  const [update] = world.messages("MakerOrderUpdated");
  expect(update?.newMaxVolume?.d).toBeLessThanOrEqual(10n ** 100n);
  expect(update?.newMaxVolume && toDecimalString(update.newMaxVolume)).toBe("9");
});

test("what strangers ask for or offer again and again, for nothing, fills no log: some lines, and how many were left out", async () => {
  const { world, maker } = await aMaker();
  const taker = await world.node("taker");
  const other = new Uint8Array([0x91, 0xa1, 0x78]);
  for (let n = 0; n < 3_000; n++) {
    world.send("maker", "taker", { type: "TakerRequest", body: aRequest({ baseProtocolInfo: other, relProtocolInfo: other }) });
    if (n % 500 === 0) await world.clock.advance(100);
  }
  await world.clock.advance(2_000);
  const placed = await taker.orders.placeTakerOrder({
    ...{ action: "Buy", base: "AAA", rel: "BBB", price: decimal("1"), volume: decimal("1") },
  });
  if (!placed.ok) throw new Error(placed.error.kind);
  const offer: MakerReserved = {
    ...{ base: "AAA", rel: "BBB", baseAmount: decimal("1"), relAmount: decimal("2"), takerOrderUuid: placed.value.uuid },
    ...{ makerOrderUuid: uuid(7), conf, swapVersion: 1 },
  };
  for (let n = 0; n < 3_000; n++) world.send("taker", "maker", { type: "MakerReserved", body: offer });
  await world.clock.advance(2_000);
  world.send("maker", "taker", { type: "TakerRequest", body: aRequest({ baseProtocolInfo: other, relProtocolInfo: other }) });
  await world.clock.advance(100);
  const lines = (node: TestNode, event: string) => node.log.lines.filter((line) => line.event === event);
  const told = [lines(maker, "request_not_served"), lines(taker, "offer_refused")];
  for (const of of told) {
    expect(of.length).toBeGreaterThan(100);
    expect(of.length).toBeLessThan(400);
  }
  const leftOut = told[0]?.reduce((sum, { fields }) => sum + Number(fields.left_out ?? 0), 0) ?? 0;
  expect(leftOut + (told[0]?.length ?? 0)).toBe(3_001);
});

test.each(["AAA", "AAA-segwit"])(
  "a thousand open handshakes of fresh keys would be all there can be: half of the places stay for keys with history in %s",
  async (base) => {
    const world = new OrderWorld();
    const friend = await world.node("friend");
    const maker = await world.node("maker", { policy: { isKnown: (sender, coin) => sender === keyHex(friend) && coin === base } });
    maker.coins.set("AAA-segwit", new FakeTradingCoin("AAA-segwit", { orderbookTicker: "AAA" }));
    const order = { base, rel: "BBB", price: decimal("2"), volume: decimal("10"), minVolume: decimal("0.0002") };
    for (let n = 0; n < 2; n++) await maker.orders.placeMakerOrder({ ...order, cancelPrevious: false });
    const small = { baseAmount: decimal("0.001"), relAmount: decimal("0.002") };
    for (let key = 0; key < 110; key++) {
      await world.node(`t${key}`);
      for (let n = 0; n < 10; n++)
        world.send("maker", `t${key}`, { type: "TakerRequest", body: aRequest({ ...small, uuid: uuid(1_000 + 10 * key + n) }) });
    }
    await world.clock.advance(500);
    expect(maker.coin(base).openReservations).toBe(500);
    world.send("maker", "friend", { type: "TakerRequest", body: aRequest({ uuid: uuid(7) }) });
    await world.clock.advance(100);
    expect(world.messages("MakerReserved").some(({ takerOrderUuid }) => takerOrderUuid === uuid(7))).toBe(true);
  },
);

test("a maker that offers the most and never connects gets one order: the next ones go to others, and to it where there are none", async () => {
  const world = new OrderWorld();
  const silent = new Set<string>();
  const taker = await world.node("taker", {
    policy: { onNeverConnected: (_, sender) => void silent.add(sender), isSuspect: (sender) => silent.has(sender) },
  });
  const cheap = await world.node("cheap");
  const dear = await world.node("dear");
  const offer = { base: "AAA", rel: "BBB", volume: decimal("10"), minVolume: decimal("0.5") };
  await cheap.orders.placeMakerOrder({ ...offer, price: decimal("1") });
  await dear.orders.placeMakerOrder({ ...offer, price: decimal("2") });
  world.deliver = ({ message }) => message.type !== "TakerConnect" || message.body.makerOrderUuid !== cheapOrder;
  const cheapOrder = cheap.orders.myOrders().makers[0]?.uuid;
  const buy = async (): Promise<void> => {
    const placed = await taker.orders.placeTakerOrder({
      ...{ action: "Buy", base: "AAA", rel: "BBB", price: decimal("2"), volume: decimal("1") },
    });
    if (!placed.ok) throw new Error(placed.error.kind);
    await world.clock.advance(90_000);
  };
  await buy();
  expect([...silent]).toEqual([keyHex(cheap)]);
  expect(taker.swaps.started).toHaveLength(0);
  await buy();
  expect(dear.swaps.started).toHaveLength(1);
  expect(taker.swaps.started).toHaveLength(1);
  await dear.orders.cancelAllOrders({ type: "All" });
  world.deliver = () => true;
  await buy();
  expect(cheap.swaps.started).toHaveLength(1);
});

test("fresh keys that offer the most and never connect get two orders: the next ones go to makers with history, dearer as they are", async () => {
  const world = new OrderWorld();
  const taker = await world.node("taker", { policy: { isKnown: (sender) => sender === keyHex(friend) } });
  const friend = await world.node("friend");
  const offer = { base: "AAA", rel: "BBB", volume: decimal("10"), minVolume: decimal("0.5") };
  await friend.orders.placeMakerOrder({ ...offer, price: decimal("2") });
  world.deliver = ({ message, from }) => message.type !== "MakerConnected" || from === "friend";
  const buy = async (): Promise<void> => {
    const placed = await taker.orders.placeTakerOrder({
      ...{ action: "Buy", base: "AAA", rel: "BBB", price: decimal("2"), volume: decimal("1") },
    });
    if (!placed.ok) throw new Error(placed.error.kind);
    await world.clock.advance(90_000);
  };
  const started: number[] = [];
  for (let n = 0; n < 4; n++) {
    const fresh = await world.node(`fresh${n}`);
    await fresh.orders.placeMakerOrder({ ...offer, price: decimal("1.9") });
    await buy();
    await fresh.orders.cancelAllOrders({ type: "All" });
    started.push(taker.swaps.started.length);
  }
  expect(started).toEqual([0, 0, 1, 2]);
  await world.clock.advance(600_000);
  const fresh = await world.node("honest");
  await fresh.orders.placeMakerOrder({ ...offer, price: decimal("1.9") });
  world.deliver = () => true;
  await buy();
  expect(fresh.swaps.started).toHaveLength(1);
});
