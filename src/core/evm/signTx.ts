import { secp256k1 } from "@noble/curves/secp256k1.js";
import { keccak_256 } from "@noble/hashes/sha3.js";
import type { KeyPair } from "../keys/keyPair.ts";
import { concatBytes, toHex } from "../util/bytes.ts";
import { addressOfPubkey, type EvmAddress } from "./address.ts";
import { rlpUint } from "./rlp.ts";
import type { EvmSignature, SignableTx, SignedEvmTx } from "./tx.ts";
import { serializeEvmTx, signingBytes } from "./txFields.ts";

const bytes32 = (value: bigint): Uint8Array => {
  const bytes = rlpUint(value);
  return concatBytes(new Uint8Array(32 - bytes.length), bytes);
};
const uint = (bytes: Uint8Array): bigint => BigInt(`0x${toHex(bytes)}`);

/** Deterministic (RFC 6979), low-S signature of a 32-byte digest with what is needed to recover the key. */
export function signDigest(digest: Uint8Array, key: KeyPair): EvmSignature {
  const signed = secp256k1.sign(digest, key.secret.reveal(), { prehash: false, lowS: true, format: "recovered" });
  return { r: uint(signed.subarray(1, 33)), s: uint(signed.subarray(33)), yParity: signed[0] === 1 ? 1 : 0 };
}

/** 64 bytes. */
export const signatureBytes = ({ r, s }: EvmSignature): Uint8Array => concatBytes(bytes32(r), bytes32(s));

/** Whose signature it is; null when no key can have made it. */
export function recoverAddress(digest: Uint8Array, signature: EvmSignature): EvmAddress | null {
  const recovered = concatBytes(Uint8Array.of(signature.yParity), signatureBytes(signature));
  try {
    return addressOfPubkey(secp256k1.Signature.fromBytes(recovered, "recovered").recoverPublicKey(digest).toBytes(true));
  } catch {
    // r is no x coordinate of the curve, or a number is out of its range: noble has no other way to say so.
    return null;
  }
}

/** The same fields and key always give the same bytes, and so the same id. */
export function signEvmTx(tx: SignableTx, key: KeyPair): SignedEvmTx {
  const signature = signDigest(keccak_256(signingBytes(tx)), key);
  const raw = serializeEvmTx(tx, signature);
  return { tx, signature, from: addressOfPubkey(key.publicKey), txid: toHex(keccak_256(raw)), raw };
}
