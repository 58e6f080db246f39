import { expect, test } from "vitest";
import { parseAmount } from "./coinAmount.ts";

test.each<[unknown, bigint | null]>([
  [0.1, 10_000_000n],
  [1e-8, 1n],
  [20_999_999.9769, 2_099_999_997_690_000n],
  ["0.00000001", 1n],
  ["92233720368.54775807", 9_223_372_036_854_775_807n],
  ["92233720368.54775808", null],
  ["1e-8", 1n],
  ["1.5e-7", 15n],
  ["0.123456789", null],
  [90_071_992.54740994, null],
  [Number.NaN, null],
  [-1, null],
  ["-1", null],
  ["1e99", null],
  ["0x10", null],
  [{}, null],
])("the amount %s is read exactly or not at all", (value, expected) => {
  const parsed = parseAmount(value, 8, "exact");
  expect(parsed.ok ? parsed.value : null).toBe(expected);
});
