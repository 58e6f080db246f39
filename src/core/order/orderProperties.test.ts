import fc from "fast-check";
import { expect, test } from "vitest";
import type { MakerReserved, TakerRequest } from "../message/types.ts";
import { add, decimal, eq, gt, gte, lt, mul, type Rational, rational, ZERO } from "../money/rational.ts";
import {
  availableVolume,
  connectMatch,
  createMakerOrder,
  dropMatch,
  MATCH_LIFE_MS,
  type MakerMatch,
  type MakerOrder,
  makerEndReason,
  reserveMatch,
  resumeMakerOrder,
  shrinkToFunds,
  staleMatches,
} from "./makerOrder.ts";
import { matchMakerWithRequest, takerAcceptsReserved } from "./matching.ts";
import { checkPairCoins } from "./orderRules.ts";
import { takerView } from "./swapConfs.ts";
import {
  CONNECT_LIFE_MS,
  connectTaker,
  type TakerOrder,
  takerDeadlineMs,
  takerRequestOf,
  takerTimeout,
  takerToMaker,
} from "./takerOrder.ts";

const seed = Number(process.env.FC_SEED ?? 20_261_122);
console.info(`order properties: seed ${seed}`);

const conf = { baseConfs: 1, baseNota: false, relConfs: 2, relNota: true };
/** Handshakes of one order at once. */
const AT_ONCE = 1_000;
const NO_INFO = { base: new Uint8Array(0), rel: new Uint8Array(0) };
const key = (n: number): string => `02${String(n).repeat(64)}`;

/** Volume and price are small fractions, so that what fits exactly, nearly and not at all all come up. */
const volume = fc.tuple(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 3 })).map(([n, d]) => rational(BigInt(n), BigInt(d)));
const price = fc.tuple(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: 3 })).map(([n, d]) => rational(BigInt(n), BigInt(d)));

const makerOrder = (uuid: string, at: Rational, max: Rational): MakerOrder =>
  createMakerOrder({
    uuid,
    base: "AAA",
    rel: "BBB",
    baseOrderbookTicker: null,
    relOrderbookTicker: null,
    price: at,
    maxBaseVol: max,
    minBaseVol: rational(1n, 2n),
    conf,
    createdAtMs: 0,
    timeoutMinutes: 2,
    saveInHistory: true,
  });
const takerOrder = (uuid: string, action: "Buy" | "Sell", amount: Rational, at: Rational, over: Partial<TakerOrder> = {}): TakerOrder => ({
  uuid,
  action,
  base: action === "Buy" ? "AAA" : "BBB",
  rel: action === "Buy" ? "BBB" : "AAA",
  baseOrderbookTicker: null,
  relOrderbookTicker: null,
  baseAmount: amount,
  relAmount: mul(amount, at),
  matchBy: { type: "Any" },
  conf,
  orderType: "GoodTillCancelled",
  minVolume: rational(1n, 4n),
  createdAtMs: 0,
  timeoutSec: 30,
  saveInHistory: true,
  match: null,
  ...over,
});
const matchOf = (
  request: TakerRequest,
  order: MakerOrder,
  amounts: { maker: Rational; taker: Rational },
  atMs: number,
  taker: string,
): MakerMatch => {
  const reserved: MakerReserved = {
    base: "AAA",
    rel: "BBB",
    baseAmount: amounts.maker,
    relAmount: amounts.taker,
    takerOrderUuid: request.uuid,
    makerOrderUuid: order.uuid,
    conf,
    swapVersion: 1,
  };
  return { request, taker, reserved, reservedAtMs: atMs, connectedAtMs: null };
};

type Act =
  | { readonly do: "ask"; readonly action: "Buy" | "Sell"; readonly amount: Rational; readonly price: Rational; readonly life: number }
  | { readonly do: "reserve" | "offer" | "connect" | "connected" | "stranger"; readonly maker: number; readonly n: number }
  | { readonly do: "shrink"; readonly maker: number; readonly funds: Rational }
  | { readonly do: "restart"; readonly maker: number }
  | { readonly do: "wait"; readonly ms: number };
const who = { maker: fc.nat(2), n: fc.nat(3) };
const anyAct: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("ask" as const),
      action: fc.constantFrom("Buy" as const, "Sell" as const),
      amount: volume,
      price,
      life: fc.constantFrom(0, 30, 600),
    }),
  },
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constantFrom("reserve" as const, "offer" as const, "connect" as const, "connected" as const, "stranger" as const),
      ...who,
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("shrink" as const), maker: who.maker, funds: volume }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("restart" as const), maker: who.maker }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("wait" as const), ms: fc.constantFrom(1, 1, 1, 999, 999, 29_000, 61_000) }) },
);

/** One of the last few. */
const recent = <T>(list: readonly T[], n: number): T | undefined => list[list.length - 1 - (n % Math.max(list.length, 1))];

/**
 * Both order machines and every message between them, which may come late, twice, in another order, to the wrong maker or not at
 * all: `offers` holds what was ever offered, and an act picks one of the last.
 */
class Market {
  nowMs = 0;
  readonly makers: MakerOrder[] = [];
  readonly takers: TakerOrder[] = [];
  readonly offers: MakerReserved[] = [];
  /** Swaps a side may have started: by the maker's view, and by the taker's. */
  readonly begun = new Map<string, { readonly maker: string; readonly amounts: readonly [Rational, Rational] }>();
  readonly done = new Map<string, string>();
  /** Offers that say other amounts than their maker has reserved. */
  readonly lies = new Set<MakerReserved>();
  readonly first = new Map<string, string>();
  readonly ended = new Map<string, string>();

  constructor(prices: readonly Rational[]) {
    for (const [i, at] of prices.entries()) this.makers.push(makerOrder(`m${i}`, at, rational(10n)));
  }

  act(a: Act): void {
    if (a.do === "wait") this.nowMs += a.ms;
    else if (a.do === "ask") {
      const uuid = `t${this.takers.length}`;
      this.takers.push(takerOrder(uuid, a.action, a.amount, a.price, { createdAtMs: this.nowMs, timeoutSec: a.life }));
    } else {
      const maker = this.makers[a.maker];
      if (!maker) return;
      if (a.do === "shrink") this.makers[a.maker] = shrinkToFunds(maker, a.funds) ?? maker;
      else if (a.do === "restart") this.makers[a.maker] = resumeMakerOrder(maker, (uuid) => this.begun.has(uuid));
      if (a.do === "reserve" || a.do === "offer" || a.do === "connect" || a.do === "connected" || a.do === "stranger")
        this.#message(a.do, a.maker, a.n);
    }
    this.#time();
  }

  #message(kind: "reserve" | "offer" | "connect" | "connected" | "stranger", m: number, n: number): void {
    const maker = this.makers[m];
    if (!maker) return;
    if (kind === "reserve") {
      const taker = recent(this.takers, n);
      if (!taker) return;
      const request = takerRequestOf(taker, NO_INFO);
      const amounts = matchMakerWithRequest(maker, request, "00".repeat(32));
      if (!amounts.ok) return;
      const match = matchOf(request, maker, amounts.value, this.nowMs, key(1 + (n % 5)));
      const next = reserveMatch(maker, match);
      if (!next.ok) return;
      this.makers[m] = next.value;
      this.offers.push(match.reserved);
      // What a maker may say and must not get: more for the same, or less of it.
      if (n === 2) this.#lie({ ...match.reserved, relAmount: mul(match.reserved.relAmount, rational(3n)) });
      if (n === 3) this.#lie({ ...match.reserved, baseAmount: mul(match.reserved.baseAmount, rational(1n, 3n)) });
      return;
    }
    const offer = recent(this.offers, n);
    const at = this.takers.findIndex((o) => o.uuid === offer?.takerOrderUuid);
    const taker = this.takers[at];
    if (!offer || !taker) return;
    const chosen = taker.match?.reserved;
    const isChosen = chosen?.makerOrderUuid === offer.makerOrderUuid;
    if (kind === "offer") {
      const accepted = takerAcceptsReserved(taker, offer, "00".repeat(32));
      if (!accepted.ok || takerTimeout(taker, this.nowMs) !== "none") return;
      this.takers[at] = connectTaker(taker, offer, key(6), this.nowMs);
      this.first.set(taker.uuid, this.first.get(taker.uuid) ?? offer.makerOrderUuid);
    } else if (kind === "connected") {
      if (isChosen && !this.lies.has(chosen) && this.begun.get(taker.uuid)?.maker === offer.makerOrderUuid)
        this.done.set(taker.uuid, offer.makerOrderUuid);
    } else if (kind === "stranger" || isChosen) {
      const to = this.makers.findIndex((o) => o.uuid === offer.makerOrderUuid);
      const order = this.makers[to];
      const match = order?.matches.get(taker.uuid);
      if (!order) return;
      const next = connectMatch(order, taker.uuid, kind === "stranger" ? key(8) : (match?.taker ?? ""), this.nowMs);
      if (kind === "stranger") expect(next.ok).toBe(false);
      if (!next.ok || !match) return;
      this.makers[to] = next.value;
      this.begun.set(taker.uuid, { maker: order.uuid, amounts: [match.reserved.baseAmount, match.reserved.relAmount] });
    }
  }

  #lie(offer: MakerReserved): void {
    this.offers.push(offer);
    this.lies.add(offer);
  }

  /** What the clock does to every order. */
  #time(): void {
    for (const [i, order] of this.makers.entries()) this.makers[i] = staleMatches(order, this.nowMs).reduce(dropMatch, order);
    for (const order of this.takers) {
      const due = takerTimeout(order, this.nowMs);
      const before = this.ended.get(order.uuid);
      // An order's end is an end: it is not found alive or ended otherwise later, whatever came meanwhile.
      if (before !== undefined) expect(due).toBe(before);
      else if (due !== "none") this.ended.set(order.uuid, due);
    }
  }
}

test("in whatever order the messages of many makers and takers arrive, nobody sells more than it has, pays a worse price, or agrees twice", () => {
  let [swaps, conversions] = [0, 0];
  fc.assert(
    fc.property(
      fc.array(price, { minLength: 3, maxLength: 3 }),
      fc.array(anyAct, { minLength: 60, maxLength: 200, size: "max" }),
      (prices, acts) => {
        const market = new Market(prices);
        for (const a of acts) {
          market.act(a);
          for (const order of market.makers) {
            const taken = [...order.matches.values()].reduce((sum, m) => add(sum, m.reserved.baseAmount), ZERO);
            expect(gte(availableVolume(order), ZERO)).toBe(true);
            expect(eq(add(availableVolume(order), taken), order.maxBaseVol)).toBe(true);
            // What has begun stays taken; what is only half agreed is given back in time.
            for (const [uuid, begun] of market.begun)
              if (begun.maker === order.uuid) expect(order.matches.get(uuid)?.connectedAtMs).not.toBe(undefined);
            for (const m of order.matches.values()) {
              if (m.connectedAtMs === null) expect(market.nowMs - m.reservedAtMs).toBeLessThanOrEqual(MATCH_LIFE_MS);
            }
            if (makerEndReason(order, market.nowMs) === "Fulfilled") expect(lt(availableVolume(order), order.minBaseVol)).toBe(true);
          }
          for (const order of market.takers) {
            // The first choice is final.
            expect(order.match?.reserved.makerOrderUuid).toBe(market.first.get(order.uuid));
            if (order.match) {
              expect(market.ended.get(order.uuid)).not.toBe("Convert");
              const { baseAmount, relAmount } = order.match.reserved;
              const [got, paid] = [baseAmount, relAmount];
              expect(eq(order.action === "Buy" ? got : paid, order.baseAmount)).toBe(true);
              expect(order.action === "Buy" ? gt(paid, order.relAmount) : lt(got, order.relAmount)).toBe(false);
            }
          }
        }
        for (const [uuid, maker] of market.done) {
          const order = market.takers.find((o) => o.uuid === uuid);
          const { baseAmount, relAmount } = order?.match?.reserved ?? { baseAmount: ZERO, relAmount: ZERO };
          // Both sides begin the same swap.
          expect(market.begun.get(uuid)).toEqual({ maker, amounts: [baseAmount, relAmount] });
        }
        for (const [uuid, end] of market.ended) {
          const order = market.takers.find((o) => o.uuid === uuid);
          if (!order || end !== "Convert") continue;
          conversions++;
          expect(
            eq(
              mul(takerToMaker(order, 0).maxBaseVol, takerToMaker(order, 0).price),
              order.action === "Buy" ? order.baseAmount : order.relAmount,
            ),
          ).toBe(true);
        }
        swaps += market.done.size;
      },
    ),
    { seed, numRuns: 200 },
  );
  // Chance got far enough to mean something.
  expect(swaps).toBeGreaterThan(30);
  expect(conversions).toBeGreaterThan(30);
});

test("a taker order ends at its time and at the wait for connected, whichever is first, and never before", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 600 }), fc.option(fc.nat(600_000)), fc.nat(900_000), (timeoutSec, connectAtMs, nowMs) => {
      const open = takerOrder("t", "Buy", rational(1n), rational(1n), { timeoutSec });
      const offer = matchOf(
        takerRequestOf(open, NO_INFO),
        makerOrder("m", rational(1n), rational(9n)),
        { maker: rational(1n), taker: rational(1n) },
        0,
        key(1),
      );
      const order = connectAtMs === null ? open : connectTaker(open, offer.reserved, key(1), connectAtMs);
      const overAt = connectAtMs === null ? takerDeadlineMs(open) : Math.min(takerDeadlineMs(open), connectAtMs + CONNECT_LIFE_MS);
      const wasSetBack = connectAtMs !== null && nowMs < connectAtMs - CONNECT_LIFE_MS;
      const isOver = wasSetBack || nowMs > overAt;
      expect(takerTimeout(order, nowMs)).toBe(isOver ? (connectAtMs === null ? "Convert" : "TimedOut") : "none");
    }),
    { seed },
  );
});

test("a taker order cannot be connected a second time: a second maker would lock its coins for nothing", () => {
  const open = takerOrder("t", "Buy", rational(1n), rational(1n));
  const { reserved } = matchOf(
    takerRequestOf(open, NO_INFO),
    makerOrder("m", rational(1n), rational(9n)),
    { maker: rational(1n), taker: rational(1n) },
    0,
    key(1),
  );
  const once = connectTaker(open, reserved, key(1), 0);
  expect(() => connectTaker(once, reserved, key(2), 1)).toThrow("taker order is matched already");
});

test("an order takes part in a bounded number of handshakes at once, however small they are", () => {
  let order = makerOrder("m", rational(1n), decimal("1000000"));
  const request = (n: number): TakerRequest => takerRequestOf(takerOrder(`t${n}`, "Buy", rational(1n), rational(1n)), NO_INFO);
  const one = { maker: rational(1n), taker: rational(1n) };
  for (let n = 0; n < AT_ONCE; n++) {
    const next = reserveMatch(order, matchOf(request(n), order, one, 0, key(1)));
    if (!next.ok) throw new Error(next.error);
    order = next.value;
  }
  expect(reserveMatch(order, matchOf(request(AT_ONCE), order, one, 0, key(1)))).toEqual({
    ok: false,
    error: "TooManyMatches",
  });
  expect(dropMatch(order, "nobody")).toBe(order);
  expect(reserveMatch(dropMatch(order, "t0"), matchOf(request(AT_ONCE), order, one, 0, key(1))).ok).toBe(true);
});

test.each(["base", "rel"] as const)("a coin that is only a wallet is named, as %s too", (side) => {
  const coin = (walletOnly: boolean) => ({ walletOnly, orderbookTicker: null, spendsFrom: "contract" as const });
  const coins = { base: coin(side === "base"), rel: coin(side === "rel") };
  const pair = { base: "AAA", rel: "BBB" };
  expect(checkPairCoins(pair, coins, "base")).toEqual({ ok: false, error: { kind: "WalletOnly", ticker: pair[side] } });
});

test("the taker waits for a notarization of its own payment only where both sides want it", () => {
  const wishes = (nota: boolean) => ({ baseConfs: 1, baseNota: false, relConfs: 1, relNota: nota });
  for (const own of [true, false])
    for (const theirs of [true, false]) expect(takerView(wishes(theirs), wishes(own), "Buy").takerNota).toBe(own && theirs);
});
