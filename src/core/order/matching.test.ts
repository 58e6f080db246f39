import fc from "fast-check";
import { expect, test } from "vitest";
import type { MakerReserved, TakerAction, TakerRequest } from "../message/types.ts";
import { cmp, decimal, div, eq, gt, gte, lte, mul, type Rational, rational, ZERO } from "../money/rational.ts";
import { availableVolume, createMakerOrder, type MakerOrder, reserveMatch } from "./makerOrder.ts";
import { compareOffers, fittingOrders, matchMakerWithRequest, type Offer, type SwapAmounts, takerAcceptsReserved } from "./matching.ts";
import type { TakerOrder } from "./takerOrder.ts";

const seed = Number(process.env.FC_SEED ?? 20_261_121);
console.info(`matching properties: seed ${seed}`);

const OWN_X = "aa".repeat(32);
const MAKER = `02${"bb".repeat(32)}`;
const conf = { baseConfs: 1, baseNota: false, relConfs: 1, relNota: false };

const aMakerOrder = (over: Partial<MakerOrder> = {}): MakerOrder => ({
  ...createMakerOrder({
    uuid: "maker-1",
    base: "AAA",
    rel: "BBB",
    baseOrderbookTicker: null,
    relOrderbookTicker: null,
    price: decimal("2"),
    maxBaseVol: decimal("10"),
    minBaseVol: decimal("0.1"),
    conf,
    createdAtMs: 0,
    timeoutMinutes: null,
    saveInHistory: true,
  }),
  ...over,
});
const aRequest = (over: Partial<TakerRequest> = {}): TakerRequest => ({
  base: "AAA",
  rel: "BBB",
  baseAmount: decimal("1"),
  relAmount: decimal("2"),
  action: "Buy",
  uuid: "taker-1",
  matchBy: { type: "Any" },
  conf,
  swapVersion: 1,
  ...over,
});
const aTakerOrder = (over: Partial<TakerOrder> = {}): TakerOrder => ({
  uuid: "taker-1",
  action: "Buy",
  base: "AAA",
  rel: "BBB",
  baseOrderbookTicker: null,
  relOrderbookTicker: null,
  baseAmount: decimal("1"),
  relAmount: decimal("2"),
  matchBy: { type: "Any" },
  conf,
  orderType: "GoodTillCancelled",
  minVolume: decimal("0.1"),
  createdAtMs: 0,
  timeoutSec: 30,
  saveInHistory: true,
  match: null,
  ...over,
});
const aReserved = (over: Partial<MakerReserved> = {}): MakerReserved => ({
  base: "AAA",
  rel: "BBB",
  baseAmount: decimal("1"),
  relAmount: decimal("2"),
  takerOrderUuid: "taker-1",
  makerOrderUuid: "maker-1",
  conf,
  swapVersion: 1,
  ...over,
});
const sellRequest = (over: Partial<TakerRequest> = {}): TakerRequest =>
  aRequest({ action: "Sell", base: "BBB", rel: "AAA", baseAmount: decimal("2"), relAmount: decimal("1"), ...over });

test("a buy is served at the maker's price when the taker would have paid more", () => {
  const amounts = matchMakerWithRequest(aMakerOrder(), aRequest({ relAmount: decimal("2.5") }), OWN_X);
  expect(amounts).toEqual({ ok: true, value: { maker: decimal("1"), taker: decimal("2") } });
});

test("a seller of rel gets more base than asked when the maker's price is better", () => {
  const amounts = matchMakerWithRequest(aMakerOrder(), sellRequest({ relAmount: decimal("0.8") }), OWN_X);
  expect(amounts).toEqual({ ok: true, value: { maker: decimal("1"), taker: decimal("2") } });
});

// the figures of three swaps recorded between two KDF nodes: maker price 0.2, and what its MakerReserved said
test.each([
  ["Buy", "0.7", "0.175", { maker: "0.7", taker: "0.14" }],
  ["Sell", "0.1", "0.4", { maker: "0.5", taker: "0.1" }],
  ["Buy", "1", "0.2", { maker: "1", taker: "0.2" }],
] as const)("recorded KDF match: %s %s against %s", (action, baseAmount, relAmount, expected) => {
  const order = aMakerOrder({ base: "LTA", rel: "LTB", price: decimal("0.2"), maxBaseVol: decimal("2") });
  const [base, rel] = action === "Buy" ? ["LTA", "LTB"] : ["LTB", "LTA"];
  const request = aRequest({ action, base, rel, baseAmount: decimal(baseAmount), relAmount: decimal(relAmount) });
  expect(matchMakerWithRequest(order, request, OWN_X)).toEqual({
    ok: true,
    value: { maker: decimal(expected.maker), taker: decimal(expected.taker) },
  });
});

test.each<[string, Partial<MakerOrder>, Partial<TakerRequest>, string]>([
  ["a worse price", {}, { relAmount: decimal("1.99999999") }, "PriceTooLow"],
  ["less than the minimum", { minBaseVol: decimal("1.00000001") }, {}, "VolumeOutOfRange"],
  ["more than there is", { maxBaseVol: decimal("0.99999999") }, {}, "VolumeOutOfRange"],
  ["another coin", {}, { base: "CCC" }, "OtherPair"],
  ["the pair the other way round", {}, { base: "BBB", rel: "AAA" }, "OtherPair"],
  ["other makers named", {}, { matchBy: { type: "Pubkeys", data: ["cc".repeat(32)] } }, "NotForUs"],
  ["other orders named", {}, { matchBy: { type: "Orders", data: ["maker-2"] } }, "NotForUs"],
  ["nothing wanted", {}, { baseAmount: ZERO }, "BadAmounts"],
  ["nothing given", {}, { relAmount: ZERO }, "BadAmounts"],
  ["a negative volume", {}, { baseAmount: decimal("-1"), relAmount: decimal("-2") }, "BadAmounts"],
  ["numbers too long to be meant", {}, { baseAmount: rational(2n ** 1100n + 1n, 2n ** 1100n) }, "BadAmounts"],
])("a request is refused: %s", (_what, order, request, reason) => {
  expect(matchMakerWithRequest(aMakerOrder(order), aRequest(request), OWN_X)).toEqual({ ok: false, error: reason });
});

test("orderbook tickers fit as well as coin tickers", () => {
  const order = aMakerOrder({ base: "BTC-segwit", baseOrderbookTicker: "BTC" });
  expect(matchMakerWithRequest(order, aRequest({ base: "BTC" }), OWN_X).ok).toBe(true);
  expect(matchMakerWithRequest(order, aRequest({ base: "BTC-segwit" }), OWN_X).ok).toBe(true);
});

test("requests that name us or the order are served", () => {
  expect(matchMakerWithRequest(aMakerOrder(), aRequest({ matchBy: { type: "Pubkeys", data: [OWN_X] } }), OWN_X).ok).toBe(true);
  expect(matchMakerWithRequest(aMakerOrder(), aRequest({ matchBy: { type: "Orders", data: ["maker-1"] } }), OWN_X).ok).toBe(true);
});

test("among own orders that fit, the cheapest answers; equals by age, then uuid", () => {
  const orders = [
    aMakerOrder({ uuid: "c", price: decimal("2"), createdAtMs: 5 }),
    aMakerOrder({ uuid: "d", price: decimal("1.5"), createdAtMs: 9 }),
    aMakerOrder({ uuid: "b", price: decimal("1.5"), createdAtMs: 7 }),
    aMakerOrder({ uuid: "a", price: decimal("1.5"), createdAtMs: 7 }),
    aMakerOrder({ uuid: "e", price: decimal("3") }),
  ];
  expect(fittingOrders(orders, aRequest(), OWN_X).map((f) => f.order.uuid)).toEqual(["a", "b", "d", "c"]);
});

test.each<[string, Partial<TakerOrder>, Partial<MakerReserved>, string]>([
  ["less than the full volume", {}, { baseAmount: decimal("0.9"), relAmount: decimal("1.8") }, "WrongVolume"],
  ["more than the full volume", {}, { baseAmount: decimal("1.1"), relAmount: decimal("2") }, "WrongVolume"],
  ["a higher price", {}, { relAmount: decimal("2.00000001") }, "WorsePrice"],
  ["nothing in return", {}, { baseAmount: ZERO }, "BadAmounts"],
  ["a free gift", {}, { relAmount: ZERO }, "BadAmounts"],
  ["other coins", {}, { rel: "CCC" }, "OtherPair"],
  ["an order not named", { matchBy: { type: "Orders", data: ["maker-2"] } }, {}, "NotWanted"],
  ["a maker not named", { matchBy: { type: "Pubkeys", data: ["cc".repeat(32)] } }, {}, "NotWanted"],
  [
    "a second match",
    { match: { reserved: aReserved(), maker: MAKER, connectAtMs: 0, connectedAtMs: null } },
    { makerOrderUuid: "maker-2" },
    "AlreadyMatched",
  ],
])("an offer is refused: %s", (_what, order, reserved, reason) => {
  expect(takerAcceptsReserved(aTakerOrder(order), aReserved(reserved), MAKER.slice(2))).toEqual({ ok: false, error: reason });
});

test("a seller's offer must pay the whole base amount and give at least what was asked", () => {
  const order = aTakerOrder({ action: "Sell", base: "BBB", rel: "AAA", baseAmount: decimal("2"), relAmount: decimal("1") });
  const accepts = (over: Partial<MakerReserved>): boolean => takerAcceptsReserved(order, aReserved(over), MAKER.slice(2)).ok;
  expect(accepts({})).toBe(true);
  expect(accepts({ baseAmount: decimal("1.1") })).toBe(true);
  expect(accepts({ baseAmount: decimal("0.99999999") })).toBe(false);
  expect(accepts({ relAmount: decimal("1.9") })).toBe(false);
});

const offer = (uuid: string, relAmount: string, maker = MAKER): Offer => ({
  maker,
  reserved: aReserved({ makerOrderUuid: uuid, relAmount: decimal(relAmount) }),
});

test("offers sort by price, then uuid, then maker, whatever order they came in", () => {
  const best = [offer("b", "1"), offer("a", "2", `02${"01".repeat(32)}`), offer("a", "2"), offer("c", "2")];
  fc.assert(
    fc.property(fc.shuffledSubarray(best, { minLength: best.length }), (offers) => {
      expect([...offers].sort(compareOffers)).toEqual(best);
    }),
    { seed },
  );
});

/** Positive fractions, awkward ones included. */
const positive: fc.Arbitrary<Rational> = fc
  .tuple(fc.bigInt({ min: 1n, max: 10n ** 24n }), fc.bigInt({ min: 1n, max: 10n ** 24n }))
  .map(([n, d]) => rational(n, d));
const anyAmount: fc.Arbitrary<Rational> = fc.oneof(
  positive,
  fc.tuple(fc.bigInt({ min: -3n, max: 3n }), fc.constantFrom(1n, -1n, 7n)).map(([n, d]) => ({ n, d })),
);
const anyAction = fc.constantFrom<TakerAction>("Buy", "Sell");
const anyRequest = fc.tuple(anyAction, anyAmount, anyAmount).map(([action, baseAmount, relAmount]) => {
  const [base, rel] = action === "Buy" ? ["AAA", "BBB"] : ["BBB", "AAA"];
  return aRequest({ action, base, rel, baseAmount, relAmount });
});
const anyOrder = fc
  .tuple(positive, positive, positive)
  .map(([price, max, min]) => aMakerOrder({ price, maxBaseVol: max, minBaseVol: cmp(min, max) > 0 ? max : min }));
/** A request shaped to hit the order: its volume inside the order's, its price off by a factor. */
const aimedRequest = (order: MakerOrder): fc.Arbitrary<TakerRequest> =>
  fc.tuple(anyAction, fc.integer({ min: 0, max: 12 }), fc.integer({ min: 8, max: 14 })).map(([action, part, factor]) => {
    const volume = mul(order.maxBaseVol, rational(BigInt(part), 10n));
    const worth = mul(mul(volume, order.price), rational(BigInt(factor), 10n));
    return action === "Buy"
      ? aRequest({ baseAmount: volume, relAmount: worth })
      : sellRequest({ baseAmount: mul(volume, order.price), relAmount: mul(volume, rational(10n, BigInt(factor))) });
  });
const orderAndRequest = anyOrder.chain((order) => fc.tuple(fc.constant(order), fc.oneof(anyRequest, aimedRequest(order))));

test("matching never divides by zero or throws, and serves some and refuses some", () => {
  let served = 0;
  let refused = 0;
  fc.assert(
    fc.property(orderAndRequest, ([order, request]) => {
      if (matchMakerWithRequest(order, request, OWN_X).ok) served++;
      else refused++;
    }),
    { seed, numRuns: 500 },
  );
  expect(served).toBeGreaterThan(20);
  expect(refused).toBeGreaterThan(20);
});

test("neither side ever gets a worse price than it asked, the volume stays in the order's range, and the taker takes the offer", () => {
  fc.assert(
    fc.property(orderAndRequest, ([order, request]) => {
      const matched = matchMakerWithRequest(order, request, OWN_X);
      if (!matched.ok) return;
      const { maker, taker }: SwapAmounts = matched.value;
      expect(eq(div(taker, maker), order.price)).toBe(true);
      expect(gte(maker, order.minBaseVol) && lte(maker, order.maxBaseVol)).toBe(true);
      if (request.action === "Buy") expect(eq(maker, request.baseAmount) && lte(taker, request.relAmount)).toBe(true);
      else expect(eq(taker, request.baseAmount) && gte(maker, request.relAmount)).toBe(true);
      const { action, base, rel, baseAmount, relAmount } = request;
      const reserved = aReserved({ baseAmount: maker, relAmount: taker });
      expect(takerAcceptsReserved(aTakerOrder({ action, base, rel, baseAmount, relAmount }), reserved, MAKER.slice(2)).ok).toBe(true);
    }),
    { seed, numRuns: 500 },
  );
});

test("buying AAA for BBB and selling BBB for AAA are the same trade when both name it exactly", () => {
  fc.assert(
    fc.property(anyOrder, fc.integer({ min: 1, max: 12 }), (order, part) => {
      const volume = mul(order.maxBaseVol, rational(BigInt(part), 10n));
      const worth = mul(volume, order.price);
      const buy = matchMakerWithRequest(order, aRequest({ baseAmount: volume, relAmount: worth }), OWN_X);
      const sell = matchMakerWithRequest(order, sellRequest({ baseAmount: worth, relAmount: volume }), OWN_X);
      expect(sell).toEqual(buy);
    }),
    { seed },
  );
});

test("whatever is requested in whatever order, an order never gives away more than it has", () => {
  const requests = anyOrder.chain((order) => fc.tuple(fc.constant(order), fc.array(aimedRequest(order), { maxLength: 30 })));
  fc.assert(
    fc.property(requests, ([first, wanted]) => {
      let order = first;
      wanted.forEach((request, i) => {
        const amounts = matchMakerWithRequest(order, request, OWN_X);
        if (!amounts.ok) return;
        const reserved = aReserved({ baseAmount: amounts.value.maker, relAmount: amounts.value.taker, takerOrderUuid: `t${i}` });
        const next = reserveMatch(order, { request, taker: MAKER, reserved, reservedAtMs: 0, connectedAtMs: null });
        expect(next.ok).toBe(true);
        if (next.ok) order = next.value;
        expect(gt(ZERO, availableVolume(order))).toBe(false);
      });
    }),
    { seed },
  );
});
