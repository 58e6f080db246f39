import { FpLegendre } from "@noble/curves/abstract/modular.js";
import { secp256k1 } from "@noble/curves/secp256k1.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { concatBytes, equalBytes, toHex } from "../util/bytes.ts";

const { Point } = secp256k1;

/** What the Bitcoin Cash family takes for a Schnorr signature, and for nothing else: 64 bytes and the hash type. */
export const SCHNORR_SIGNATURE_BYTES = 65;

/**
 * Whether r and s, 32 bytes each, are a Schnorr signature as the Bitcoin Cash family has had it in OP_CHECKSIG since May 2019: an older form than
 * BIP-340's.
 * @param publicKey compressed
 * @throws on what is no number of the group, or no key
 */
export function isSchnorr(rs: Uint8Array, digest: Uint8Array, publicKey: Uint8Array): boolean {
  const r = rs.subarray(0, 32);
  const s = Point.Fn.fromBytes(rs.subarray(32));
  const e = Point.Fn.create(BigInt(`0x${toHex(sha256(concatBytes(r, publicKey, digest)))}`));
  const point = Point.BASE.multiplyUnsafe(s).subtract(Point.fromBytes(publicKey).multiplyUnsafe(e));
  const { x, y } = point.toAffine();
  return equalBytes(Point.Fp.toBytes(x), r) && FpLegendre(Point.Fp, y) === 1;
}
