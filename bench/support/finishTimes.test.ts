import { expect, test } from "vitest";
import { lastFinishMs, type SwapStatus } from "./finishTimes.ts";

const swap = (atMs: number, is_success: boolean, type = "Finished"): SwapStatus => ({
  is_finished: true,
  is_success,
  events: [
    { timestamp: 1, event: { type: "Started" } },
    { timestamp: atMs, event: { type } },
  ],
});

test("the end is the last finish of a swap that succeeded, whatever failed or went on later", () => {
  expect(lastFinishMs([swap(20, true), swap(30, true), swap(40, false), swap(50, true, "MakerPaymentSpent")])).toBe(30);
  expect(lastFinishMs([])).toBe(0);
});
