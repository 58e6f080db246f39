import fc from "fast-check";
import { expect, test } from "vitest";
import type { MakerReserved, TakerRequest } from "../message/types.ts";
import { add, decimal, div, eq, lt, mul, type Rational, rational, ZERO } from "../money/rational.ts";
import {
  availableVolume,
  connectMatch,
  createMakerOrder,
  dropMatch,
  forgetSettled,
  isHalfMatched,
  MATCH_LIFE_MS,
  type MakerMatch,
  type MakerOrder,
  makerEndReason,
  reservedVolume,
  reserveMatch,
  resumeMakerOrder,
  shrinkToFunds,
  staleMatches,
} from "./makerOrder.ts";
import { CONNECT_LIFE_MS, connectTaker, type TakerOrder, takerTimeout, takerToMaker } from "./takerOrder.ts";

const seed = Number(process.env.FC_SEED ?? 20_261_121);
console.info(`order lifecycle properties: seed ${seed}`);

const TAKER = `02${"11".repeat(32)}`;
const conf = { baseConfs: 1, baseNota: false, relConfs: 2, relNota: true };
const aMakerOrder = (over: Partial<MakerOrder> = {}): MakerOrder => ({
  ...createMakerOrder({
    uuid: "maker",
    base: "AAA",
    rel: "BBB",
    baseOrderbookTicker: null,
    relOrderbookTicker: null,
    price: decimal("2"),
    maxBaseVol: decimal("10"),
    minBaseVol: decimal("1"),
    conf,
    createdAtMs: 0,
    timeoutMinutes: null,
    saveInHistory: true,
  }),
  ...over,
});
function aMatch(uuid: string, volume: Rational, reservedAtMs = 0): MakerMatch {
  const relAmount = mul(volume, decimal("2"));
  const request: TakerRequest = {
    base: "AAA",
    rel: "BBB",
    baseAmount: volume,
    relAmount,
    action: "Buy",
    uuid,
    matchBy: { type: "Any" },
    conf,
    swapVersion: 1,
  };
  const reserved: MakerReserved = {
    base: "AAA",
    rel: "BBB",
    baseAmount: volume,
    relAmount,
    takerOrderUuid: uuid,
    makerOrderUuid: "maker",
    conf,
    swapVersion: 1,
  };
  return { request, taker: TAKER, reserved, reservedAtMs, connectedAtMs: null };
}
function reserved(order: MakerOrder, uuid: string, volume: string, atMs = 0): MakerOrder {
  const next = reserveMatch(order, aMatch(uuid, decimal(volume), atMs));
  if (!next.ok) throw new Error(next.error);
  return next.value;
}
const aTakerOrder = (over: Partial<TakerOrder> = {}): TakerOrder => ({
  uuid: "taker",
  action: "Sell",
  base: "AAA",
  rel: "BBB",
  baseOrderbookTicker: "A",
  relOrderbookTicker: null,
  baseAmount: decimal("3"),
  relAmount: decimal("6"),
  matchBy: { type: "Orders", data: ["x"] },
  conf,
  orderType: "GoodTillCancelled",
  minVolume: decimal("0.5"),
  createdAtMs: 1_000,
  timeoutSec: 30,
  saveInHistory: true,
  match: null,
  ...over,
});

test("a clock that is set back by an hour holds neither a maker's volume nor a taker's order for that long", () => {
  const setBack = 3_600_000;
  const reserved = reserveMatch(aMakerOrder(), aMatch("t", decimal("3"), setBack));
  const order = reserved.ok ? reserved.value : aMakerOrder();
  expect(staleMatches(order, setBack - 10_000)).toEqual([]);
  expect(staleMatches(order, 0)).toEqual(["t"]);
  const connected = connectTaker(aTakerOrder({ createdAtMs: setBack }), aMatch("t", decimal("3")).reserved, TAKER, setBack);
  expect([takerTimeout(connected, setBack - 10_000), takerTimeout(connected, 0)]).toEqual(["none", "TimedOut"]);
});

test("the 31st second is too late for a connect; the 30th is not", () => {
  const order = reserved(aMakerOrder(), "t", "4");
  expect(connectMatch(order, "t", TAKER, 30_000).ok).toBe(true);
  expect(connectMatch(order, "t", TAKER, 30_001)).toEqual({ ok: false, error: "TooLate" });
  expect(staleMatches(order, 30_000)).toEqual([]);
  expect(staleMatches(order, 30_001)).toEqual(["t"]);
});

test("takers with odd denominators of their own cannot make the volume left longer than a bound, nor the sums slow", () => {
  let order = aMakerOrder({ minBaseVol: ZERO });
  const answers = Array.from({ length: 200 }, (_, i) => {
    const next = reserveMatch(order, aMatch(`t${i}`, rational(1n, (1n << 1_000n) + BigInt(2 * i + 1))));
    if (next.ok) order = next.value;
    return next.ok ? "ok" : next.error;
  });
  expect(new Set(answers)).toEqual(new Set(["ok", "TooFine"]));
  expect(reservedVolume(order).d.toString(2).length).toBeLessThanOrEqual(2_048);
  // Whoever has no odd denominator of his own is still served.
  expect(reserveMatch(order, aMatch("decimal", decimal("0.1"))).ok).toBe(true);
});

test("a request is reserved for once, and never for more than there is", () => {
  const order = reserved(aMakerOrder(), "t", "4");
  expect(reserveMatch(order, aMatch("t", decimal("4")))).toEqual({ ok: false, error: "AlreadyMatched" });
  expect(reserveMatch(order, aMatch("u", decimal("6.00000001")))).toEqual({ ok: false, error: "AboveAvailable" });
  expect(availableVolume(order)).toEqual(decimal("6"));
});

test("only the request's own sender connects, and only once", () => {
  const order = reserved(aMakerOrder(), "t", "4");
  expect(connectMatch(order, "t", `03${"22".repeat(32)}`, 1)).toEqual({ ok: false, error: "NotTheTaker" });
  expect(connectMatch(order, "u", TAKER, 1)).toEqual({ ok: false, error: "NoMatch" });
  const connected = connectMatch(order, "t", TAKER, 1);
  expect(connected.ok && connectMatch(connected.value, "t", TAKER, 2)).toEqual({ ok: false, error: "AlreadyConnected" });
});

test("a connected match keeps its volume for good; a dropped one gives it back", () => {
  const half = reserved(aMakerOrder(), "t", "4");
  const connected = connectMatch(half, "t", TAKER, 1);
  if (!connected.ok) throw new Error("not connected");
  expect(availableVolume(connected.value)).toEqual(decimal("6"));
  expect(connected.value.startedSwaps).toEqual(["t"]);
  expect(staleMatches(connected.value, 10 * MATCH_LIFE_MS)).toEqual([]);
  expect(availableVolume(dropMatch(half, "t"))).toEqual(decimal("10"));
});

test("an order whose rest is below its minimum ends Fulfilled, but not while a handshake is open", () => {
  const connected = connectMatch(reserved(aMakerOrder(), "t", "7"), "t", TAKER, 1);
  if (!connected.ok) throw new Error("not connected");
  expect(makerEndReason(connected.value, 2)).toBeNull();
  const other = reserved(connected.value, "u", "2.5", 2);
  expect(makerEndReason(other, 3)).toBeNull();
  const both = connectMatch(other, "u", TAKER, 3);
  expect(both.ok && makerEndReason(both.value, 4)).toBe("Fulfilled");
});

test("an order without matches whose volume is below its minimum ends InsufficientBalance", () => {
  expect(makerEndReason(aMakerOrder({ maxBaseVol: decimal("0.5") }), 0)).toBe("InsufficientBalance");
});

test("expiry does not wait for an open handshake, and 0 minutes expire at once", () => {
  const order = reserved(aMakerOrder({ timeoutMinutes: 1 }), "t", "4");
  expect(makerEndReason(order, 59_999)).toBeNull();
  expect(makerEndReason(order, 60_000)).toBe("Expired");
  expect(makerEndReason(aMakerOrder({ timeoutMinutes: 0 }), 0)).toBe("Expired");
});

test("shrinking keeps what is matched, never grows, and ends an order that falls below its minimum", () => {
  const order = reserved(aMakerOrder(), "t", "4");
  expect(shrinkToFunds(order, decimal("2"))?.maxBaseVol).toEqual(decimal("6"));
  expect(shrinkToFunds(order, decimal("6"))).toBe(order);
  expect(shrinkToFunds(order, decimal("100"))).toBe(order);
  expect(shrinkToFunds(order, decimal("0.99999999"))).toBeNull();
});

test("a restart drops half-open matches and connected ones whose swap was never stored, and renews no life", () => {
  const one = connectMatch(reserved(aMakerOrder({ timeoutMinutes: 1 }), "stored", "2"), "stored", TAKER, 1);
  const two = one.ok ? connectMatch(reserved(one.value, "lost", "2"), "lost", TAKER, 1) : one;
  if (!two.ok) throw new Error("not connected");
  const resumed = resumeMakerOrder(reserved(two.value, "half", "2"), (uuid) => uuid === "stored");
  expect([...resumed.matches.keys()]).toEqual(["stored"]);
  expect(resumed.startedSwaps).toEqual(["stored"]);
  expect(availableVolume(resumed)).toEqual(decimal("8"));
  expect(makerEndReason(resumed, 59_999)).toBeNull();
  expect(makerEndReason(resumed, 60_000)).toBe("Expired");
});

test("a sell converts to an order of the same pair, without match_by", () => {
  const maker = takerToMaker(aTakerOrder(), 31_000);
  expect(maker).toMatchObject({
    uuid: "taker",
    base: "AAA",
    rel: "BBB",
    baseOrderbookTicker: "A",
    price: decimal("2"),
    maxBaseVol: decimal("3"),
    minBaseVol: decimal("0.5"),
    conf,
    createdAtMs: 31_000,
    updatedAtMs: 31_000,
  });
  expect(maker).not.toHaveProperty("matchBy");
});

test("a buy converts to a sell of the other coin, settings swapped, minimum of the same value", () => {
  const maker = takerToMaker(aTakerOrder({ action: "Buy" }), 31_000);
  expect(maker).toMatchObject({
    base: "BBB",
    rel: "AAA",
    relOrderbookTicker: "A",
    price: decimal("0.5"),
    maxBaseVol: decimal("6"),
    minBaseVol: decimal("1"),
    conf: { baseConfs: 2, baseNota: true, relConfs: 1, relNota: false },
  });
});

test.each<[string, Partial<TakerOrder>, number, string]>([
  ["open within its time", {}, 31_000, "none"],
  ["GoodTillCancelled past it", {}, 31_001, "Convert"],
  ["FillOrKill past it", { orderType: "FillOrKill" }, 31_001, "TimedOut"],
  ["a life of 0 s at the next look", { timeoutSec: 0 }, 1_001, "Convert"],
])("taker order: %s", (_what, over, nowMs, expected) => {
  expect(takerTimeout(aTakerOrder(over), nowMs)).toBe(expected);
});

test("a taker order that connected and heard nothing is dropped, at its end or after a minute, and never converted", () => {
  const connected = connectTaker(aTakerOrder(), aMatch("taker", decimal("3")).reserved, TAKER, 4_000);
  expect(takerTimeout(connected, 31_000)).toBe("none");
  expect(takerTimeout(connected, 31_001)).toBe("TimedOut");
  const patient = { ...connected, timeoutSec: 86_400 };
  expect(takerTimeout(patient, 4_000 + CONNECT_LIFE_MS)).toBe("none");
  expect(takerTimeout(patient, 4_001 + CONNECT_LIFE_MS)).toBe("TimedOut");
});

const positive = fc.tuple(fc.bigInt({ min: 1n, max: 10n ** 20n }), fc.bigInt({ min: 1n, max: 10n ** 20n })).map(([n, d]) => rational(n, d));

test("conversion keeps the value: what is given, what is wanted at least, and the minimum are the same amounts", () => {
  fc.assert(
    fc.property(
      fc.constantFrom<"Buy" | "Sell">("Buy", "Sell"),
      positive,
      positive,
      positive,
      (action, baseAmount, relAmount, minVolume) => {
        const order = aTakerOrder({ action, baseAmount, relAmount, minVolume });
        const maker = takerToMaker(order, 0);
        const [given, wanted] = action === "Sell" ? [baseAmount, relAmount] : [relAmount, baseAmount];
        expect(eq(maker.maxBaseVol, given)).toBe(true);
        expect(eq(mul(maker.maxBaseVol, maker.price), wanted)).toBe(true);
        const minimum = action === "Sell" ? maker.minBaseVol : mul(maker.minBaseVol, maker.price);
        expect(eq(minimum, minVolume)).toBe(true);
        expect(eq(div(given, wanted), div(rational(1n), maker.price))).toBe(true);
      },
    ),
    { seed },
  );
});

type Event = { readonly do: "reserve" | "connect" | "drop" | "wait" | "shrink" | "restart"; readonly n: number };
const anyEvent: fc.Arbitrary<Event> = fc.record({
  do: fc.constantFrom("reserve", "connect", "drop", "wait", "shrink", "restart"),
  n: fc.integer({ min: 0, max: 9 }),
});

test("in whatever order events arrive, matched volume never exceeds the maximum and connected volume is never given back", () => {
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 60 }), (events) => {
      let order = aMakerOrder();
      let nowMs = 0;
      let made = 0;
      const connectedVolume = (o: MakerOrder): Rational =>
        [...o.matches.values()].reduce((sum, m) => (m.connectedAtMs === null ? sum : add(sum, m.reserved.baseAmount)), ZERO);
      for (const event of events) {
        const before = connectedVolume(order);
        const uuids = [...order.matches.keys()];
        const uuid = uuids[event.n % Math.max(uuids.length, 1)] ?? "none";
        const halfOpen = order.matches.get(uuid)?.connectedAtMs === null;
        if (event.do === "reserve") {
          const next = reserveMatch(order, aMatch(`t${made++}`, rational(BigInt(event.n), 2n), nowMs));
          if (next.ok) order = next.value;
        } else if (event.do === "connect") {
          const next = connectMatch(order, uuid, TAKER, nowMs);
          if (next.ok) order = next.value;
        } else if (event.do === "drop") {
          if (halfOpen) order = dropMatch(order, uuid);
        } else if (event.do === "wait") {
          nowMs += event.n * 5_000;
          order = staleMatches(order, nowMs).reduce(dropMatch, order);
        } else if (event.do === "shrink") order = shrinkToFunds(order, rational(BigInt(event.n))) ?? order;
        else order = resumeMakerOrder(order, () => true);
        expect(lt(order.maxBaseVol, reservedVolume(order))).toBe(false);
        expect(lt(connectedVolume(order), before)).toBe(false);
        expect(order.startedSwaps.length).toBe([...order.matches.values()].filter((m) => m.connectedAtMs !== null).length);
        if (isHalfMatched(order)) expect(makerEndReason(order, nowMs)).toBeNull();
      }
    }),
    { seed, numRuns: 300 },
  );
});

test("an order forgets its settled matches, oldest first, and can still sell exactly what it could", () => {
  let order = aMakerOrder({ maxBaseVol: decimal("1000"), minBaseVol: ZERO });
  for (let i = 0; i < 2_500; i++) {
    const reserved = reserveMatch(order, aMatch(`t${i}`, rational(1n, BigInt(3 + (i % 7)))));
    if (!reserved.ok) throw new Error(`${i}: ${reserved.error}`);
    const connected = i % 50 === 0 ? reserved : connectMatch(reserved.value, `t${i}`, TAKER, 0);
    if (!connected.ok) throw new Error(`${i}: ${connected.error}`);
    const before = availableVolume(connected.value);
    // Every hundredth has paid nothing yet: its volume may come back.
    order = forgetSettled(connected.value, (uuid) => Number(uuid.slice(1)) % 100 !== 1);
    expect(eq(availableVolume(order), before)).toBe(true);
    expect(order.matches.size).toBeLessThan(200);
  }
  const kept = [...order.matches.keys()].map((uuid) => Number(uuid.slice(1)));
  for (let i = 0; i < 2_500; i += 50) expect(kept).toContain(i);
  for (let i = 1; i < 2_500; i += 100) expect(kept).toContain(i);
  expect([kept.at(-1), order.startedSwaps.at(-1)]).toEqual([2_499, "t2499"]);
  expect(order.startedSwaps.length).toBeLessThan(1_200);
});

test("odd fractions do not make an order's volume ever finer: what they took is kept beside it", () => {
  let order = aMakerOrder({ maxBaseVol: decimal("1000"), minBaseVol: ZERO });
  const odd = (i: number): bigint => (1n << 200n) + BigInt(2 * i + 1);
  let last = "";
  for (let i = 0; i < 300 && last === ""; i++) {
    const reserved = reserveMatch(order, aMatch(`t${i}`, rational(1n, odd(i % 9))));
    if (!reserved.ok) last = reserved.error;
    else {
      const connected = connectMatch(reserved.value, `t${i}`, TAKER, 0);
      if (!connected.ok) throw new Error(connected.error);
      order = forgetSettled(connected.value, () => true);
    }
  }
  expect(last).toBe("");
  expect(order.maxBaseVol.d < 1n << 512n).toBe(true);
  expect(order.matches.size).toBeGreaterThan(100);
});
