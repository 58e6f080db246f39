import { xchacha20poly1305 } from "@noble/ciphers/chacha.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { parseHex, toHex } from "../util/bytes.ts";
import { err, ok, type Result } from "../util/result.ts";
import { parseUtf8 } from "../util/utf8.ts";

/** Bytes the sealing takes: two texts under one key must not have the same. 24 drawn at random never repeat. */
export const NONCE_BYTES = 24;

/**
 * Encrypts a text (XChaCha20-Poly1305); the answer is hex.
 *
 * @param key 32 bytes
 * @param context bound into the seal: opens only beside the same one
 */
export function sealText(key: Uint8Array, nonce: Uint8Array, context: string, text: string): string {
  return toHex(xchacha20poly1305(key, nonce, utf8ToBytes(context)).encrypt(utf8ToBytes(text)));
}

/** Decrypts hex text of `sealText`. Another key, another context and any change read alike. */
export function openText(
  key: Uint8Array,
  nonce: Uint8Array,
  context: string,
  sealedHex: string,
): Result<string, { readonly kind: "NotOpened" }> {
  const sealed = parseHex(sealedHex);
  if (!sealed.ok) return err({ kind: "NotOpened" });
  let plain: Uint8Array;
  try {
    plain = xchacha20poly1305(key, nonce, utf8ToBytes(context)).decrypt(sealed.value);
  } catch {
    // The cipher tells nobody why, and there is nothing to tell apart.
    return err({ kind: "NotOpened" });
  }
  const text = parseUtf8(plain);
  return text === undefined ? err({ kind: "NotOpened" }) : ok(text);
}
