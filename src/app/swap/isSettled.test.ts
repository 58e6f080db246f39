import { expect, test } from "vitest";
import type { Outcome, Slot } from "../../core/swap/events.ts";
import { isSettled } from "./isSettled.ts";
import type { SwapTask } from "./swapTask.ts";

const BLOCK = { height: 1, hash: "h" };
const DEEP = { txid: "aa", raw: "", block: BLOCK, confirmed: true };

/** A maker whose log says so, with these facts, all as deep as can be. */
function isSettledAs(finished: Outcome, ...slots: readonly Slot[]): boolean {
  const facts = Object.fromEntries(slots.map((slot) => [slot, DEEP]));
  return isSettled({
    state: { terms: { role: "maker" }, own: {}, facts, finished, startFailed: null },
    coin: () => ({ chain: { tx: () => ({ block: BLOCK }), confirmations: () => 100 } }),
  } as unknown as SwapTask);
}

test("a swap whose facts say another end than its log is settled only once the log says that end", () => {
  const turned = ["takerPaymentSpend", "cancel", "makerPayment"] as const;
  expect([isSettledAs("cancelled", ...turned), isSettledAs("success", ...turned)]).toEqual([false, true]);
});

test("a swap whose end was taken back is not settled because the other side has its payment back", () => {
  const undone = ["takerPaymentRefund", "makerPayment"] as const;
  expect(isSettledAs("success", ...undone)).toBe(false);
  expect(isSettledAs("refunded", ...undone, "makerPaymentRefund")).toBe(true);
});
