import { ripemd160 } from "@noble/hashes/legacy.js";
import { sha256 } from "@noble/hashes/sha2.js";

/** SHA-256 twice: transaction ids, block hashes, legacy and BIP-143 digests, base58 checksums. */
export const hash256 = (data: Uint8Array): Uint8Array => sha256(sha256(data));

/** RIPEMD-160 of SHA-256: key and script hashes, and the hash a swap's secret is locked by. */
export const hash160 = (data: Uint8Array): Uint8Array => ripemd160(sha256(data));
