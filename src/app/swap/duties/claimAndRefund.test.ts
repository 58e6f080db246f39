import { expect, test } from "vitest";
import type { SwapTask } from "../swapTask.ts";
import { isPaidOut } from "./claimAndRefund.ts";

const [SINCE, BLOCK] = [1_000, { height: 1, hash: "h" }];

type Case = {
  readonly isAttempted?: boolean;
  /** The chain of the claim was looked at since the start. */
  readonly isCovered?: boolean;
  readonly secs?: number;
  /** By the log the claim is in a block. */
  readonly wasMined?: boolean;
  /** By the chain it is. */
  readonly isMined?: boolean;
};

/** A taker that has claimed; whether its refund stays home for that. */
function given({ isAttempted = true, isCovered = true, secs = 0, wasMined = false, isMined = false }: Case): boolean {
  const tx = (txid: string) => (isMined ? { txid, block: BLOCK } : undefined);
  const coin = { chain: { tx }, spends: () => true };
  const facts = wasMined ? { makerPaymentSpend: { txid: "claim", raw: "01", block: BLOCK, confirmed: false } } : {};
  const own = { makerPaymentSpend: { txid: "claim", raw: "01", attempted: isAttempted } };
  const state = { terms: { role: "taker" }, own, facts };
  const covered = new Set(isCovered ? ["maker"] : []);
  const task = { state, covered, doubted: { has: () => false }, coin: () => coin, nowSec: () => SINCE + secs };
  return isPaidOut(task as unknown as SwapTask, SINCE);
}

test.each<readonly [string, Case, boolean]>([
  ["the claim never left", { isAttempted: false, isCovered: false }, false],
  ["it is in no block", {}, false],
  ["it is in a block", { isMined: true }, true],
  ["it was in one, and the chain has it no more", { wasMined: true }, false],
  ["nobody has looked since the start", { isCovered: false, secs: 59 }, true],
  ["nobody could look for a minute", { isCovered: false, secs: 60 }, false],
  ["nobody could look for a day, and it was in a block", { isCovered: false, secs: 86_400, wasMined: true }, true],
])("a refund stays home for the own claim: %s", (_, state, expected) => {
  expect(given(state)).toBe(expected);
});
