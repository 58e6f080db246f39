import { sha256 } from "@noble/hashes/sha2.js";
import { base58 } from "@scure/base";
import { concatBytes, equalBytes } from "../util/bytes.ts";
import { err, ok, type Result } from "../util/result.ts";
import { Secret } from "../util/secret.ts";

const CHECKSUM_BYTES = 4;
/** Prefix 1, key 32, checksum 4; the compressed form has a flag byte 1 before the checksum. */
const UNCOMPRESSED_BYTES = 1 + 32 + CHECKSUM_BYTES;
const COMPRESSED_BYTES = UNCOMPRESSED_BYTES + 1;
/** 38 bytes never need more base58 characters. */
const MAX_CHARS = 60;

export type WifError =
  /** Not base58, or not of a WIF's length: the text is something else. */
  { readonly kind: "NotWif" } | { readonly kind: "BadWifChecksum" } | { readonly kind: "UncompressedKey" };

export type Wif = { readonly prefix: number; readonly secret: Secret<Uint8Array> };

const checksum = (payload: Uint8Array): Uint8Array => sha256(sha256(payload)).subarray(0, CHECKSUM_BYTES);

function base58Bytes(text: string): Uint8Array | null {
  if (text.length > MAX_CHARS || !/^[1-9A-HJ-NP-Za-km-z]+$/.test(text)) return null;
  return base58.decode(text);
}

/** Reads a wallet-import-format key of any network. Only compressed keys are supported, as in KDF (rpc.md 2.4). */
export function parseWif(text: string): Result<Wif, WifError> {
  const bytes = base58Bytes(text);
  if (!bytes || (bytes.length !== UNCOMPRESSED_BYTES && bytes.length !== COMPRESSED_BYTES)) return err({ kind: "NotWif" });
  const payload = bytes.subarray(0, -CHECKSUM_BYTES);
  if (bytes.length === COMPRESSED_BYTES && payload[33] !== 1) return err({ kind: "NotWif" });
  if (!equalBytes(checksum(payload), bytes.subarray(-CHECKSUM_BYTES))) return err({ kind: "BadWifChecksum" });
  if (bytes.length === UNCOMPRESSED_BYTES) return err({ kind: "UncompressedKey" });
  return ok({ prefix: payload[0] ?? 0, secret: new Secret(payload.slice(1, 33)) });
}

/** Compressed WIF text of a key; `prefix` is the coin's `wiftype`, 0 to 255. The result is as secret as the key. */
export function secretToWif(secret: Secret<Uint8Array>, prefix: number): Secret<string> {
  const payload = concatBytes(Uint8Array.of(prefix), secret.reveal(), Uint8Array.of(1));
  return new Secret(base58.encode(concatBytes(payload, checksum(payload))));
}
