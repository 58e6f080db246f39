import fc from "fast-check";
import Fraction from "fraction.js";
import { expect, test } from "vitest";
import {
  add,
  addCut,
  cmp,
  cutLong,
  decimal,
  div,
  eq,
  fromUnits,
  MAX_DECIMAL_CHARS,
  MAX_EXPONENT,
  max,
  min,
  mul,
  parseDecimal,
  type Rational,
  rational,
  reduce,
  sub,
  toDecimalString,
  toUnits,
  ZERO,
} from "./rational.ts";

/** Fractions as a peer may send them: unreduced, with any signs, far beyond 64 bits. */
const anyRational = fc
  .tuple(fc.bigInt({ min: -(2n ** 100n), max: 2n ** 100n }), fc.bigInt({ min: -(2n ** 80n), max: 2n ** 80n }))
  .filter(([, d]) => d !== 0n)
  .map(([n, d]): Rational => ({ n, d }));
const oracle = (a: Rational): Fraction => new Fraction(a.n, a.d);
const same = (a: Rational, f: Fraction): boolean => {
  const r = reduce(a);
  return r.n === f.s * f.n && r.d === f.d;
};

test("arithmetic and order agree with an independent library, also for unreduced and negative forms", () => {
  fc.assert(
    fc.property(anyRational, anyRational, (a, b) => {
      expect(same(add(a, b), oracle(a).add(oracle(b)))).toBe(true);
      expect(same(sub(a, b), oracle(a).sub(oracle(b)))).toBe(true);
      expect(same(mul(a, b), oracle(a).mul(oracle(b)))).toBe(true);
      if (b.n !== 0n) expect(same(div(a, b), oracle(a).div(oracle(b)))).toBe(true);
      expect(cmp(a, b)).toBe(Math.sign(oracle(a).compare(oracle(b))));
      expect(same(max(a, b), oracle(a).compare(oracle(b)) >= 0 ? oracle(a) : oracle(b))).toBe(true);
      expect(same(min(a, b), oracle(a).compare(oracle(b)) <= 0 ? oracle(a) : oracle(b))).toBe(true);
    }),
  );
});

test("a decimal that ends is printed exactly and read back unchanged", () => {
  const decimals = fc.tuple(fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }), fc.nat(40));
  fc.assert(
    fc.property(decimals, ([n, scale]) => {
      const value = rational(n, 10n ** BigInt(scale));
      const text = toDecimalString(value);
      expect(text).not.toMatch(/e/i);
      expect(eq(decimal(text), value)).toBe(true);
    }),
  );
});

test("a decimal that does not end has 100 significant digits and is off by at most half of the last", () => {
  fc.assert(
    fc.property(anyRational, (a) => {
      const digits = toDecimalString(a)
        .replace(/^-?0*\.?0*/, "")
        .replace(".", "");
      const error = sub(decimal(toDecimalString(a)), a);
      if (error.n === 0n) return;
      expect(digits.length).toBe(100);
      const scale = toDecimalString(a).split(".")[1]?.length ?? 0;
      expect(cmp(mul(error, error), rational(1n, 4n * 100n ** BigInt(scale)))).toBeLessThanOrEqual(0);
    }),
  );
});

test("base units are cut toward zero and come back exactly", () => {
  fc.assert(
    fc.property(anyRational, fc.nat(18), (a, places) => {
      const units = toUnits(a, places);
      const back = fromUnits(units, places);
      const abs = (r: Rational): Rational => (cmp(r, rational(0n)) < 0 ? sub(rational(0n), r) : r);
      expect(cmp(abs(back), abs(a))).toBeLessThanOrEqual(0);
      expect(cmp(sub(abs(a), abs(back)), rational(1n, 10n ** BigInt(places)))).toBe(-1);
      expect(toUnits(back, places)).toBe(units);
    }),
  );
  expect(toUnits(decimal("0.000000019"), 8)).toBe(1n);
  expect(toUnits(decimal("-0.000000019"), 8)).toBe(-1n);
});

test.each([
  ["1", "1"],
  [".5", "0.5"],
  ["5.", "5"],
  ["+1", "1"],
  ["1e-3", "0.001"],
  ["1_000", "1000"],
  ["-0.10", "-0.1"],
])("%s is read as %s", (text, shown) => {
  const parsed = parseDecimal(text);
  expect(parsed.ok && toDecimalString(parsed.value)).toBe(shown);
});

test.each([
  "",
  ".",
  "-",
  "1.2.3",
  "1/2",
  "0x10",
  "NaN",
  "Infinity",
  " 1",
  "1 ",
  "e5",
  "1e",
  "--1",
  `1e${MAX_EXPONENT + 1}`,
  "1".repeat(MAX_DECIMAL_CHARS + 1),
])("%j is refused", (text) => {
  expect(parseDecimal(text)).toEqual({ ok: false, error: { kind: "NotADecimal" } });
});

test("a zero denominator is a broken promise", () => {
  expect(() => rational(1n, 0n)).toThrow(RangeError);
  expect(() => div(rational(1n), rational(0n))).toThrow(RangeError);
});

test("a sum of strangers' fractions with odd denominators stays short, is cut downwards and is else exact", () => {
  const odd = Array.from({ length: 300 }, (_, i) => ({ n: 1n, d: (1n << 400n) + BigInt(2 * i + 1) }));
  const sum = odd.reduce(addCut, rational(300n));
  expect(sum.d.toString(2).length).toBeLessThanOrEqual(512);
  expect(toUnits(sum, 99)).toBe(300n * 10n ** 99n);
  expect([rational(1n, 3n), rational(1n, 3n), rational(1n, 3n)].reduce(addCut, ZERO)).toEqual(rational(1n));
});

test("a number with a denominator of 512 bits or more is cut toward zero at 100 places, a shorter one is left alone", () => {
  const short = rational(1n, (1n << 512n) - 1n);
  expect(cutLong(short)).toBe(short);
  const third = rational(1n << 600n, (1n << 600n) * 3n + 1n);
  expect(cutLong(third)).toEqual(rational(BigInt("3".repeat(100)), 10n ** 100n));
  expect(cutLong(rational(-third.n, third.d))).toEqual(rational(-BigInt("3".repeat(100)), 10n ** 100n));
});
