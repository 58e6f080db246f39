import { VERIFY } from "./flags.ts";
import type { ScriptError } from "./scriptError.ts";

const SIGHASH_ALL = 1;
const SIGHASH_SINGLE = 3;
const SIGHASH_ANYONECANPAY = 0x80;

const CURVE_ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
const HALF_ORDER = CURVE_ORDER / 2n;

export type SignatureNumbers = { readonly r: bigint; readonly s: bigint };

function readInteger(sig: Uint8Array, at: number, length: number): bigint | null {
  if (length === 0 || sig[at - 2] !== 0x02) return null;
  const first = sig[at] ?? 0;
  if (first & 0x80) return null;
  if (length > 1 && first === 0 && ((sig[at + 1] ?? 0) & 0x80) === 0) return null;
  let n = 0n;
  for (let i = 0; i < length; i++) n = (n << 8n) | BigInt(sig[at + i] ?? 0);
  return n;
}

/**
 * Strict DER of BIP-66: `30 len 02 rlen r 02 slen s hashtype`, 9 to 73 bytes with the hash type. Null when the form is
 * wrong. The numbers may still be out of the curve's range.
 */
export function parseDerSignature(sig: Uint8Array): SignatureNumbers | null {
  if (sig.length < 9 || sig.length > 73) return null;
  if (sig[0] !== 0x30 || sig[1] !== sig.length - 3) return null;
  const rLength = sig[3] ?? 0;
  if (5 + rLength >= sig.length) return null;
  const sLength = sig[5 + rLength] ?? 0;
  if (rLength + sLength + 7 !== sig.length) return null;
  const r = readInteger(sig, 4, rLength);
  const s = readInteger(sig, 6 + rLength, sLength);
  return r === null || s === null ? null : { r, s };
}

function toBytes32(n: bigint): Uint8Array {
  const out = new Uint8Array(32);
  let rest = n;
  for (let i = 31; i >= 0; i--) {
    out[i] = Number(rest & 0xffn);
    rest >>= 8n;
  }
  return out;
}

/** 64 bytes r||s with the low S, or null when a number is outside 1..n-1 (no such signature verifies). */
export function compactLowS({ r, s }: SignatureNumbers): Uint8Array | null {
  if (r < 1n || r >= CURVE_ORDER || s < 1n || s >= CURVE_ORDER) return null;
  const out = new Uint8Array(64);
  out.set(toBytes32(r), 0);
  out.set(toBytes32(s > HALF_ORDER ? CURVE_ORDER - s : s), 32);
  return out;
}

/** Form of a signature with its hash type byte, by `flags`. The empty signature is always well-formed. */
export function checkSignatureEncoding(sig: Uint8Array, flags: number): ScriptError | null {
  if (sig.length === 0) return null;
  const needDer = (flags & (VERIFY.DERSIG | VERIFY.LOW_S | VERIFY.STRICTENC)) !== 0;
  const numbers = needDer ? parseDerSignature(sig) : null;
  if (needDer && !numbers) return "SigDer";
  if (flags & VERIFY.LOW_S && numbers && numbers.s > HALF_ORDER) return "SigHighS";
  const base = (sig[sig.length - 1] ?? 0) & ~SIGHASH_ANYONECANPAY;
  if (flags & VERIFY.STRICTENC && (base < SIGHASH_ALL || base > SIGHASH_SINGLE)) return "SigHashType";
  return null;
}

const isCompressed = (key: Uint8Array): boolean => key.length === 33 && (key[0] === 2 || key[0] === 3);

export function checkPublicKeyEncoding(key: Uint8Array, flags: number, isWitness: boolean): ScriptError | null {
  const plain = isCompressed(key) || (key.length === 65 && key[0] === 4);
  if (flags & VERIFY.STRICTENC && !plain) return "PubkeyType";
  if (flags & VERIFY.WITNESS_PUBKEYTYPE && isWitness && !isCompressed(key)) return "WitnessPubkeyType";
  return null;
}
