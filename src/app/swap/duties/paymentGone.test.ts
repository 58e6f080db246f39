import { expect, test } from "vitest";
import type { SwapTask } from "../swapTask.ts";
import { PaymentGone } from "./paymentGone.ts";

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
  const payment = new PaymentGone();
  expect(payment.isGone(task)).toBe(false);
  now += HOUR + 1;
  return payment.isGone(task);
}

test("a payment that is shown no more is given up only where its contract does not hold it, nor has paid it to us", () => {
  expect([isGone("unspent"), isGone("claimed"), isGone("refunded"), isGone(null)]).toEqual([false, false, true, true]);
});
