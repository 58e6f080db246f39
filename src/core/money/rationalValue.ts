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

/** 32-bit words of one integer that are read. */
export const MAX_LIMBS = 128;

/** Reads KDF's form from outside; null for anything else. In lowest terms. */
export function parseRationalValue(value: unknown): Rational | null {
  if (!Array.isArray(value) || value.length !== 2) return null;
  const [n, d] = [limbsToInteger(value[0]), limbsToInteger(value[1])];
  return n === null || d === null || d === 0n ? null : reduce({ n, d });
}

function limbsToInteger(value: unknown): bigint | null {
  if (!Array.isArray(value) || value.length !== 2) return null;
  const [sign, limbs]: unknown[] = value;
  if ((sign !== 1 && sign !== 0 && sign !== -1) || !Array.isArray(limbs) || limbs.length > MAX_LIMBS) return null;
  let magnitude = 0n;
  for (let i = limbs.length - 1; i >= 0; i--) {
    const limb: unknown = limbs[i];
    if (typeof limb !== "number" || !Number.isInteger(limb) || limb < 0 || limb > 0xffff_ffff) return null;
    magnitude = (magnitude << LIMB_BITS) | BigInt(limb);
  }
  return BigInt(sign) * magnitude;
}

/** Lowest terms; the sign is the numerator's. */
export function toFractionValue(value: Rational): FractionValue {
  const { n, d } = reduce(value);
  return { numer: n.toString(), denom: d.toString() };
}
