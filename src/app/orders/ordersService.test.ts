import { expect, test, vi } from "vitest";
import { FakeTradingCoin } from "../../../test/fakes/fakeTradingCoin.ts";
import { available, buy, pair, place, sell, take } from "../../../test/fakes/orderSteps.ts";
import { keyHex, NEVER_FINAL, OrderWorld, type TestNode } from "../../../test/fakes/orderWorld.ts";
import type { TakerRequest } from "../../core/message/types.ts";
import { decimal, type Rational, toDecimalString } from "../../core/money/rational.ts";
import type { TakerOrderInput } from "./orderInputs.ts";

const TICK = 800;

const makerOrder = (node: TestNode, uuid: string) => node.orders.myOrders().makers.find((o) => o.uuid === uuid);
const takerUuids = (node: TestNode): readonly string[] => node.orders.myOrders().takers.map((o) => o.uuid);
const reason = async (node: TestNode, uuid: string): Promise<string | null | undefined> => {
  const status = await node.orders.orderStatus(uuid);
  return status.ok ? status.value.cancellationReason : undefined;
};
const texts = (...amounts: readonly (Rational | undefined)[]): readonly (string | undefined)[] =>
  amounts.map((a) => a && toDecimalString(a));

test("a buy: request, reserved, connect after 3 s, connected; both sides start the same swap and the book hears the rest", async () => {
  const { world, maker, taker } = await pair();
  const makerUuid = await place(maker, sell());
  const uuid = await take(taker, buy("3", { price: decimal("2.5") }));
  await world.clock.advance(2_900);
  expect(world.sent.map((s) => `${s.from} ${s.message.type}`)).toEqual([
    "maker MakerOrderCreated",
    "taker TakerRequest",
    "maker MakerReserved",
  ]);
  await world.clock.advance(200);
  expect(world.sent.slice(3).map((s) => `${s.from} ${s.message.type}`)).toEqual([
    "taker TakerConnect",
    "maker MakerConnected",
    "maker MakerOrderUpdated",
  ]);
  expect(taker.swaps.expected).toEqual([uuid]);
  const expected = {
    uuid,
    makerCoin: "AAA",
    takerCoin: "BBB",
    makerAmount: decimal("3"),
    takerAmount: decimal("6"),
    makerConfs: 1,
    makerNota: false,
    takerConfs: 1,
    takerNota: false,
    lockDurationSec: 7_800,
  };
  expect(maker.swaps.started).toMatchObject([{ ...expected, role: "maker", myOrderUuid: makerUuid, counterparty: taker.key }]);
  expect(taker.swaps.started).toMatchObject([{ ...expected, role: "taker", myOrderUuid: uuid, counterparty: maker.key }]);
  expect(world.messages("MakerOrderUpdated")).toMatchObject([
    { uuid: makerUuid, newMaxVolume: decimal("7"), newPrice: null, newMinVolume: null, conf: null },
  ]);
  expect(maker.orders.ownOrders.orders()).toMatchObject([{ uuid: makerUuid, maxVolume: decimal("7"), createdAt: 1_700_000_000 }]);
  expect(takerUuids(taker)).toEqual([]);
  expect(await reason(taker, uuid)).toBe("Fulfilled");
  // the swaps have the funds now
  expect([maker.coin("AAA").openReservations, taker.coin("BBB").openReservations]).toEqual([1, 1]);
});

test("a sell is matched with the maker's order of the reverse pair", async () => {
  const { world, maker, taker } = await pair();
  await place(maker, sell());
  await take(taker, { action: "Sell", base: "BBB", rel: "AAA", price: decimal("0.4"), volume: decimal("4") });
  await world.clock.advance(4_000);
  expect(taker.swaps.started).toMatchObject([
    { role: "taker", makerCoin: "AAA", takerCoin: "BBB", makerAmount: decimal("2"), takerAmount: decimal("4") },
  ]);
  expect(maker.swaps.started[0]).toMatchObject({ makerAmount: decimal("2"), takerAmount: decimal("4") });
});

test("the window closes at once when the only named order, or every maker of the book, has answered", async () => {
  const { world, maker, taker } = await pair();
  const makerUuid = await place(maker, sell());
  await take(taker, buy("1", { matchBy: { type: "Orders", data: [makerUuid] } }));
  await world.clock.advance(100);
  expect(taker.swaps.started).toHaveLength(1);
  taker.book = { fittingMakers: () => [keyHex(maker)] };
  await take(taker, buy("1"));
  await world.clock.advance(100);
  expect(taker.swaps.started).toHaveLength(2);
});

test("of several makers the cheapest is taken, and the other gets its funds back after 30 s", async () => {
  const { world, maker, taker } = await pair();
  const dear = await world.node("dear");
  await place(dear, sell({ price: decimal("2.2") }));
  await place(maker, sell());
  await take(taker, buy("1", { price: decimal("3") }));
  await world.clock.advance(4_000);
  expect([maker.swaps.started.length, dear.swaps.started.length]).toEqual([1, 0]);
  expect(dear.coin("AAA").openReservations).toBe(1);
  await world.clock.advance(30_000);
  expect(dear.coin("AAA").openReservations).toBe(0);
  expect(dear.orders.myOrders().makers[0]?.matches.size).toBe(0);
});

test("two takers for one order: both are served in parallel when it is large enough", async () => {
  const { world, maker, taker } = await pair();
  const other = await world.node("other");
  const uuid = await place(maker, sell());
  await take(taker, buy("6"));
  await take(other, buy("4"));
  await world.clock.advance(4_000);
  expect(maker.swaps.started).toHaveLength(2);
  await world.clock.advance(TICK);
  expect(available(maker, uuid)).toBe("gone");
  expect(await reason(maker, uuid)).toBe("Fulfilled");
});

test("two takers for one order: the second gets no answer when the rest is too small, and exactly one swap starts", async () => {
  const { world, maker, taker } = await pair();
  const other = await world.node("other");
  const uuid = await place(maker, sell());
  await take(taker, buy("6"));
  const unserved = await take(other, buy("6"));
  await world.clock.advance(4_000);
  expect(world.messages("MakerReserved")).toHaveLength(1);
  expect(maker.swaps.started).toHaveLength(1);
  expect(available(maker, uuid)).toBe("4");
  expect(takerUuids(other)).toEqual([unserved]);
});

test("two orders on one balance: what a handshake holds is not offered twice", async () => {
  const { world, maker, taker } = await pair();
  const other = await world.node("other");
  maker.coin("AAA").setBalance("10");
  await place(maker, sell({ volume: decimal("9") }));
  await place(maker, sell({ volume: decimal("9"), cancelPrevious: false }));
  await take(taker, buy("8"));
  await take(other, buy("8"));
  await world.clock.advance(2_000);
  expect(world.messages("MakerReserved")).toHaveLength(1);
});

test("a swap's funds shrink the other orders of the coin, or end them", async () => {
  const { world, maker, taker } = await pair();
  maker.coin("AAA").setBalance("10.001");
  await place(maker, sell({ volume: decimal("10") }));
  const shrunk = await place(maker, sell({ volume: decimal("9"), price: decimal("5"), cancelPrevious: false }));
  const ended = await place(maker, sell({ volume: decimal("9"), minVolume: decimal("5"), price: decimal("6"), cancelPrevious: false }));
  await take(taker, buy("8"));
  await world.clock.advance(2_000);
  // while the handshake is open they stay: a taker who never connects must not cut them for good
  expect([available(maker, shrunk), available(maker, ended)]).toEqual(["9", "9"]);
  await world.clock.advance(3_000);
  expect(available(maker, shrunk)).toBe("2.0008");
  expect(await reason(maker, ended)).toBe("InsufficientBalance");
  expect(world.messages("MakerOrderCancelled")).toMatchObject([{ uuid: ended }]);
  expect(maker.orders.ownOrders.orders().map((o) => texts(o.maxVolume)[0])).toEqual(["2", "2.0008"]);
});

test("a spent balance shrinks and then ends an order; it never grows back", async () => {
  const { world, maker } = await pair();
  const uuid = await place(maker, sell({ minVolume: decimal("1") }));
  maker.coin("AAA").setBalance("5");
  await world.clock.advance(TICK);
  expect(available(maker, uuid)).toBe("4.9999");
  maker.coin("AAA").setBalance("50");
  await world.clock.advance(TICK);
  expect(available(maker, uuid)).toBe("4.9999");
  maker.coin("AAA").trouble = { kind: "Transport", coin: "AAA", message: "down" };
  maker.coin("AAA").setBalance("0");
  await world.clock.advance(60_000);
  expect(available(maker, uuid)).toBe("4.9999");
  maker.coin("AAA").trouble = null;
  await world.clock.advance(TICK);
  expect(await reason(maker, uuid)).toBe("InsufficientBalance");
});

test("a taker that never connects frees volume and funds after 30 s", async () => {
  const { world, maker, taker } = await pair();
  const uuid = await place(maker, sell());
  world.deliver = (sent) => sent.message.type !== "TakerConnect";
  await take(taker, buy("6", { orderType: "FillOrKill" }));
  await world.clock.advance(4_000);
  expect([available(maker, uuid), maker.coin("AAA").openReservations]).toEqual(["4", 1]);
  await world.clock.advance(28_000);
  expect([available(maker, uuid), maker.coin("AAA").openReservations]).toEqual(["10", 0]);
  expect(taker.coin("BBB").openReservations).toBe(0);
  expect(maker.swaps.started).toEqual([]);
});

test("a lost connect is said again, and the swap starts", async () => {
  const { world, maker, taker } = await pair();
  await place(maker, sell());
  let lost = 0;
  world.deliver = (sent) => sent.message.type !== "TakerConnect" || ++lost > 2;
  await take(taker, buy("6"));
  await world.clock.advance(12_000);
  expect([maker.swaps.started.length, taker.swaps.started.length]).toEqual([1, 1]);
});

test("a lost connected is said again when the taker asks again; the maker's swap starts once", async () => {
  const { world, maker, taker } = await pair();
  await place(maker, sell());
  let said = 0;
  world.deliver = (sent, to) => !(sent.message.type === "MakerConnected" && to === "taker") || ++said > 1;
  await take(taker, buy("6"));
  await world.clock.advance(12_000);
  expect([maker.swaps.started.length, taker.swaps.started.length]).toEqual([1, 1]);
});

test("the taker that buys an order out hears a lost connected again, though the order is over", async () => {
  const { world, maker, taker } = await pair();
  const uuid = await place(maker, sell());
  let said = 0;
  world.deliver = (sent, to) => !(sent.message.type === "MakerConnected" && to === "taker") || ++said > 1;
  await take(taker, buy("10"));
  await world.clock.advance(12_000);
  expect(await reason(maker, uuid)).toBe("Fulfilled");
  expect([maker.swaps.started.length, taker.swaps.started.length]).toEqual([1, 1]);
});

test("the same when the maker's process died right after it had stored the swap", async () => {
  const { world, maker, taker } = await pair();
  const uuid = await place(maker, sell());
  world.deliver = (sent) => sent.message.type !== "MakerConnected";
  await take(taker, buy("10"));
  await world.clock.advance(3_050);
  expect([maker.swaps.started.length, taker.swaps.started.length]).toEqual([1, 0]);
  await maker.restart();
  world.deliver = () => true;
  await world.clock.advance(10_000);
  expect(await reason(maker, uuid)).toBe("Fulfilled");
  expect([maker.swaps.started.length, taker.swaps.started.length]).toEqual([1, 1]);
});

test("connected never comes: the order ends TimedOut, is not converted, tries nobody else, and frees its funds", async () => {
  const { world, maker, taker } = await pair();
  const second = await world.node("second");
  await place(maker, sell());
  await place(second, sell({ price: decimal("2") }));
  world.deliver = (sent) => sent.message.type !== "MakerConnected";
  const uuid = await take(taker, buy("6"));
  await world.clock.advance(32_000);
  expect(await reason(taker, uuid)).toBe("TimedOut");
  expect(new Set(world.messages("TakerConnect").map((c) => c.makerOrderUuid)).size).toBe(1);
  expect(taker.coin("BBB").openReservations).toBe(0);
  expect(taker.orders.myOrders().makers).toEqual([]);
});

test("FillOrKill without an offer ends TimedOut", async () => {
  const { world, taker } = await pair();
  const uuid = await take(taker, buy("1", { orderType: "FillOrKill" }));
  await world.clock.advance(30_000);
  expect(takerUuids(taker)).toEqual([uuid]);
  await world.clock.advance(2 * TICK);
  expect(await reason(taker, uuid)).toBe("TimedOut");
  expect(taker.coin("BBB").openReservations).toBe(0);
});

test("GoodTillCancelled without an offer becomes a maker order under the same uuid, is announced and can be matched", async () => {
  const { world, maker, taker } = await pair();
  const uuid = await take(taker, buy("3"));
  await world.clock.advance(32_000);
  expect(takerUuids(taker)).toEqual([]);
  expect(makerOrder(taker, uuid)).toMatchObject({ base: "BBB", rel: "AAA", price: decimal("0.5"), maxBaseVol: decimal("6") });
  expect(world.messages("MakerOrderCreated")).toMatchObject([{ uuid, base: "BBB", rel: "AAA", maxVolume: decimal("6") }]);
  expect(taker.files.files.has(`MAKER/${uuid}`)).toBe(true);
  expect(taker.files.files.has(`TAKER/${uuid}`)).toBe(false);
  const rows = await taker.disk.db.read("SELECT type, was_taker, status, initial_action, base FROM my_orders");
  expect(rows).toEqual([{ type: "Maker", was_taker: 1, status: "ToMaker", initial_action: "Buy", base: "AAA" }]);
  await take(maker, { action: "Sell", base: "AAA", rel: "BBB", price: decimal("2"), volume: decimal("3") });
  await world.clock.advance(4_000);
  expect(taker.swaps.started).toMatchObject([{ role: "maker", makerCoin: "BBB", makerAmount: decimal("6"), takerAmount: decimal("3") }]);
});

test("a converted order the balance does not cover is cut before it is announced", async () => {
  const { world, taker } = await pair();
  const uuid = await take(taker, buy("3"));
  taker.coin("BBB").setBalance("2.0001");
  await world.clock.advance(32_000);
  expect(available(taker, uuid)).toBe("2");
  expect(world.messages("MakerOrderCreated")).toMatchObject([{ uuid, maxVolume: decimal("2") }]);
});

test("a request waits for the first relay, and is never sent when the order ended before", async () => {
  const { world, maker, taker } = await pair();
  await place(maker, sell());
  world.online = false;
  const cancelled = await take(taker, buy("1"));
  await take(taker, buy("2"));
  await world.clock.advance(2_000);
  expect(world.messages("TakerRequest")).toEqual([]);
  await taker.orders.cancelOrder(cancelled);
  world.goOnline();
  await world.clock.advance(4_000);
  expect(world.messages("TakerRequest").map((r) => toDecimalString(r.baseAmount))).toEqual(["2"]);
  expect(maker.swaps.started).toHaveLength(1);
});

test("setprice with max keeps 0.001 or the fee back, whichever is more", async () => {
  const { maker } = await pair();
  const uuid = await place(maker, sell({ volume: "max" }));
  expect(available(maker, uuid)).toBe("99.999");
  const poor = await maker.orders.placeMakerOrder(sell({ volume: "max", base: "BBB", rel: "AAA" }));
  expect(poor.ok).toBe(true);
  maker.coin("AAA").setBalance("0.001");
  expect(await maker.orders.placeMakerOrder(sell({ volume: "max" }))).toMatchObject({
    ok: false,
    error: { kind: "NotSufficientBalance", available: decimal("0.001"), required: decimal("0.00101") },
  });
});

test("cancel_previous ends orders of exactly the pair, in the same write as the new one; false keeps them", async () => {
  const { world, maker } = await pair();
  const first = await place(maker, sell());
  const reverse = await place(maker, sell({ base: "BBB", rel: "AAA" }));
  const kept = await place(maker, sell({ cancelPrevious: false }));
  expect(maker.orders.myOrders().makers.map((o) => o.uuid)).toEqual([first, reverse, kept]);
  const last = await place(maker, sell({ price: decimal("3") }));
  expect(maker.orders.myOrders().makers.map((o) => o.uuid)).toEqual([reverse, last]);
  expect([await reason(maker, first), await reason(maker, kept)]).toEqual(["Cancelled", "Cancelled"]);
  expect(world.messages("MakerOrderCancelled").map((c) => c.uuid)).toEqual([first, kept]);
});

test("a refused setprice changes nothing: the previous order stays", async () => {
  const { maker } = await pair();
  const first = await place(maker, sell());
  for (const bad of [{ price: decimal("0") }, { volume: decimal("1000") }, { minVolume: decimal("11") }, { rel: "XXX" }, { rel: "AAA" }]) {
    expect((await maker.orders.placeMakerOrder(sell(bad))).ok).toBe(false);
  }
  maker.disk.fail = true;
  await expect(maker.orders.placeMakerOrder(sell())).rejects.toThrow("disk is full");
  expect(maker.orders.myOrders().makers.map((o) => o.uuid)).toEqual([first]);
  expect(maker.orders.ownOrders.orders().map((o) => o.uuid)).toEqual([first]);
});

test("setprice with cancel_previous ends a half-matched order; its taker's connect finds nothing", async () => {
  const { world, maker, taker } = await pair();
  await place(maker, sell());
  await take(taker, buy("6"));
  await world.clock.advance(1_000);
  expect(maker.coin("AAA").openReservations).toBe(1);
  await place(maker, sell({ price: decimal("3") }));
  expect(maker.coin("AAA").openReservations).toBe(0);
  await world.clock.advance(4_000);
  expect([maker.swaps.started, taker.swaps.started]).toEqual([[], []]);
});

test("cancelling: half-matched orders are refused and listed, the rest is cancelled and withdrawn", async () => {
  const { world, maker, taker } = await pair();
  const matched = await place(maker, sell());
  const free = await place(maker, sell({ base: "BBB", rel: "AAA" }));
  const uuid = await take(taker, buy("6"));
  await world.clock.advance(1_000);
  expect(await maker.orders.cancelOrder(matched)).toEqual({ ok: false, error: { kind: "BeingMatched", uuid: matched } });
  expect(await maker.orders.cancelOrder("none")).toEqual({ ok: false, error: { kind: "OrderNotFound", uuid: "none" } });
  expect(maker.orders.matchingWith("AAA")).toEqual([matched]);
  expect(await maker.orders.cancelAllOrders({ type: "Pair", base: "BBB", rel: "AAA" })).toEqual({
    cancelled: [free],
    currentlyMatching: [],
  });
  expect(await maker.orders.cancelAllOrders({ type: "Coin", ticker: "BBB" })).toEqual({ cancelled: [], currentlyMatching: [matched] });
  // the taker has only collected offers so far
  expect(await taker.orders.cancelAllOrders({ type: "All" })).toEqual({ cancelled: [uuid], currentlyMatching: [] });
  await world.clock.advance(4_000);
  expect(taker.swaps.started).toEqual([]);
  expect(await reason(taker, uuid)).toBe("Cancelled");
});

test("a taker order that sent connect is being matched; a maker order whose matches are connected can be cancelled", async () => {
  const { world, maker, taker } = await pair();
  const matched = await place(maker, sell());
  world.deliver = (sent) => sent.message.type !== "MakerConnected";
  const uuid = await take(taker, buy("6"));
  await world.clock.advance(3_100);
  expect(await taker.orders.cancelAllOrders({ type: "All" })).toEqual({ cancelled: [], currentlyMatching: [uuid] });
  expect(await maker.orders.cancelOrder(matched)).toEqual({ ok: true, value: undefined });
});

test("an order expires after timeout_in_minutes, half-matched or not", async () => {
  const { world, maker, taker } = await pair();
  const uuid = await place(maker, sell({ timeoutMinutes: 1 }));
  await world.clock.advance(58_000);
  await take(taker, buy("6"));
  await world.clock.advance(2_000 + TICK);
  expect(await reason(maker, uuid)).toBe("Expired");
  expect(maker.coin("AAA").openReservations).toBe(0);
  await world.clock.advance(4_000);
  expect(maker.swaps.started).toEqual([]);
});

test("a restart does not renew timeout_in_minutes: the price is as old as the order", async () => {
  const { world, maker } = await pair();
  const uuid = await place(maker, sell({ timeoutMinutes: 1 }));
  await world.clock.advance(50_000);
  await maker.restart();
  await world.clock.advance(10_000 + TICK);
  expect(await reason(maker, uuid)).toBe("Expired");
});

test("notarization and confirmation settings reach the swap, and notarization its lock duration", async () => {
  const { world, maker, taker } = await pair();
  await place(maker, sell({ conf: { baseConfs: 3, relConfs: 2, relNota: true } }));
  await take(taker, buy("1", { conf: { baseConfs: 2, relConfs: 5, baseNota: false, relNota: false } }));
  await world.clock.advance(4_000);
  const common = { makerConfs: 2, makerNota: false, takerConfs: 2, lockDurationSec: 31_200 };
  expect(maker.swaps.started).toMatchObject([{ ...common, takerNota: true }]);
  expect(taker.swaps.started).toMatchObject([{ ...common, takerNota: false }]);
});

test("slow coins are recognised by their orderbook ticker", async () => {
  const { world, maker, taker } = await pair();
  for (const node of [maker, taker]) node.coins.set("BTC-segwit", new FakeTradingCoin("BTC-segwit", { orderbookTicker: "BTC" }));
  await place(maker, sell({ base: "BTC-segwit" }));
  await take(taker, buy("1", { base: "BTC-segwit" }));
  await world.clock.advance(4_000);
  expect(world.messages("MakerReserved")).toMatchObject([{ base: "BTC", rel: "BBB" }]);
  expect(taker.swaps.started).toMatchObject([{ makerCoin: "BTC-segwit", lockDurationSec: 31_200 }]);
});

test("confirmations a slow chain could not reach in time are refused with the numbers", async () => {
  const { maker, taker } = await pair();
  const error = {
    kind: "ConfirmationsDoNotFit",
    coin: "BBB",
    confirmations: 53,
    neededSec: 3_180,
    windowSec: 3_120,
    lockDurationSec: 7_800,
  };
  expect(await maker.orders.placeMakerOrder(sell({ conf: { relConfs: 53 } }))).toMatchObject({ ok: false, error });
  expect(await taker.orders.placeTakerOrder(buy("1", { conf: { relConfs: 53 } }))).toMatchObject({ ok: false, error });
});

test("a notarization of a coin whose chain has none is refused at the order, and in a match with its settings", async () => {
  const { world, maker, taker } = await pair();
  for (const node of [maker, taker]) node.coins.set(NEVER_FINAL, new FakeTradingCoin(NEVER_FINAL));
  const error = { kind: "ConfirmationsDoNotFit", coin: NEVER_FINAL, notarization: true, neededSec: null };
  const asked = { rel: NEVER_FINAL, conf: { relNota: true } };
  expect(await maker.orders.placeMakerOrder(sell(asked))).toMatchObject({ ok: false, error });
  expect(await taker.orders.placeTakerOrder(buy("1", asked))).toMatchObject({ ok: false, error });
  // What the other side asks for of the coin it sends is the laxer of both: the swap goes on.
  await place(maker, sell({ rel: NEVER_FINAL }));
  await take(taker, buy("1", { rel: NEVER_FINAL }));
  await world.clock.advance(4_000);
  expect(taker.swaps.started).toMatchObject([{ takerCoin: NEVER_FINAL, takerNota: false }]);
});

test("buy and sell check coins, then funds, then numbers, as KDF does", async () => {
  const { taker } = await pair();
  const refusal = async (over: Partial<TakerOrderInput>): Promise<unknown> => {
    const placed = await taker.orders.placeTakerOrder(buy("1", over));
    return placed.ok ? "placed" : placed.error;
  };
  expect(await refusal({ rel: "AAA", price: decimal("0") })).toMatchObject({ kind: "SameCoin" });
  expect(await refusal({ base: "XXX", rel: "YYY" })).toMatchObject({ kind: "CoinNotActive", side: "rel", ticker: "YYY" });
  expect(await refusal({ action: "Sell", base: "XXX", rel: "YYY" })).toMatchObject({ kind: "CoinNotActive", side: "base", ticker: "XXX" });
  expect(await refusal({ price: decimal("0") })).toMatchObject({ kind: "VolumeTooLow", coin: "BBB" });
  expect(await refusal({ volume: decimal("50") })).toMatchObject({ kind: "NotSufficientBalance", coin: "BBB", lockedBySwaps: null });
  // each transaction fits alone, all together do not
  expect(await refusal({ volume: decimal("49.99") })).toMatchObject({
    kind: "NotSufficientBalance",
    available: decimal("100"),
    lockedBySwaps: decimal("0"),
  });
  expect(await refusal({ price: decimal("0.000000001"), volume: decimal("10000000") })).toMatchObject({ kind: "PriceTooLow" });
  expect(takerUuids(taker)).toEqual([]);
});

test("offers and requests of banned keys, of ourselves and replays are ignored", async () => {
  const { world, maker, taker } = await pair();
  await place(maker, sell());
  const request = (over: Partial<TakerRequest>): TakerRequest => ({
    base: "AAA",
    rel: "BBB",
    baseAmount: decimal("1"),
    relAmount: decimal("2"),
    action: "Buy",
    uuid: "00000000-0000-4000-8000-000000000001",
    matchBy: { type: "Any" },
    conf: { baseConfs: 1, baseNota: false, relConfs: 1, relNota: false },
    baseProtocolInfo: maker.coin("AAA").protocolInfo,
    relProtocolInfo: maker.coin("BBB").protocolInfo,
    swapVersion: 1,
    ...over,
  });
  const answers = async (from: string, over: Partial<TakerRequest> = {}): Promise<number> => {
    const before = world.messages("MakerReserved").length;
    world.send("maker", from, { type: "TakerRequest", body: request(over) });
    await world.clock.advance(100);
    return world.messages("MakerReserved").length - before;
  };
  expect(await answers("maker")).toBe(0);
  maker.banned.add(keyHex(taker));
  expect(await answers("taker")).toBe(0);
  maker.banned.clear();
  for (let offers = 0; offers < 3; offers++) {
    expect(await answers("taker")).toBe(1);
    await world.clock.advance(40_000);
    expect(maker.coin("AAA").openReservations).toBe(0);
  }
  expect(await answers("taker")).toBe(0);
  expect(await answers("taker", { uuid: "00000000-0000-4000-8000-000000000002", baseProtocolInfo: new Uint8Array([1]) })).toBe(0);
  const many = Array.from({ length: 15 }, (_, i) =>
    answers("taker", { uuid: `00000000-0000-4000-8000-0000000001${10 + i}`, baseAmount: decimal("0.1"), relAmount: decimal("0.2") }),
  );
  expect((await Promise.all(many)).length).toBe(15);
  expect(maker.coin("AAA").openReservations).toBe(10);
});

test("a third key cannot join a handshake: not under the taker's uuid, not with its connect, not with the maker's connected", async () => {
  const { world, maker, taker } = await pair();
  const third = await world.node("third");
  await place(maker, sell());
  const uuid = await take(taker, buy("1"));
  await world.clock.advance(1_000);
  const [request] = world.messages("TakerRequest");
  const [reserved] = world.messages("MakerReserved");
  if (!request || !reserved) throw new Error("no handshake");
  const handshake = { takerOrderUuid: uuid, makerOrderUuid: reserved.makerOrderUuid };
  world.send("maker", third.name, { type: "TakerRequest", body: request });
  world.send("maker", third.name, { type: "TakerConnect", body: handshake });
  // nor under the uuid of an order of the maker's own
  world.send("maker", third.name, { type: "TakerRequest", body: { ...request, uuid: reserved.makerOrderUuid } });
  await world.clock.advance(100);
  expect(world.messages("MakerReserved")).toHaveLength(1);
  expect(maker.swaps.started).toEqual([]);
  world.deliver = (sent) => sent.message.type !== "MakerConnected";
  await world.clock.advance(3_000);
  expect(world.messages("MakerConnected")).toEqual([handshake]);
  world.send("taker", third.name, { type: "MakerConnected", body: handshake });
  world.send("taker", "maker", { type: "MakerConnected", body: { ...handshake, makerOrderUuid: request.uuid } });
  await world.clock.advance(100);
  expect(taker.swaps.started).toEqual([]);
  world.send("taker", "maker", { type: "MakerConnected", body: handshake });
  await world.clock.advance(100);
  expect(taker.swaps.started).toHaveLength(1);
  expect(maker.log.lines.filter((l) => l.level === "error" || l.level === "warn")).toEqual([]);
});

test("a sender's share of the funds is the policy's to bound", async () => {
  const world = new OrderWorld();
  const maker = await world.node("maker", {
    policy: {
      mayReserve: ({ amount, held }) =>
        Number(toDecimalString(amount)) + Number(held.reduce((sum, h) => sum + h.units, 0n)) / 1e8 <= 3
          ? { kind: "granted", alone: null, connectWithinMs: 30_000 }
          : { kind: "refused", reason: "key_share" },
    },
  });
  const taker = await world.node("taker");
  await place(maker, sell());
  await take(taker, buy("2"));
  await take(taker, buy("2"));
  await world.clock.advance(2_000);
  expect(world.messages("MakerReserved")).toHaveLength(1);
});

test("a taker uuid is swapped under once in a life time, restarts included", async () => {
  const { world, maker, taker } = await pair();
  await place(maker, sell());
  await take(taker, buy("1"));
  await world.clock.advance(4_000);
  const [request] = world.messages("TakerRequest");
  if (!request) throw new Error("no request");
  maker.swaps.started.length = 0; // as if the swap's record had been pruned
  await maker.restart();
  await world.clock.advance(1_000);
  world.send("maker", "taker", { type: "TakerRequest", body: request });
  await world.clock.advance(1_000);
  expect(world.messages("MakerReserved")).toHaveLength(1);
});

test("a swap that cannot be stored: the maker says nothing, gives volume and funds back, and the taker starts nothing", async () => {
  const { world, maker, taker } = await pair();
  const uuid = await place(maker, sell());
  maker.swaps.failNext = true;
  await take(taker, buy("6", { orderType: "FillOrKill" }));
  await world.clock.advance(3_500);
  expect([available(maker, uuid), maker.coin("AAA").openReservations]).toEqual(["10", 0]);
  await world.clock.advance(40_000);
  expect([maker.swaps.started, taker.swaps.started]).toEqual([[], []]);
  expect(world.messages("MakerConnected")).toEqual([]);
  expect(taker.coin("BBB").openReservations).toBe(0);
});

test("a disk that fills between the match and its swap: the order is not sold out, and sells to the next taker", async () => {
  const { world, maker, taker } = await pair();
  const uuid = await place(maker, sell());
  const start = maker.swaps.start.bind(maker.swaps);
  maker.swaps.start = async () => {
    maker.swaps.start = start;
    maker.disk.fail = true;
    throw new Error("disk is full");
  };
  await take(taker, buy("10"));
  await world.clock.advance(40_000);
  expect([maker.swaps.started, available(maker, uuid), makerOrder(maker, uuid)?.startedSwaps]).toEqual([[], "10", []]);
  await take(taker, buy("10"));
  await world.clock.advance(5_000);
  expect(maker.swaps.started).toHaveLength(1);
});

test.each(["10", "9.99999"])(
  "an order that a taker who has not paid takes %s of leaves the books, and comes back with its volume once nobody blocks it any more",
  async (volume) => {
    const unpaid = new Set<string>();
    const world = new OrderWorld();
    const maker = await world.node("maker", { policy: { isUnpaid: (swap) => unpaid.has(swap) } });
    const taker = await world.node("taker");
    const uuid = await place(maker, sell({ minVolume: decimal("1") }));
    const offered = () => maker.orders.ownOrders.orders().map((o) => toDecimalString(o.maxVolume));
    const swap = await take(taker, buy(volume));
    unpaid.add(swap);
    await world.clock.advance(5_000);
    expect(maker.swaps.started).toHaveLength(1);
    expect([world.messages("MakerOrderCancelled"), offered()]).toMatchObject([[{ uuid }], []]);
    // Whatever is sold of it is not there to be offered again.
    await world.clock.advance(200_000);
    expect([world.messages("MakerOrderCreated").length, offered()]).toEqual([1, []]);
    expect(makerOrder(maker, uuid)?.matches.size).toBe(1);
    unpaid.delete(swap);
    maker.orders.onUnpaidSwapEnded(swap);
    await world.clock.advance(2_000);
    expect([world.messages("MakerOrderCreated").length, offered()]).toEqual([2, ["10"]]);
    await take(taker, buy("3"));
    await world.clock.advance(5_000);
    expect(available(maker, uuid)).toBe("7");
  },
);

test("an order whose volume comes back at once is announced when the books have forgotten that it was taken out", async () => {
  const unpaid = new Set<string>();
  const world = new OrderWorld();
  const maker = await world.node("maker", { policy: { isUnpaid: (swap) => unpaid.has(swap) } });
  const taker = await world.node("taker");
  await place(maker, sell());
  const swap = await take(taker, buy("10"));
  unpaid.add(swap);
  await world.clock.advance(5_000);
  unpaid.delete(swap);
  maker.orders.onUnpaidSwapEnded(swap);
  await world.clock.advance(110_000);
  expect(world.messages("MakerOrderCreated")).toHaveLength(1);
  await world.clock.advance(15_000);
  expect(world.messages("MakerOrderCreated")).toMatchObject([{}, { maxVolume: decimal("10") }]);
});

test("an order that is being stored while its coin is disabled is refused and gone: nothing would cancel it, and it would come back with the coin", async () => {
  const { world, taker } = await pair();
  const write = taker.disk.db.write.bind(taker.disk.db);
  let store = (): void => undefined;
  taker.disk.db.write = async (batch) => {
    await new Promise<void>((resolve) => {
      store = resolve;
    });
    return write(batch);
  };
  const asked = taker.orders.placeTakerOrder(buy("1"));
  const coin = taker.coin("AAA");
  taker.coins.delete("AAA");
  expect(await taker.orders.cancelAllOrders({ type: "Coin", ticker: "AAA" })).toEqual({ cancelled: [], currentlyMatching: [] });
  taker.disk.db.write = write;
  store();
  expect(await asked).toEqual({ ok: false, error: { kind: "CoinNotActive", side: "base", ticker: "AAA" } });
  taker.coins.set("AAA", coin);
  await world.clock.advance(60_000);
  expect([taker.orders.myOrders(), world.sent]).toEqual([{ makers: [], takers: [] }, []]);
});

test("a start that fails after the swap was stored counts as started on both sides: its funds stay its own", async () => {
  const { world, maker, taker } = await pair();
  const uuid = await place(maker, sell());
  for (const node of [maker, taker]) {
    const start = node.swaps.start.bind(node.swaps);
    node.swaps.start = async (match) => {
      await start(match);
      throw new Error("a listener failed");
    };
  }
  const takerUuid = await take(taker, buy("6"));
  await world.clock.advance(5_000);
  expect([available(maker, uuid), maker.coin("AAA").openReservations, taker.coin("BBB").openReservations]).toEqual(["4", 1, 1]);
  expect(await reason(taker, takerUuid)).toBe("Fulfilled");
});

test("a full disk when the taker connects: nothing is confirmed before a repeat can be stored", async () => {
  const { world, maker, taker } = await pair();
  await place(maker, sell());
  await take(taker, buy("6"));
  await world.clock.advance(2_000);
  maker.disk.fail = true;
  await world.clock.advance(2_000);
  expect([maker.swaps.started, world.messages("MakerConnected")]).toEqual([[], []]);
  await world.clock.advance(6_000);
  expect([maker.swaps.started.length, taker.swaps.started.length]).toEqual([1, 1]);
});

/** A taker that has just asked for what a maker offers. `blamed`: orders whose makers it holds their silence against. */
async function blaming() {
  const blamed: string[] = [];
  const world = new OrderWorld();
  const maker = await world.node("maker");
  const taker = await world.node("taker", { policy: { onNeverConnected: (uuid) => void blamed.push(uuid) } });
  await place(maker, sell());
  return { world, maker, taker, blamed, uuid: await take(taker, buy("6")) };
}

test("a taker whose choice a full disk keeps from being stored is not blamed for it", async () => {
  const blamed: string[] = [];
  const world = new OrderWorld();
  const maker = await world.node("maker", { policy: { onNeverConnected: (uuid) => void blamed.push(uuid) } });
  const taker = await world.node("taker");
  const uuid = await place(maker, sell());
  await take(taker, buy("6"));
  await world.clock.advance(2_000);
  for (let i = 0; i < 400; i++) {
    maker.disk.fail = true;
    await world.clock.advance(100);
  }
  maker.disk.fail = false;
  await world.clock.advance(30_000);
  expect([maker.swaps.started, available(maker, uuid), blamed]).toEqual([[], "10", []]);
});

test("a maker that never connected is blamed once, however long the taker's disk is full", async () => {
  const { world, maker, taker, uuid, blamed } = await blaming();
  while (!taker.swaps.expected.includes(uuid)) {
    // It offers, and is gone when the taker chooses.
    if (world.messages("MakerReserved").length > 0) await maker.orders.close();
    await world.clock.advance(100);
  }
  for (let i = 0; i < 1_200; i++) {
    taker.disk.fail = true;
    await world.clock.advance(100);
  }
  expect(blamed).toEqual([]);
  taker.disk.fail = false;
  await world.clock.advance(60_000);
  expect([await reason(taker, uuid), blamed]).toEqual(["TimedOut", [uuid]]);
});

test("a maker that connected is not blamed for the full disk of the taker, which cannot store the swap", async () => {
  const { world, maker, taker, uuid, blamed } = await blaming();
  taker.swaps.start = async () => {
    taker.disk.fail = true;
    throw new Error("disk is full");
  };
  await world.clock.advance(120_000);
  expect(await reason(taker, uuid)).toBe("TimedOut");
  expect([maker.swaps.started.length, taker.swaps.started, blamed]).toEqual([1, [], []]);
});

test("a taker whose disk fails for a moment begins no swap without its funds", async () => {
  const world = new OrderWorld();
  const maker = await world.node("maker");
  const taker = await world.node("taker");
  await place(maker, sell());
  const uuid = await take(taker, buy("6"));
  const start = taker.swaps.start.bind(taker.swaps);
  taker.swaps.start = async (match) => {
    taker.swaps.start = start;
    // As the runner does, and the next write fails as well.
    taker.coin("BBB").release(match.reservation);
    taker.disk.fail = true;
    throw new Error("disk is full");
  };
  await world.clock.advance(120_000);
  expect(await reason(taker, uuid)).toBe("TimedOut");
  expect([taker.swaps.started, taker.coin("BBB").openReservations]).toEqual([[], 0]);
});

test("a full disk when the taker chooses: no connect leaves and its funds are free again", async () => {
  const { world, maker, taker } = await pair();
  await place(maker, sell());
  const uuid = await take(taker, buy("6"));
  taker.disk.fail = true;
  await world.clock.advance(4_000);
  expect(world.messages("TakerConnect")).toEqual([]);
  expect([takerUuids(taker), taker.coin("BBB").openReservations]).toEqual([[uuid], 0]);
});

test("the maker restarts with its order half-matched: the volume is whole, a late connect finds nothing, the order is announced again", async () => {
  const { world, maker, taker } = await pair();
  const uuid = await place(maker, sell());
  await take(taker, buy("6"));
  await world.clock.advance(2_000);
  await maker.restart();
  expect(maker.orders.coinsNeededForKickStart()).toEqual(["AAA", "BBB"]);
  await world.clock.advance(3_000);
  expect([available(maker, uuid), maker.swaps.started.length]).toEqual(["10", 0]);
  expect(world.messages("MakerOrderCreated").map((c) => c.uuid)).toEqual([uuid, uuid]);
});

test("the maker dies after it stored the match and before it stored the swap: the match is given back", async () => {
  const { world, maker, taker } = await pair();
  const uuid = await place(maker, sell());
  await take(taker, buy("6"));
  maker.swaps.start = () => new Promise(() => undefined);
  await world.clock.advance(4_000);
  await maker.restart();
  await world.clock.advance(2_000);
  expect(available(maker, uuid)).toBe("10");
  expect(world.messages("MakerConnected")).toEqual([]);
  await world.clock.advance(30_000);
  expect(taker.swaps.started).toEqual([]);
});

test("the maker dies after the swap was stored: the match stays taken after the restart", async () => {
  const { world, maker, taker } = await pair();
  const uuid = await place(maker, sell());
  await take(taker, buy("6"));
  await world.clock.advance(4_000);
  await maker.restart();
  await world.clock.advance(2_000);
  expect(available(maker, uuid)).toBe("4");
  expect(world.messages("MakerOrderCreated").at(-1)).toMatchObject({ uuid, maxVolume: decimal("4") });
});

test("the taker dies after connect: it never starts that swap, unless it was stored", async () => {
  const { world, maker, taker } = await pair();
  await place(maker, sell());
  world.deliver = (sent) => sent.message.type !== "MakerConnected";
  const uuid = await take(taker, buy("6"));
  await world.clock.advance(4_000);
  await taker.restart();
  await world.clock.advance(1_000);
  expect(await reason(taker, uuid)).toBe("TimedOut");
  const [connected] = world.messages("MakerConnected");
  if (!connected) throw new Error("not connected");
  world.send("taker", "maker", { type: "MakerConnected", body: connected });
  await world.clock.advance(1_000);
  expect(taker.swaps.started).toEqual([]);
});

test("the taker dies between the stored swap and the end of its order: the order is Fulfilled after the restart", async () => {
  const { world, maker, taker } = await pair();
  await place(maker, sell());
  const uuid = await take(taker, buy("6"));
  const start = taker.swaps.start.bind(taker.swaps);
  taker.swaps.start = async (match) => {
    await start(match);
    return new Promise(() => undefined);
  };
  await world.clock.advance(4_000);
  expect(takerUuids(taker)).toEqual([uuid]);
  await taker.restart();
  expect(await reason(taker, uuid)).toBe("Fulfilled");
});

test("a taker that starts on a full disk with an order it had matched starts, begins nothing, ends the order later, and blames nobody", async () => {
  const { world, taker, uuid, blamed } = await blaming();
  taker.swaps.start = () => new Promise(() => undefined);
  await world.clock.advance(4_000);
  taker.disk.fail = true;
  await taker.restart();
  taker.swaps.start = async () => expect.fail("it began a swap");
  expect(takerUuids(taker)).toEqual([uuid]);
  await world.clock.advance(120_000);
  expect([await reason(taker, uuid), blamed]).toEqual(["TimedOut", []]);
});

test("an open taker order restarts as it was: it still takes offers, or converts when its time is over", async () => {
  const { world, maker, taker } = await pair();
  const uuid = await take(taker, buy("6"));
  await world.clock.advance(1_000);
  await taker.restart();
  expect(takerUuids(taker)).toEqual([uuid]);
  await place(maker, sell());
  const [request] = world.messages("TakerRequest");
  if (!request) throw new Error("no request");
  world.send("maker", "taker", { type: "TakerRequest", body: request });
  await world.clock.advance(4_000);
  expect(taker.swaps.started).toHaveLength(1);
});

test("after a restart an order waits, unannounced and unmatched, until both coins are active", async () => {
  const { world, maker, taker } = await pair();
  const uuid = await place(maker, sell());
  const bbb = maker.coin("BBB");
  maker.coins.delete("BBB");
  await maker.restart();
  await take(taker, buy("6"));
  await world.clock.advance(5_000);
  expect(maker.orders.ownOrders.orders()).toEqual([]);
  expect(world.messages("MakerReserved")).toEqual([]);
  maker.coins.set("BBB", bbb);
  await world.clock.advance(TICK);
  expect(maker.orders.ownOrders.orders()).toMatchObject([{ uuid }]);
});

test.each(["AAA", "BBB"])("an order is on offer no more while %s is disabled beside it, and again once it is back", async (ticker) => {
  const { world, maker } = await pair();
  const uuid = await place(maker, sell());
  const coin = maker.coin(ticker);
  maker.coins.delete(ticker);
  await world.clock.advance(31_000);
  expect(maker.orders.ownOrders.orders()).toEqual([]);
  expect(world.messages("MakerOrderCancelled")).toMatchObject([{ uuid }]);
  expect(maker.orders.myOrders().makers).toMatchObject([{ uuid }]);
  maker.coins.set(ticker, coin);
  // By then others take it again.
  await world.clock.advance(121_000);
  expect(maker.orders.ownOrders.orders()).toMatchObject([{ uuid }]);
});

test("an order cancelled after a restart, before it could be announced again, is withdrawn: others still have it from before", async () => {
  const { world, maker } = await pair();
  const uuid = await place(maker, sell());
  maker.coins.delete("BBB");
  await maker.restart();
  expect((await maker.orders.cancelOrder(uuid)).ok).toBe(true);
  expect(world.messages("MakerOrderCancelled")).toMatchObject([{ uuid }]);
});

test("save_in_history false leaves no row and no history, but the order lives and its file while it does", async () => {
  const { maker } = await pair();
  const uuid = await place(maker, sell({ saveInHistory: false }));
  expect(maker.files.files.has(`MAKER/${uuid}`)).toBe(true);
  await maker.orders.cancelOrder(uuid);
  expect([...maker.files.files.keys()]).toEqual([]);
  expect(await reason(maker, uuid)).toBeUndefined();
  expect(await maker.disk.db.read("SELECT * FROM my_orders")).toEqual([]);
});

test("history: row and file in KDF's shape", async () => {
  const { maker } = await pair();
  const uuid = await place(maker, sell({ price: decimal("0.5") }));
  await maker.orders.cancelOrder(uuid);
  await maker.orders.close();
  expect(await maker.disk.db.read("SELECT * FROM my_orders")).toEqual([
    {
      id: 1,
      uuid,
      type: "Maker",
      initial_action: "Sell",
      base: "AAA",
      rel: "BBB",
      price: 0.5,
      volume: 10,
      created_at: 1_700_000_000_000,
      last_updated: 1_700_000_000_000,
      was_taker: 0,
      status: "Cancelled",
    },
  ]);
  expect(maker.files.files.get(`HISTORY/${uuid}`)).toMatchObject({
    type: "Maker",
    order: {
      uuid,
      price: [
        [1, [1]],
        [1, [2]],
      ],
      max_base_vol: [
        [1, [10]],
        [1, [1]],
      ],
      matches: {},
      p2p_privkey: null,
      timeout_in_minutes: null,
    },
  });
});

test("what waits when the node closes is finished, nothing runs after, and open orders stay stored", async () => {
  const { world, maker } = await pair();
  const placing = maker.orders.placeMakerOrder(sell());
  await maker.orders.close();
  expect((await placing).ok).toBe(true);
  const sent = world.sent.length;
  await world.clock.advance(120_000);
  expect(world.sent.length).toBe(sent);
  expect(await maker.disk.db.read("SELECT kind FROM live_orders")).toEqual([{ kind: "Maker" }]);
});

test("a node without orders sets no timer; one whose orders stand looks at them twice a minute, and at once when its balance falls", async () => {
  const { world, maker } = await pair();
  await world.clock.advance(2_000);
  const after = vi.spyOn(world.clock, "after");
  await world.clock.advance(60_000);
  expect(after).not.toHaveBeenCalled();
  const uuid = await place(maker, sell());
  await world.clock.advance(2_000);
  const asked = vi.spyOn(maker.coin("AAA"), "maxPayment");
  await world.clock.advance(60_000);
  expect(asked.mock.calls.length).toBeLessThanOrEqual(2);
  maker.coin("AAA").setBalance("4");
  await world.clock.advance(1_000);
  expect(Number(texts(makerOrder(maker, uuid)?.maxBaseVol)[0])).toBeLessThan(4);
});
