import { expect, test } from "vitest";
import { MEDIAN_SPAN, medianTime } from "./medianTime.ts";

test("the median of the last eleven times counts, in whatever order they are", () => {
  const rising = Array.from({ length: 30 }, (_, i) => 100 + i);
  expect(medianTime(rising)).toBe(124);
  // A block may be dated two hours ahead: one alone moves nothing.
  expect(medianTime([...rising.slice(0, -1), 9_999])).toBe(124);
  expect(medianTime([5, 3, 4, 1, 2])).toBe(3);
  expect(MEDIAN_SPAN).toBe(11);
});

test("of an even number the upper one counts, and of none nothing", () => {
  expect([medianTime([1, 2]), medianTime([7]), medianTime([])]).toEqual([2, 7, 0]);
});
