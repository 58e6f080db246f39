import fc from "fast-check";
import { expect, test } from "vitest";
import { ownClaim, ownPayment, ownRefund, type Role, type Slot, type SwapEvent, type SwapTerms } from "./events.ts";
import { begin, duties, fold, outcomeOf, paymentMayExist, type SwapState, step } from "./swapState.ts";
import { swapStatus } from "./swapStatus.ts";

const SLOTS: readonly Slot[] = [
  "fee",
  "makerPayment",
  "takerPayment",
  "takerPaymentSpend",
  "makerPaymentSpend",
  "makerPaymentRefund",
  "takerPaymentRefund",
  "cancel",
];
const KEY = `02${"11".repeat(32)}`;

function terms(role: Role): SwapTerms {
  return {
    role,
    uuid: "11111111-2222-4333-8444-555555555555",
    myOrderUuid: "99999999-8888-4777-a666-000000000001",
    makerCoin: "DOC",
    takerCoin: "MARTY",
    makerAmount: "2/1",
    takerAmount: "1/100",
    makerUnits: "200000000",
    takerUnits: "1000000",
    makerConfs: 1,
    makerNota: false,
    takerConfs: 1,
    takerNota: false,
    lockDurationSec: 7800,
    startedAt: 1_700_000_000,
    counterparty: KEY,
    myPersistentPub: KEY,
    myMakerCoinPub: KEY,
    myTakerCoinPub: KEY,
    secretSalt: role === "maker" ? 7 : null,
    secretHash: role === "maker" ? "22".repeat(20) : null,
    makerStartHeight: 1,
    takerStartHeight: 1,
    dexFeeUnits: "1287",
    dexBurnUnits: "0",
    dexFeePubkey: KEY,
    fees: [],
    gui: null,
    version: "test",
  };
}

const negotiated: SwapEvent = {
  type: "negotiated",
  with: { theirStartedAt: 1_700_000_001, theirLocktime: 1_700_007_801, makerCoinPub: KEY, takerCoinPub: KEY, secretHash: "22".repeat(20) },
};

const slot = fc.constantFrom(...SLOTS);
const txid = fc.constantFrom("aa".repeat(32), "bb".repeat(32));
const block = fc.option(fc.record({ height: fc.integer({ min: 1, max: 9 }), hash: fc.constantFrom("h1", "h2", "h3") }));
const failure = { event: "TakerPaymentValidateFailed", reason: "x" };
const anyEvent: fc.Arbitrary<SwapEvent> = fc.oneof(
  fc.constant(negotiated),
  fc.record({ type: fc.constant("tx_received" as const), slot, txid, raw: fc.constant("00") }),
  fc.record({ type: fc.constant("tx_signed" as const), slot, txid, raw: fc.constant("00"), notAfter: fc.constant(null) }),
  fc.record({ type: fc.constant("tx_attempted" as const), slot }),
  fc.record({ type: fc.constant("tx_dropped" as const), slot, failure: fc.constant(failure) }),
  fc.record({ type: fc.constant("tx_seen" as const), slot, txid, raw: fc.constant("00"), block }),
  fc.record({ type: fc.constant("tx_confirmed" as const), slot, txid, block }),
  fc.record({ type: fc.constant("tx_withdrawn" as const), slot, txid }),
  fc.constant<SwapEvent>({ type: "secret_learned", secret: "33".repeat(32) }),
  fc.constant<SwapEvent>({ type: "refund_decided", failure }),
  fc.constant<SwapEvent>({ type: "abandoned", failure }),
);
const role = fc.constantFrom<Role>("maker", "taker");
const started = (r: Role): SwapState => begin({ type: "started", terms: terms(r) });
const run = (r: Role, events: readonly SwapEvent[]): SwapState => events.reduce(step, started(r));

test("no state with our money locked and not final is idle, whatever order events arrive in", () => {
  fc.assert(
    fc.property(role, fc.array(anyEvent, { maxLength: 40 }), (r, events) => {
      const s = step(run(r, [negotiated, ...events]), negotiated);
      if (!paymentMayExist(s) || outcomeOf(s) !== null) return;
      const kinds = duties(s).map((d) => d.do);
      expect(kinds).toContain("observe");
      const refunding = kinds.includes("refund") || duties(s).some((d) => d.do === "publish" && d.slot === ownRefund(r));
      const lostToTheirClaim = s.facts[r === "maker" ? "makerPaymentSpend" : "takerPaymentSpend"]?.confirmed;
      // The other side took our payment for good: what is left is to take theirs.
      expect(refunding || lostToTheirClaim).toBe(true);
    }),
  );
});

test("the maker never claims (reveals the secret) before its payment left and the taker payment is confirmed, nor on the refund road", () => {
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 40 }), (events) => {
      const s = run("maker", [negotiated, ...events]);
      if (!duties(s).some((d) => d.do === "claim")) return;
      expect(s.refund).toBeNull();
      expect(s.own.makerPayment?.attempted).toBe(true);
      expect(s.facts.takerPayment?.confirmed).toBe(true);
    }),
  );
});

test("the taker never pays before the maker payment is confirmed and its own fee left", () => {
  fc.assert(
    fc.property(fc.array(anyEvent, { maxLength: 40 }), (events) => {
      const s = run("taker", [negotiated, ...events]);
      if (!duties(s).some((d) => d.do === "pay")) return;
      expect(s.facts.makerPayment?.confirmed).toBe(true);
      expect(s.own.fee?.attempted).toBe(true);
    }),
  );
});

test("an outcome other than failed needs a confirmed chain fact, and failed needs that nothing of ours left", () => {
  fc.assert(
    fc.property(role, fc.array(anyEvent, { maxLength: 40 }), (r, events) => {
      const s = run(r, events);
      const outcome = outcomeOf(s);
      if (outcome === "success") expect(s.facts[ownClaim(r)]?.confirmed).toBe(true);
      if (outcome === "refunded") expect(s.facts[ownRefund(r)]?.confirmed).toBe(true);
      if (outcome === "failed") expect(paymentMayExist(s)).toBe(false);
    }),
  );
});

test("an attempted transaction is never replaced or dropped from the outbox", () => {
  fc.assert(
    fc.property(role, fc.array(anyEvent, { maxLength: 30 }), fc.array(anyEvent, { maxLength: 10 }), (r, before, after) => {
      const s = run(r, before);
      const sent = s.own[ownPayment(r)];
      if (!sent?.attempted) return;
      expect(after.reduce(step, s).own[ownPayment(r)]).toEqual(sent);
    }),
  );
});

test("folding a stored log gives the same state as living through it, also after JSON", () => {
  fc.assert(
    fc.property(role, fc.array(anyEvent, { maxLength: 40 }), (r, events) => {
      const log: SwapEvent[] = [{ type: "started", terms: terms(r) }, ...events];
      expect(fold(JSON.parse(JSON.stringify(log)) as SwapEvent[])).toEqual(run(r, events));
    }),
  );
});

test("the status shows each KDF event once, never takes one back, and never shows the secret of a maker", () => {
  fc.assert(
    fc.property(role, fc.array(anyEvent, { maxLength: 40 }), (r, events) => {
      const log = [{ type: "started", terms: terms(r) } as SwapEvent, ...events].map((event, i) => ({ v: 1 as const, atMs: i, event }));
      const shown = (upTo: number): string[] =>
        (swapStatus(log.slice(0, upTo)).events as { event: { type: string } }[]).map((e) => e.event.type);
      const all = shown(log.length);
      expect(new Set(all).size).toBe(all.length);
      for (let n = 1; n < log.length; n++) expect(all.slice(0, shown(n).length)).toEqual(shown(n));
    }),
  );
});

test("a reorg that takes the claim back after the finish shows beside the status and makes the claim go out again", () => {
  const t = "aa".repeat(32);
  const done = run("maker", [
    negotiated,
    { type: "tx_signed", slot: "makerPayment", txid: t, raw: "00", notAfter: null },
    { type: "tx_attempted", slot: "makerPayment" },
    { type: "tx_signed", slot: "takerPaymentSpend", txid: t, raw: "00", notAfter: null },
    { type: "tx_attempted", slot: "takerPaymentSpend" },
    { type: "tx_seen", slot: "takerPaymentSpend", txid: t, raw: "00", block: { height: 5, hash: "h" } },
    { type: "tx_confirmed", slot: "takerPaymentSpend", txid: t, block: { height: 5, hash: "h" } },
    { type: "finished", outcome: "success" },
  ]);
  expect(duties(done).some((d) => d.do === "publish" && d.slot === "takerPaymentSpend")).toBe(false);
  const back = step(done, { type: "tx_withdrawn", slot: "takerPaymentSpend", txid: t });
  expect(back.withdrawnAfterFinish).toEqual(["takerPaymentSpend"]);
  expect(duties(back).some((d) => d.do === "publish" && d.slot === "takerPaymentSpend")).toBe(true);
});
