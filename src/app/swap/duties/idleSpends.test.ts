import { expect, test } from "vitest";
import { swapTerms, TERMS_KEY } from "../../../../test/fakes/swapTerms.ts";
import type { SwapEvent } from "../../../core/swap/events.ts";
import { fold } from "../../../core/swap/swapState.ts";
import { toHex } from "../../../core/util/bytes.ts";
import type { SwapTask } from "../swapTask.ts";
import { giveUpIdle } from "./idleSpends.ts";

const BLOCK = { height: 1, hash: "h" };
const NEGOTIATED = { theirStartedAt: 1, theirLocktime: 0, makerCoinPub: TERMS_KEY, takerCoinPub: TERMS_KEY, secretHash: "22".repeat(20) };
const sent = (slot: "makerPayment" | "takerPaymentSpend" | "makerPaymentRefund", txid: string): readonly SwapEvent[] => [
  { type: "tx_signed", slot, txid, raw: txid, notAfter: null },
  { type: "tx_attempted", slot },
];
/** Of a maker whose claim was seen in no block when its own lock had passed. */
const LOG: readonly SwapEvent[] = [
  { type: "started", terms: swapTerms("maker") },
  { type: "negotiated", with: NEGOTIATED },
  ...sent("makerPayment", "a1"),
  { type: "tx_seen", slot: "makerPayment", txid: "a1", raw: "a1", block: BLOCK },
  ...sent("takerPaymentSpend", "c1"),
  { type: "tx_seen", slot: "takerPaymentSpend", txid: "c1", raw: "c1", block: null },
  { type: "refund_decided", failure: { event: "TakerPaymentSpendConfirmFailed", reason: "its lock has passed" } },
  ...sent("makerPaymentRefund", "d1"),
];

/** What is given up, where each has a nonce. */
function givenUp(isClaimMined: boolean): readonly string[] {
  const gone = new Set<string>();
  const coin = {
    relayPolicy: "nonce",
    giveUp: (raw: Uint8Array) => void gone.add(toHex(raw)),
    takeBack: (raw: Uint8Array) => void gone.delete(toHex(raw)),
    chain: { tx: (txid: string) => (txid === "c1" ? { txid, block: isClaimMined ? BLOCK : null } : undefined) },
  };
  const state = fold(LOG);
  giveUpIdle({ state, coin: () => coin, taken: new Set(), doubted: { has: () => false } } as unknown as SwapTask);
  return [...gone];
}

test("a refund holds up no account while the claim is in a block: it stays home then", () => {
  expect([givenUp(false), givenUp(true)]).toEqual([[], ["d1"]]);
});
