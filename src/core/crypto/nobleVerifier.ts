import { secp256k1 } from "@noble/curves/secp256k1.js";

/**
 * Verifies a secp256k1 ECDSA signature in plain JavaScript: the fallback of the native verifier and the one of the
 * simulator (design D10).
 *
 * @param signature 64 bytes r||s; high-S is refused, as libsecp256k1 does
 * @param digest 32 bytes
 * @param publicKey 33 bytes compressed
 * @returns false for anything malformed; never throws
 */
export function nobleVerify(signature: Uint8Array, digest: Uint8Array, publicKey: Uint8Array): boolean {
  if (signature.length !== 64 || digest.length !== 32 || publicKey.length !== 33) return false;
  return secp256k1.verify(signature, digest, publicKey, { prehash: false, lowS: true });
}
