import { secp256k1 } from "@noble/curves/secp256k1.js";
import { concatBytes } from "../../core/util/bytes.ts";

/**
 * Compressed form of a key as it may stand in a script: 33 bytes, 65 bytes, or the hybrid form 06/07 that consensus
 * (not policy) still takes. Null when it is no point of the curve.
 */
export function compressPublicKey(key: Uint8Array): Uint8Array | null {
  const [prefix] = key;
  if (key.length === 33 && (prefix === 2 || prefix === 3)) return key;
  if (key.length !== 65 || (prefix !== 4 && prefix !== 6 && prefix !== 7)) return null;
  const isOdd = ((key[64] ?? 0) & 1) === 1;
  if (prefix !== 4 && (prefix === 7) !== isOdd) return null;
  try {
    return secp256k1.Point.fromBytes(concatBytes(Uint8Array.of(4), key.subarray(1))).toBytes(true);
  } catch {
    return null; // not on the curve: an expected outcome, and noble has no other way to say it
  }
}
