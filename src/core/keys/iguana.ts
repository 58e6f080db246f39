import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { parseHex } from "../util/bytes.ts";
import { err, ok, type Result } from "../util/result.ts";
import { type KeyPair, keyPairFromScalar } from "./keyPair.ts";
import { parseWif } from "./wif.ts";

export type PassphraseError =
  | { readonly kind: "EmptyPassphrase" }
  | { readonly kind: "BadWifChecksum" }
  | { readonly kind: "UncompressedKey" }
  /** `0x` text that is not 32 bytes of hex. */
  | { readonly kind: "BadHexKey" }
  /** The scalar is zero or not below the group order. */
  | { readonly kind: "InvalidKey" };

/** SHA-256 of the text, with the bits cleared and set that Curve25519 keys need; KDF uses it for secp256k1 as well. */
function clampedHash(text: string): Uint8Array {
  const key = sha256(utf8ToBytes(text));
  key[0] = (key[0] ?? 0) & 248;
  key[31] = ((key[31] ?? 0) & 127) | 64;
  return key;
}

/** Key of any text by the third rule of `passphraseToKeyPair`, without trying the others. */
export function textToKeyPair(text: string): KeyPair | null {
  return keyPairFromScalar(clampedHash(text));
}

/**
 * The node's key in iguana (single-key) mode, by KDF's rules in KDF's order (rpc.md 2.4): a WIF of any network, `0x` and
 * 64 hex digits, else any text hashed and clamped. A text that looks like a WIF but has a bad checksum is refused.
 */
export function passphraseToKeyPair(passphrase: string): Result<KeyPair, PassphraseError> {
  if (passphrase === "") return err({ kind: "EmptyPassphrase" });
  const wif = parseWif(passphrase);
  if (!wif.ok && wif.error.kind !== "NotWif") return err({ kind: wif.error.kind });
  let pair: KeyPair | null;
  if (wif.ok) pair = keyPairFromScalar(wif.value.secret.reveal());
  else if (passphrase.startsWith("0x")) {
    const key = parseHex(passphrase.slice(2));
    if (!key.ok || key.value.length !== 32) return err({ kind: "BadHexKey" });
    pair = keyPairFromScalar(key.value);
  } else pair = textToKeyPair(passphrase);
  return pair ? ok(pair) : err({ kind: "InvalidKey" });
}
