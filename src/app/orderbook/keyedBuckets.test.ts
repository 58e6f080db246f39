import { expect, test } from "vitest";
import { KeyedBuckets } from "./keyedBuckets.ts";

test("a burst is granted, then only what has flowed in since", () => {
  const buckets = new KeyedBuckets({ perSec: 2, burst: 3 }, 10);
  expect([1, 2, 3, 4].map(() => buckets.take("a", 0))).toEqual([true, true, true, false]);
  expect([buckets.take("a", 499), buckets.take("a", 500), buckets.take("a", 501)]).toEqual([false, true, false]);
  expect(buckets.take("b", 501)).toBe(true);
});

test("a clock that jumps back neither refills nor blocks for ever", () => {
  const buckets = new KeyedBuckets({ perSec: 1, burst: 1 }, 10);
  expect([buckets.take("a", 10_000), buckets.take("a", 0), buckets.take("a", 1_000)]).toEqual([true, false, true]);
});

test("a clock that jumps back leaves nobody in debt for longer who is only looked at", () => {
  const buckets = new KeyedBuckets({ perSec: 1, burst: 2 }, 10);
  buckets.charge("a", 3, 3_600_000);
  expect([0, 1_000, 2_000].map((nowMs) => buckets.hasToken("a", nowMs))).toEqual([false, false, true]);
});

test("the name used longest ago, to the second, is forgotten when there are too many", () => {
  const buckets = new KeyedBuckets({ perSec: 0, burst: 1 }, 2);
  for (const name of ["a", "b"]) buckets.take(name, 0);
  expect(buckets.take("a", 1_000)).toBe(false);
  buckets.take("c", 1_000);
  expect([buckets.take("a", 1_000), buckets.take("b", 1_000)]).toEqual([false, true]);
});

test("looking takes nothing and does not keep a name from being forgotten; a charge makes a debt of one burst at most", () => {
  const buckets = new KeyedBuckets({ perSec: 1, burst: 2 }, 2);
  expect([buckets.hasToken("a", 0), buckets.hasToken("a", 0), buckets.hasToken("a", 0)]).toEqual([true, true, true]);
  buckets.charge("a", 1_000, 0);
  expect([buckets.hasToken("a", 2_999), buckets.hasToken("a", 3_000)]).toEqual([false, true]);
  expect([buckets.take("a", 3_000), buckets.take("a", 3_000)]).toEqual([true, false]);
});
