import { secp256k1 } from "@noble/curves/secp256k1.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { base64 } from "@scure/base";
import { equalBytes } from "../util/bytes.ts";
import { err, ok, type Result } from "../util/result.ts";
import { ByteWriter } from "../utxo/byteWriter.ts";
import { hash160, hash256 } from "../utxo/hash.ts";
import type { KeyPair } from "./keyPair.ts";

/** First header byte of a compact signature; +4 says the key is compressed. */
const HEADER_BASE = 27;
const COMPRESSED_FLAG = 4;
const SIGNATURE_BYTES = 65;
/** Twice the base64 of 65 bytes, padded. Anything longer is refused before decoding. */
const MAX_SIGNATURE_CHARS = 176;

/** Digest of a signed message (rpc.md 8.1): double SHA-256 of prefix and message, each UTF-8 with its byte length in front. */
export function messageDigest(prefix: string, message: string): Uint8Array {
  return hash256(new ByteWriter().varBytes(utf8ToBytes(prefix)).varBytes(utf8ToBytes(message)).done());
}

/** Compact recoverable signature in base64, 88 characters; RFC 6979 and low-S, so the same input gives the same text. */
export function signMessage(prefix: string, message: string, key: KeyPair): string {
  const recovered = secp256k1.sign(messageDigest(prefix, message), key.secret.reveal(), { prehash: false, format: "recovered" });
  const compact = Uint8Array.from(recovered);
  compact[0] = HEADER_BASE + COMPRESSED_FLAG + (recovered[0] ?? 0);
  return base64.encode(compact);
}

export type VerifyMessageError =
  | { readonly kind: "SignatureDecodingError"; readonly reason: "base64" | "length" }
  /** The header byte is below 27, or no key can be recovered. */
  | { readonly kind: "InvalidSignature" };

function decodeBase64(text: string): Uint8Array | null {
  try {
    return base64.decode(text);
  } catch {
    return null;
  }
}

function recoverKey(compact: Uint8Array, digest: Uint8Array): Uint8Array | null {
  const header = compact[0] ?? 0;
  if (header < HEADER_BASE) return null;
  const flags = header - HEADER_BASE;
  const signature = Uint8Array.from(compact);
  signature[0] = flags & 3;
  try {
    const point = secp256k1.Signature.fromBytes(signature, "recovered").recoverPublicKey(digest);
    return point.toBytes((flags & COMPRESSED_FLAG) !== 0);
  } catch {
    return null;
  }
}

/**
 * Whether `signature` over the message was made by the key whose hash the address carries.
 *
 * @param signature base64, standard alphabet, padded
 * @param keyHash the address's 20 bytes
 */
export function verifyMessage(
  prefix: string,
  message: string,
  signature: string,
  keyHash: Uint8Array,
): Result<boolean, VerifyMessageError> {
  if (signature.length > MAX_SIGNATURE_CHARS) return err({ kind: "SignatureDecodingError", reason: "length" });
  const compact = decodeBase64(signature);
  if (!compact) return err({ kind: "SignatureDecodingError", reason: "base64" });
  if (compact.length !== SIGNATURE_BYTES) return err({ kind: "SignatureDecodingError", reason: "length" });
  const key = recoverKey(compact, messageDigest(prefix, message));
  return key ? ok(equalBytes(hash160(key), keyHash)) : err({ kind: "InvalidSignature" });
}
