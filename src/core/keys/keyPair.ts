import { secp256k1 } from "@noble/curves/secp256k1.js";
import { toHex } from "../util/bytes.ts";
import { dropOldest } from "../util/dropOldest.ts";
import { Secret } from "../util/secret.ts";

/** A secp256k1 key. `publicKey`: 33 bytes compressed; `secret`: 32 bytes, a scalar in 1..n-1. */
export type KeyPair = { readonly publicKey: Uint8Array; readonly secret: Secret<Uint8Array> };

/** Key pair of a 32-byte scalar; null when it is zero or not below the group order. Takes a copy. */
export function keyPairFromScalar(scalar: Uint8Array): KeyPair | null {
  if (!secp256k1.utils.isValidSecretKey(scalar)) return null;
  const secret = Uint8Array.from(scalar);
  return { publicKey: secp256k1.getPublicKey(secret, true), secret: new Secret(secret) };
}

/** Keys that were looked at: a swap asks for its four a hundred times, and each costs a square root of 85 µs. */
const MAX_JUDGED = 4_096;
const judged = new Map<string, boolean>();

/** True for 33 bytes that decode to a point of the curve. A payment to anything else could only be refunded. */
export function isValidPubkey(bytes: Uint8Array): boolean {
  if (bytes.length !== 33) return false;
  const name = toHex(bytes);
  const known = judged.get(name);
  if (known !== undefined) return known;
  const isValid = secp256k1.utils.isValidPublicKey(bytes, true);
  judged.set(name, isValid);
  dropOldest(judged, MAX_JUDGED);
  return isValid;
}

/** The 65-byte form (04 || x || y) of a valid compressed key. */
export function uncompressedPubkey(pubkey: Uint8Array): Uint8Array {
  return secp256k1.Point.fromBytes(pubkey).toBytes(false);
}

/** The "public id" of orders (`sender_pubkey`, `maker`, `taker`): x coordinate only, 64 hex digits (rpc.md 2.4). */
export function publicId(pubkey: Uint8Array): string {
  return toHex(pubkey.subarray(1));
}
