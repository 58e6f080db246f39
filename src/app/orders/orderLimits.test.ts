import { expect, test } from "vitest";
import { FakeTradingCoin } from "../../../test/fakes/fakeTradingCoin.ts";
import { available, buy, pair, place, sell, take } from "../../../test/fakes/orderSteps.ts";
import { keyHex, OrderWorld, type TestNode } from "../../../test/fakes/orderWorld.ts";
import { SilentLog } from "../../../test/fakes/silentLog.ts";
import { VirtualClock } from "../../adapters/virtualClock/virtualClock.ts";
import type { MakerReserved, TakerRequest } from "../../core/message/types.ts";
import { decimal, type Rational, rational, toDecimalString } from "../../core/money/rational.ts";
import { checkTakerFunds } from "./fundsChecks.ts";
import { FundsHolds } from "./fundsHolds.ts";
import { Mailbox } from "./mailbox.ts";
import { MAX_OWN_ORDERS } from "./orderLedger.ts";
import type { TradeRules } from "./ordersDeps.ts";
import { WaitingRequests } from "./waitingRequests.ts";

const uuidOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
const request = (n: number): TakerRequest => ({
  base: "AAA",
  rel: "BBB",
  baseAmount: decimal("1"),
  relAmount: decimal("2"),
  action: "Buy",
  uuid: uuidOf(n),
  matchBy: { type: "Any" },
  conf: { baseConfs: 1, baseNota: false, relConfs: 1, relNota: false },
  swapVersion: 1,
});

test("the ten thousandth order is placed, the next is refused whichever kind it is, and one that takes another's place is not", async () => {
  const world = new OrderWorld();
  const node = await world.node("a");
  await place(node, sell({ volume: decimal("1") }));
  const many = Array.from({ length: MAX_OWN_ORDERS - 1 }, () => node.orders.placeTakerOrder(buy("0.01", { timeoutSec: 600 })));
  expect((await Promise.all(many)).every((placed) => placed.ok)).toBe(true);
  const refused = { ok: false, error: { kind: "TooManyOrders" } };
  expect(await node.orders.placeTakerOrder(buy("0.01"))).toMatchObject(refused);
  expect(await node.orders.placeMakerOrder(sell({ volume: decimal("1"), cancelPrevious: false }))).toMatchObject(refused);
  expect((await node.orders.placeMakerOrder(sell({ volume: decimal("1") }))).ok).toBe(true);
});

test("messages beyond what may wait are dropped and said so; calls of the own user still queue and run", async () => {
  const log = new SilentLog();
  const mailbox = new Mailbox(log);
  let open: () => void = () => undefined;
  const door = new Promise<void>((resolve) => {
    open = resolve;
  });
  const done: number[] = [];
  void mailbox.call(() => door);
  const posted = Array.from({ length: 10_005 }, (_, i) => mailbox.post("p", () => void done.push(i)));
  expect([posted.filter(Boolean).length, posted.lastIndexOf(true)]).toEqual([9_999, 9_998]);
  const last = mailbox.call(() => done.length);
  open();
  expect(await last).toBe(9_999);
  expect(mailbox.post("again", () => void done.push(-1))).toBe(true);
  mailbox.post("bad", () => Promise.reject(new Error("no")));
  await mailbox.close();
  expect([done.at(-1), log.lines.map((l) => l.event)]).toEqual([-1, ["order_task_failed"]]);
  expect(mailbox.post("late", () => void done.push(-2))).toBe(false);
});

test("when all places are taken and nobody has more than one more, nobody makes room", () => {
  const waiting = new WaitingRequests(new VirtualClock());
  for (let n = 0; n < 5_000; n++) expect(waiting.add(`s${n}`, request(n))).toBe(true);
  expect([waiting.add("new", request(5_000)), waiting.size]).toEqual([false, 5_000]);
  const [first] = waiting.inOrder();
  if (!first) throw new Error("nobody waits");
  // What is dropped twice gives one place.
  waiting.drop(first);
  waiting.drop(first);
  expect([waiting.add("new", request(5_000)), waiting.add("newer", request(5_001)), waiting.size]).toEqual([true, false, 5_000]);
});

test("a request that is dropped twice was one request of its sender", () => {
  const waiting = new WaitingRequests(new VirtualClock());
  for (let n = 0; n < 1_000; n++) waiting.add("a", request(n));
  const [first] = waiting.inOrder();
  if (!first) throw new Error("nobody waits");
  waiting.drop(first);
  waiting.drop(first);
  expect([waiting.add("a", request(1_001)), waiting.add("a", request(1_002))]).toEqual([true, false]);
});

test("a request's funds are held once; each hold that ends is told, and the sender's other holds still count", () => {
  const ended: string[] = [];
  const holds = new FundsHolds((ticker) => ended.push(ticker));
  const coin = new FakeTradingCoin("AAA");
  const wanted = { coin, other: new FakeTradingCoin("BBB"), amounts: [rational(1n)] };
  for (const uuid of ["t1", "t2"]) expect(holds.take(uuid, wanted, "peer").ok).toBe(true);
  expect(() => holds.take("t1", wanted, "peer")).toThrow("held for this request already");
  expect([coin.openReservations, holds.countOf("peer"), holds.shareOf("t1")]).toEqual([2, 2, null]);
  holds.handedOver("t1");
  holds.handedOver("t1");
  expect([ended, coin.openReservations, holds.countOf("peer")]).toEqual([["AAA"], 2, 1]);
  holds.release("t2");
  holds.release("t2");
  expect([ended, coin.openReservations, holds.countOf("peer"), holds.openOf(coin, () => false).reservations]).toEqual([
    ["AAA", "AAA"],
    1,
    0,
    [],
  ]);
});

test("a hundred and one offers: the dearest is forgotten, however late the cheapest comes", async () => {
  const { world, taker } = await pair();
  const order = await take(taker, buy("1"));
  await world.clock.advance(10);
  const said = world.messages("TakerRequest")[0];
  if (!said) throw new Error("no request");
  const offer = (n: number, rel: Rational): MakerReserved => ({
    base: "AAA",
    rel: "BBB",
    baseAmount: said.baseAmount,
    relAmount: rel,
    takerOrderUuid: order,
    makerOrderUuid: uuidOf(n),
    conf: said.conf,
    ...(said.baseProtocolInfo ? { baseProtocolInfo: said.baseProtocolInfo } : {}),
    ...(said.relProtocolInfo ? { relProtocolInfo: said.relProtocolInfo } : {}),
    swapVersion: 1,
  });
  for (let n = 0; n < 150; n++) world.send("taker", "maker", { type: "MakerReserved", body: offer(n, decimal("2")) });
  world.send("taker", "maker", { type: "MakerReserved", body: offer(999, decimal("1.5")) });
  world.send("taker", "maker", { type: "MakerReserved", body: offer(998, decimal("1.9")) });
  await world.clock.advance(3_100);
  expect(world.messages("TakerConnect").map((c) => c.makerOrderUuid)).toEqual([uuidOf(999)]);
});

test("an offer is left when the funds are gone by then, and another is taken when they are back", async () => {
  const { world, maker, taker } = await pair();
  await place(maker);
  const order = await take(taker, buy("4", { timeoutSec: 600 }));
  await world.clock.advance(100);
  taker.coin("BBB").setBalance("1");
  await world.clock.advance(4_000);
  expect(world.messages("TakerConnect")).toEqual([]);
  expect(taker.log.lines.filter((l) => l.event === "offer_without_funds")).toHaveLength(1);
  expect(taker.orders.myOrders().takers.map((o) => o.match)).toEqual([null]);
  taker.coin("BBB").setBalance("100");
  await world.clock.advance(60_000);
  expect([maker.swaps.started, taker.swaps.started].map((s) => s.map((m) => m.uuid))).toEqual([[order], [order]]);
});

test.each(["AAA", "BBB"])("an offer is left while %s is not active, and the order lives on", async (ticker) => {
  const { world, maker, taker } = await pair();
  await place(maker);
  await take(taker, buy("4", { timeoutSec: 600 }));
  await world.clock.advance(100);
  const coin = taker.coin(ticker);
  taker.coins.delete(ticker);
  await world.clock.advance(4_000);
  expect(world.messages("TakerConnect")).toEqual([]);
  expect(taker.orders.myOrders().takers).toHaveLength(1);
  expect(taker.log.lines.filter((l) => l.event === "order_task_failed")).toEqual([]);
  taker.coins.set(ticker, coin);
  await world.clock.advance(60_000);
  expect(taker.swaps.started).toHaveLength(1);
});

test.each(["AAA", "BBB"])(
  "a connect that comes when %s is not active any more starts nothing, and volume and funds are whole",
  async (ticker) => {
    const { world, maker, taker } = await pair();
    const order = await place(maker);
    world.deliver = (sent) => sent.message.type !== "TakerConnect";
    await take(taker, buy("4", { timeoutSec: 600 }));
    await world.clock.advance(3_500);
    expect(available(maker, order)).toBe("6");
    const held = maker.coin("AAA");
    maker.coins.delete(ticker);
    world.deliver = () => true;
    await world.clock.advance(6_000);
    expect([maker.swaps.started, taker.swaps.started, held.openReservations]).toEqual([[], [], 0]);
    expect(available(maker, order)).toBe("10");
  },
);

test("connected is said again to a taker that goes on asking, a bounded number of times", async () => {
  const { world, maker, taker } = await pair();
  await place(maker);
  world.deliver = (sent) => sent.message.type !== "MakerConnected";
  await take(taker, buy("4", { timeoutSec: 600 }));
  await world.clock.advance(4_000);
  const [connect] = world.messages("TakerConnect");
  if (!connect) throw new Error("no connect");
  for (let i = 0; i < 200; i++) world.send("maker", "taker", { type: "TakerConnect", body: connect });
  await world.clock.advance(100);
  const said = world.messages("MakerConnected").length;
  expect([said > 5, said < 50, maker.swaps.started.length]).toEqual([true, true, 1]);
});

test("a taker's own orders are found while they live, with what they are, and a maker order that was not saved leaves none behind", async () => {
  const { world, taker } = await pair();
  const [order, silent] = [await take(taker, buy("1")), await take(taker, buy("1", { saveInHistory: false }))];
  expect(await taker.orders.orderStatus(order)).toMatchObject({ ok: true, value: { own: { kind: "Taker" }, cancellationReason: null } });
  await world.clock.advance(40_000);
  // Both became maker orders meanwhile.
  for (const uuid of [order, silent]) {
    expect(await taker.orders.orderStatus(uuid)).toMatchObject({ ok: true, value: { own: { kind: "Maker" }, cancellationReason: null } });
    expect((await taker.orders.cancelOrder(uuid)).ok).toBe(true);
  }
  expect(await taker.orders.orderStatus(order)).toMatchObject({ ok: true, value: { cancellationReason: "Cancelled" } });
  expect(await taker.orders.orderStatus(silent)).toMatchObject({ ok: false, error: { kind: "OrderNotFound" } });
});

test("an order whose coin's funds cannot be asked for at the moment stays as it is, and is cut when they can be", async () => {
  const { world, maker } = await pair();
  const order = await place(maker);
  maker.coin("AAA").trouble = { kind: "Transport", coin: "AAA", message: "the daemon is away" };
  maker.coin("AAA").setBalance("5");
  await world.clock.advance(40_000);
  expect(available(maker, order)).toBe("10");
  maker.coin("AAA").trouble = null;
  await world.clock.advance(1_000);
  expect(available(maker, order)).toBe("4.9999");
});

test("a taker order whose time runs out between the stored swap and its own end is Fulfilled, not TimedOut", async () => {
  const { world, maker, taker } = await pair();
  await place(maker);
  const order = await take(taker, buy("4"));
  await world.clock.advance(3_000);
  // The end of the order is refused by a full disk, after the swap was stored.
  const { start } = taker.swaps;
  taker.swaps.start = async (match) => {
    await start.call(taker.swaps, match);
    taker.disk.fail = true;
  };
  await world.clock.advance(100);
  expect([taker.swaps.started.length, taker.orders.myOrders().takers.length]).toEqual([1, 1]);
  world.deliver = () => false;
  await world.clock.advance(70_000);
  expect(taker.orders.myOrders().takers).toEqual([]);
  expect(await taker.orders.orderStatus(order)).toMatchObject({ value: { cancellationReason: "Fulfilled" } });
  expect(taker.coin("BBB").openReservations).toBe(1);
});

test("an order loop that fails in the same way is told of once a minute, and when it works again", async () => {
  const { world, maker } = await pair();
  await place(maker, sell({ timeoutMinutes: 1 }));
  const told = (): number => maker.log.lines.filter((l) => l.event === "order_loop_failed").length;
  const full = setDiskFull(world, maker);
  await world.clock.advance(100_000);
  expect(told()).toBe(1);
  await world.clock.advance(60_000);
  expect(told()).toBe(2);
  full();
  await world.clock.advance(2_000);
  expect(maker.log.lines.some((l) => l.event === "order_loop_works_again")).toBe(true);
  expect(maker.orders.myOrders().makers).toEqual([]);
});
test("a full disk that keeps an overdue order from ending does not hold funds for whoever never connects, nor keep requests from being said", async () => {
  const { world, maker, taker } = await pair();
  await place(maker, sell());
  await take(maker, buy("1", { timeoutSec: 3, orderType: "FillOrKill" }));
  world.deliver = ({ message }) => message.type !== "TakerConnect";
  await take(taker, buy("4"));
  await world.clock.advance(2_000);
  expect(maker.coin("AAA").openReservations).toBe(1);
  const waiting = await take(maker, buy("2", { timeoutSec: 600 }));
  const full = setDiskFull(world, maker);
  await world.clock.advance(4_000);
  const said = (): number => world.messages("TakerRequest").filter(({ uuid }) => uuid === waiting).length;
  const before = said();
  await world.clock.advance(60_000);
  expect(maker.coin("AAA").openReservations).toBe(0);
  expect(said()).toBeGreaterThan(before);
  full();
});

/** Every write is refused until the returned function is called. */
function setDiskFull(world: OrderWorld, node: TestNode): () => void {
  let isFull = true;
  const again = (): void => {
    if (!isFull) return;
    node.disk.fail = true;
    world.clock.after(1, again);
  };
  again();
  return () => {
    isFull = false;
    node.disk.fail = false;
  };
}

test("the funds of a taker order: what the fee of the dex fee says comes first, and where there is no dex fee none is asked for", () => {
  const coin = new FakeTradingCoin("AAA", { balance: "10" });
  const asked: string[] = [];
  const { dexFeeTxFee } = coin;
  coin.dexFeeTxFee = (amount, stage) => {
    asked.push(toDecimalString(amount));
    return dexFeeTxFee.call(coin, amount, stage);
  };
  const rules = (fee: string): TradeRules => ({ dexFee: () => decimal(fee) }) as unknown as TradeRules;
  const sides = { coin, other: new FakeTradingCoin("BBB") };
  expect(checkTakerFunds(rules("0"), sides, decimal("9")).ok).toBe(true);
  expect(asked).toEqual([]);
  expect(checkTakerFunds(rules("0.5"), sides, decimal("9")).ok).toBe(true);
  expect(checkTakerFunds(rules("20"), sides, decimal("9"))).toMatchObject({ ok: false, error: { required: decimal("20.0001") } });
});

test("messages to a node that is closing are dropped and said so", async () => {
  const { world, maker, taker } = await pair();
  await place(maker);
  maker.orders.start();
  await maker.orders.close();
  world.send("maker", "taker", { type: "TakerRequest", body: request(1) });
  expect(maker.log.lines.filter((l) => l.event === "order_message_dropped")).toHaveLength(1);
  await world.clock.advance(5_000);
  expect(world.messages("MakerReserved")).toEqual([]);
  expect(keyHex(taker)).not.toBe(keyHex(maker));
});
