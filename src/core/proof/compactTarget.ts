const TOO_LARGE = 1n << 256n;
const SIGN = 0x800000;

/**
 * Target of compact `bits` (Bitcoin's `nBits`): a mantissa of 23 bits, a sign, and the number's length in bytes above.
 * Null: zero, negative or not below 2^256, which no block may have.
 */
export function targetOfBits(bits: number): bigint | null {
  const size = bits >>> 24;
  const mantissa = BigInt(bits & 0x7fffff);
  if ((bits & SIGN) !== 0 || size > 34) return null;
  const target = size <= 3 ? mantissa >> BigInt(8 * (3 - size)) : mantissa << BigInt(8 * (size - 3));
  return target === 0n || target >= TOO_LARGE ? null : target;
}

/** The compact form, which keeps the highest 16 to 23 bits of a target above 0 and drops the rest. */
export function bitsOfTarget(target: bigint): number {
  let size = Math.ceil(target.toString(16).length / 2);
  let mantissa = Number(size <= 3 ? target << BigInt(8 * (3 - size)) : target >> BigInt(8 * (size - 3)));
  // The mantissa's highest bit is the sign.
  if ((mantissa & SIGN) !== 0) {
    mantissa >>>= 8;
    size++;
  }
  return size * 2 ** 24 + mantissa;
}

/** Hashes expected until one is at or below the target: 2^256 / (target + 1), rounded down. */
export const workOfTarget = (target: bigint): bigint => TOO_LARGE / (target + 1n);
