import { expect, test } from "vitest";
import type { Outcome } from "../../core/swap/events.ts";
import { isSettled } from "./isSettled.ts";
import type { SwapTask } from "./swapTask.ts";

const BLOCK = { height: 1, hash: "h" };
const DEEP = { txid: "aa", raw: "", block: BLOCK, confirmed: true };

/** A maker that has the taker's coin and whose own payment was taken back, all as deep as can be; its log says so. */
function isSettledAs(finished: Outcome): boolean {
  return isSettled({
    state: {
      terms: { role: "maker" },
      own: {},
      facts: { takerPaymentSpend: DEEP, cancel: DEEP, makerPayment: DEEP },
      finished,
      startFailed: null,
    },
    coin: () => ({ chain: { tx: () => ({ block: BLOCK }), confirmations: () => 100 } }),
  } as unknown as SwapTask);
}

test("a swap whose facts say another end than its log is settled only once the log says that end", () => {
  expect([isSettledAs("cancelled"), isSettledAs("success")]).toEqual([false, true]);
});
