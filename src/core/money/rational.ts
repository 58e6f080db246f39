import { err, ok, type Result } from "../util/result.ts";

/**
 * Exact fraction `n/d`. `d` is never zero. Values made by this module are in lowest terms with `d > 0`;
 * values decoded from a peer are kept as sent (possibly unreduced, possibly with both signs negative),
 * because the raw form goes into the order-book trie. Every function here accepts both.
 */
export type Rational = { readonly n: bigint; readonly d: bigint };

export const ZERO: Rational = { n: 0n, d: 1n };
export const ONE: Rational = { n: 1n, d: 1n };

function gcd(a: bigint, b: bigint): bigint {
  let x = a < 0n ? -a : a;
  let y = b < 0n ? -b : b;
  while (y !== 0n) [x, y] = [y, x % y];
  return x;
}

/** Lowest terms, positive denominator. Throws on a zero denominator: parsers refuse it before. */
export function rational(n: bigint, d: bigint = 1n): Rational {
  if (d === 0n) throw new RangeError("rational: zero denominator");
  const g = gcd(n, d) || 1n;
  const sign = d < 0n ? -1n : 1n;
  return { n: (sign * n) / g, d: (sign * d) / g };
}

export const reduce = (a: Rational): Rational => rational(a.n, a.d);
export const add = (a: Rational, b: Rational): Rational => rational(a.n * b.d + b.n * a.d, a.d * b.d);
export const sub = (a: Rational, b: Rational): Rational => rational(a.n * b.d - b.n * a.d, a.d * b.d);
export const mul = (a: Rational, b: Rational): Rational => rational(a.n * b.n, a.d * b.d);
/** Throws when `b` is zero: test first. */
export const div = (a: Rational, b: Rational): Rational => rational(a.n * b.d, a.d * b.n);

/** `a * b` as it is, not in lowest terms: for comparing with a peer's numbers, where reducing is the dear part. */
export const product = (a: Rational, b: Rational): Rational => ({ n: a.n * b.n, d: a.d * b.d });

/** Numerators and denominators of an order stay below this: calculating with longer ones is work others make us do. */
const LONGEST_NUMBER = 1n << 640n;
/** Whether a number of an order is of a length that somebody could mean. */
export const isShort = ({ n, d }: Rational): boolean =>
  n < LONGEST_NUMBER && n > -LONGEST_NUMBER && d < LONGEST_NUMBER && d > -LONGEST_NUMBER;

/** Denominators longer than this are of no use to anybody: decimals and the fractions people type are far below. */
const LONG_DENOMINATOR = 1n << 512n;
/** Decimal places kept of a number that is cut: 333 bits. */
const CUT_DECIMALS = 100;

/** `a` itself; one with a denominator of 2^512 or more is cut toward zero at 100 decimal places. */
export const cutLong = (a: Rational): Rational => (a.d < LONG_DENOMINATOR ? a : fromUnits(toUnits(a, CUT_DECIMALS), CUT_DECIMALS));

/**
 * One step of a sum over numbers of strangers: exact as long as the denominators stay short, see `cutLong`. A hundred
 * fractions with odd denominators of their own would otherwise take a minute to add.
 */
export const addCut = (sum: Rational, value: Rational): Rational => cutLong(add(sum, value));

/** Negative, zero or positive as `a` is less than, equal to or greater than `b`. */
export function cmp(a: Rational, b: Rational): -1 | 0 | 1 {
  const l = a.n * b.d;
  const r = b.n * a.d;
  if (l === r) return 0;
  const positive = a.d < 0n === b.d < 0n;
  return l < r === positive ? -1 : 1;
}
export const lt = (a: Rational, b: Rational): boolean => cmp(a, b) < 0;
export const lte = (a: Rational, b: Rational): boolean => cmp(a, b) <= 0;
export const gt = (a: Rational, b: Rational): boolean => cmp(a, b) > 0;
export const gte = (a: Rational, b: Rational): boolean => cmp(a, b) >= 0;
export const eq = (a: Rational, b: Rational): boolean => cmp(a, b) === 0;
export const isZero = (a: Rational): boolean => a.n === 0n;
export const isPositive = (a: Rational): boolean => cmp(a, ZERO) > 0;

export function max(first: Rational, ...rest: readonly Rational[]): Rational {
  return rest.reduce((m, x) => (gt(x, m) ? x : m), first);
}
export function min(first: Rational, ...rest: readonly Rational[]): Rational {
  return rest.reduce((m, x) => (lt(x, m) ? x : m), first);
}

/** Base units (satoshi, wei) of a coin with `decimals`, cut toward zero: the rounding KDF applies on chain amounts. */
export function toUnits(a: Rational, decimals: number): bigint {
  return (a.n * 10n ** BigInt(decimals)) / a.d;
}

/** Whole coins from base units; exact. */
export function fromUnits(units: bigint, decimals: number): Rational {
  return rational(units, 10n ** BigInt(decimals));
}

/** Most characters read as a decimal number. Bounds the work of a hostile input. */
export const MAX_DECIMAL_CHARS = 1_000;
/** Largest absolute exponent read in a decimal such as `1e-8`. KDF has no bound and hangs (reference rpc.md 3.1). */
export const MAX_EXPONENT = 1_000;

const DECIMAL = /^([+-]?)(\d[\d_]*)?(?:\.([\d_]*))?(?:[eE]([+-]?\d+))?$/;

/**
 * Reads a decimal text the way KDF does: `1`, `.5`, `5.`, `+1`, `1e-3`, `1_000`. Exact.
 * No blanks, no hex, no fraction bar, no `NaN`.
 */
export function parseDecimal(text: string): Result<Rational, { kind: "NotADecimal" }> {
  if (text.length === 0 || text.length > MAX_DECIMAL_CHARS) return err({ kind: "NotADecimal" });
  const m = DECIMAL.exec(text);
  if (!m) return err({ kind: "NotADecimal" });
  const whole = (m[2] ?? "").replaceAll("_", "");
  const part = (m[3] ?? "").replaceAll("_", "");
  if (whole === "" && part === "") return err({ kind: "NotADecimal" });
  const exponent = Number(m[4] ?? "0");
  if (!Number.isSafeInteger(exponent) || Math.abs(exponent) > MAX_EXPONENT) return err({ kind: "NotADecimal" });
  const digits = BigInt(`0${whole}${part}`) * (m[1] === "-" ? -1n : 1n);
  const scale = part.length - exponent;
  return ok(scale >= 0 ? rational(digits, 10n ** BigInt(scale)) : rational(digits * 10n ** BigInt(-scale)));
}

/** Decimal our own code wrote (constants, tests, builders). Throws on anything else. */
export function decimal(text: string): Rational {
  const parsed = parseDecimal(text);
  if (!parsed.ok) throw new Error(`not a decimal: ${text}`);
  return parsed.value;
}

/** Significant digits shown for a fraction that does not end: KDF's rule, reference rpc.md 3.3. */
const SIGNIFICANT_DIGITS = 100;

/**
 * Decimal text as KDF prints it: never an exponent; exact if it ends within 100 significant digits,
 * else exactly 100 of them, the last rounded half up by magnitude. An integer part is never cut.
 */
export function toDecimalString(a: Rational): string {
  const { n, d } = reduce(a);
  const sign = n < 0n ? "-" : "";
  const abs = n < 0n ? -n : n;
  const whole = (abs / d).toString();
  const rest = abs % d;
  if (rest === 0n) return sign + whole;
  const places = SIGNIFICANT_DIGITS - (whole === "0" ? -leadingZeros(rest, d) : whole.length);
  const scale = places > 0 ? places : 0;
  const scaled = abs * 10n ** BigInt(scale);
  const [cut, left] = [scaled / d, scaled % d];
  const digits = (left * 2n >= d ? cut + 1n : cut).toString().padStart(scale + 1, "0");
  const point = digits.length - scale;
  if (scale === 0) return sign + digits;
  // A number that ends is shown to its end, one that was cut keeps all its digits.
  const part = left === 0n ? digits.slice(point).replace(/0+$/, "") : digits.slice(point);
  return `${sign}${digits.slice(0, point)}.${part}`;
}

/** Zeros after the point before the first other digit of `rest / d`, for 0 < rest < d. */
function leadingZeros(rest: bigint, d: bigint): number {
  const atLeast = Math.max(0, d.toString().length - rest.toString().length - 1);
  return rest * 10n ** BigInt(atLeast + 1) < d ? atLeast + 1 : atLeast;
}
