import { hash } from "node:crypto";
import { sha256 as noble } from "@noble/hashes/sha2.js";

export * from "@noble/hashes/sha2.js";

function quick(message: Uint8Array): Uint8Array<ArrayBuffer> {
  const digest = hash("sha256", message, "buffer");
  return new Uint8Array(digest.buffer as ArrayBuffer, digest.byteOffset, digest.length);
}

/** noble's interface. Hashing in one go is OpenSSL's, piece by piece noble's own. */
export const sha256: typeof noble = Object.assign(quick, noble);
