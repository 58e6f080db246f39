import fc from "fast-check";
import { expect, test } from "vitest";
import { decimal, rational, toDecimalString } from "../core/money/rational.ts";
import { readDecimal, readMmNumber } from "./mmNumber.ts";
import { toFraction, toRationalValue } from "./money.ts";

const anyRational = fc
  .tuple(fc.bigInt({ min: -(10n ** 60n), max: 10n ** 60n }), fc.bigInt({ min: 1n, max: 10n ** 60n }))
  .map(([n, d]) => rational(n, d));

test("every form a reply shows is read back as the same number", () => {
  fc.assert(
    fc.property(anyRational, (a) => {
      expect(readMmNumber(toRationalValue(a))).toEqual({ ok: true, value: a });
      expect(readMmNumber(toFraction(a))).toEqual({ ok: true, value: a });
    }),
  );
});

test.each([
  ["0.1", "0.1"],
  [0.1, "0.1"],
  [1, "1"],
  ["1e-3", "0.001"],
  [".5", "0.5"],
  ["5.", "5"],
  ["+1", "1"],
  ["-.5", "-0.5"],
  ["1_000", "1000"],
  [1e-7, "0.0000001"],
  [1.2345678901234568e29, "123456789012345680000000000000"],
  [
    [
      [1, [1]],
      [1, [2]],
    ],
    "0.5",
  ],
  [
    [
      [1, [2]],
      [-1, [4]],
    ],
    "-0.5",
  ],
  [
    [
      [0, [7]],
      [1, [1]],
    ],
    "0",
  ],
  [
    [
      [1, [0, 1]],
      [1, [1]],
    ],
    "4294967296",
  ],
  [{ numer: "1", denom: "-2", extra: 1 }, "-0.5"],
])("%j is a number", (input, expected) => {
  const read = readMmNumber(input);
  expect(read.ok && toDecimalString(read.value)).toBe(expected);
});

test.each([
  ["abc", '"abc"'],
  ["", '""'],
  ["1/3", '"1/3"'],
  ["NaN", '"NaN"'],
  [" 1", '" 1"'],
  ["0x10", '"0x10"'],
  [null, "null"],
  [true, "true"],
  [{}, "{}"],
  [{ numer: 1, denom: 2 }, '{"numer":1,"denom":2}'],
  [{ numer: "1", denom: "0" }, '{"numer":"1","denom":"0"}'],
  [
    [
      [1, [1]],
      [0, []],
    ],
    "[[1,[1]],[0,[]]]",
  ],
  [
    [
      [2, [1]],
      [1, [1]],
    ],
    "[[2,[1]],[1,[1]]]",
  ],
  [
    [
      [1, [4294967296]],
      [1, [1]],
    ],
    "[[1,[4294967296]],[1,[1]]]",
  ],
])("%j is refused with KDF's words", (input, raw) => {
  expect(readMmNumber(input)).toEqual({ ok: false, error: `Could not deserialize any variant of MmNumber from ${raw}` });
});

test("a hostile number costs nothing", () => {
  for (const input of [
    "1e999999999",
    "9".repeat(1_001),
    [
      [1, new Array(129).fill(1)],
      [1, [1]],
    ],
    { numer: "9".repeat(1_001), denom: "1" },
  ]) {
    expect(readMmNumber(input).ok).toBe(false);
  }
});

test("an integer beyond 2^53 is exact", () => {
  expect(readMmNumber(18446744073709551615n)).toEqual({ ok: true, value: rational(18446744073709551615n) });
});

test("an amount to withdraw has no rational forms", () => {
  expect(readDecimal("1.5")).toEqual({ ok: true, value: decimal("1.5") });
  expect(readDecimal({ numer: "1", denom: "2" }).ok).toBe(false);
});

test("words of 32 bits, least significant first", () => {
  expect(toRationalValue(rational(10n ** 20n))).toEqual([
    [1, [1661992960, 1808227885, 5]],
    [1, [1]],
  ]);
  expect(toRationalValue(rational(0n))).toEqual([
    [0, []],
    [1, [1]],
  ]);
  expect(toRationalValue(rational(-1n, 3n))).toEqual([
    [-1, [1]],
    [1, [3]],
  ]);
});
