import { type Rational, reduce } from "./rational.ts";

/** `[sign, limbs]`: limbs are unsigned 32-bit words, least significant first, none for zero. */
type BigIntValue = readonly [sign: -1 | 0 | 1, limbs: readonly number[]];
/** KDF's JSON form of a fraction, `[numerator, denominator]` (reference rpc.md 3.2). */
export type RationalValue = readonly [BigIntValue, BigIntValue];
/** KDF's `FractionalValue`: both integers as decimal text. */
export type FractionValue = { readonly numer: string; readonly denom: string };

const LIMB_BITS = 32n;
const LIMB_MASK = (1n << LIMB_BITS) - 1n;

function toBigIntValue(value: bigint): BigIntValue {
  const limbs: number[] = [];
  for (let rest = value < 0n ? -value : value; rest > 0n; rest >>= LIMB_BITS) limbs.push(Number(rest & LIMB_MASK));
  return [value === 0n ? 0 : value < 0n ? -1 : 1, limbs];
}

/** Lowest terms, positive denominator. */
export function toRationalValue(value: Rational): RationalValue {
  const { n, d } = reduce(value);
  return [toBigIntValue(n), toBigIntValue(d)];
}

/** Lowest terms; the sign is the numerator's. */
export function toFractionValue(value: Rational): FractionValue {
  const { n, d } = reduce(value);
  return { numer: n.toString(), denom: d.toString() };
}
