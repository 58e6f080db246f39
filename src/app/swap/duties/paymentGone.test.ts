import { expect, test } from "vitest";
import type { SwapTask } from "../swapTask.ts";
import { isOursMissing, isTheirsMissing, PaymentGone } from "./paymentGone.ts";

const LOCK = 1_700_000_000;
const HOUR = 3_600;
const KEY = `02${"11".repeat(32)}`;
const NEGOTIATED = { theirStartedAt: LOCK, secretHash: "22".repeat(20), makerCoinPub: KEY, takerCoinPub: KEY };
const TERMS = {
  role: "taker",
  startedAt: LOCK,
  lockDurationSec: HOUR,
  myMakerCoinPub: KEY,
  myTakerCoinPub: KEY,
  makerUnits: "1",
  takerUnits: "1",
};

/** A taker whose payment the maker has claimed for good, and that is shown nothing of the maker's. @param said what its contract says of it */
function isGone(said: "unspent" | "claimed" | "refunded" | null): boolean {
  let now = LOCK;
  const task = {
    state: { terms: TERMS, negotiated: NEGOTIATED, facts: { takerPaymentSpend: { confirmed: true } }, isTheirsGone: false },
    covered: new Set(["maker"]),
    nowSec: () => now,
    times: () => ({ makerLock: LOCK }),
    coin: () => ({
      contractScript: () => new Uint8Array(1),
      chain: { status: () => ({ state: "ready" }), unfound: () => said },
    }),
  } as unknown as SwapTask;
  const payment = new PaymentGone(isTheirsMissing);
  expect(payment.isGone(task)).toBe(false);
  now += HOUR + 1;
  return payment.isGone(task);
}

test("a payment that is shown no more is given up only where its contract does not hold it, nor has paid it to us", () => {
  expect([isGone("unspent"), isGone("claimed"), isGone("refunded"), isGone(null)]).toEqual([false, false, true, true]);
});

const OURS = { txid: "aa", raw: "00", attempted: true };
const BLOCK = { height: 1, hash: "h" };

/** Whether a taker's payment of which nothing is there is missing, with this of its state and of its chain otherwise. */
function isMissing(state: object, chain: object = {}, restsOnNothing: unknown = () => true): boolean {
  const ready = { status: () => ({ state: "ready" }), tx: () => undefined, ...chain };
  return isOursMissing({
    state: { terms: TERMS, negotiated: NEGOTIATED, facts: {}, own: { takerPayment: OURS }, isOursGone: false, ...state },
    covered: new Set(["taker"]),
    coin: () => ({ contractScript: () => new Uint8Array(1), chain: ready, restsOnNothing }),
  } as unknown as SwapTask);
}

test("an own payment is missing only where nothing that it spends is there, and nothing is known of what became of it", () => {
  expect(isMissing({})).toBe(true);
  expect(isMissing({ facts: { takerPayment: { ...OURS, block: null } } })).toBe(true);
  // Its claim was of a payment that is gone as well.
  expect(isMissing({ own: { takerPayment: OURS, makerPaymentSpend: OURS } })).toBe(true);
  const otherwise = [
    isMissing({}, {}, () => false),
    isMissing({}, {}, null),
    isMissing({}, { tx: () => ({ txid: "aa" }) }),
    isMissing({}, { status: () => ({ state: "connecting" }) }),
    isMissing({}, { crowded: () => "reading" }),
    isMissing({ own: {} }),
    isMissing({ own: { takerPayment: { ...OURS, attempted: false } } }),
    isMissing({ own: { takerPayment: OURS, makerPaymentSpend: OURS }, facts: { makerPayment: { ...OURS, block: null } } }),
    isMissing({ own: { takerPayment: OURS, makerPaymentSpend: OURS }, facts: { makerPaymentSpend: { ...OURS, block: BLOCK } } }),
    isMissing({ facts: { takerPayment: { ...OURS, block: BLOCK } } }),
    isMissing({ facts: { takerPaymentSpend: { ...OURS, block: null } } }),
    isMissing({ facts: { cancel: { ...OURS, block: BLOCK } } }),
    isMissing({ isOursGone: true }),
  ];
  expect(otherwise).toEqual(otherwise.map(() => false));
});
