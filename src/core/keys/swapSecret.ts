import { hkdf } from "@noble/hashes/hkdf.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { concatBytes } from "../util/bytes.ts";
import { Secret } from "../util/secret.ts";
import { ByteWriter } from "../utxo/byteWriter.ts";

/** Separates this use of the key from every other. */
const PURPOSE = utf8ToBytes("maker secret");

/**
 * The maker's 32-byte swap secret: HKDF-SHA256 (RFC 5869, no salt) of the node's secret with
 * info = "maker secret" || startedAt (u64, big-endian) || salt (design D5).
 *
 * Only own data goes in. The swap's uuid must not: the taker chooses it, and could make the maker lock two payments by
 * one secret, of which the second is then free to take. The caller keeps `startedAtSec` and `salt` together unique over the
 * node's life (the store refuses a repeat). Whoever holds the seed can find every secret again by trying the seconds
 * around a payment's lock time with 256 salts each, so a lost disk does not lose a swap.
 *
 * @param nodeSecret secret of the node's key, 32 bytes
 * @param startedAtSec own clock at the start of the swap, unix seconds
 * @param salt 0 to 255, drawn at random, to tell swaps of one second apart
 */
export function deriveSwapSecret(nodeSecret: Secret<Uint8Array>, startedAtSec: number, salt: number): Secret<Uint8Array> {
  if (!Number.isSafeInteger(startedAtSec) || startedAtSec < 0) throw new RangeError("deriveSwapSecret: bad time");
  const time = new ByteWriter(8).u64(BigInt(startedAtSec)).done().reverse();
  const info = concatBytes(PURPOSE, time, new ByteWriter(1).u8(salt).done());
  return new Secret(hkdf(sha256, nodeSecret.reveal(), undefined, info, 32));
}
