import { scrypt } from "node:crypto";
import { NONCE_BYTES, openText, sealText } from "../../core/crypto/sealedText.ts";
import { fromHex, toHex } from "../../core/util/bytes.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { Rng } from "../../ports/rng.ts";

/** Cost of one guess: 128 * N * r = 128 MiB and about 0.4 s. */
const SCRYPT_N = 131_072;
const SCRYPT_R = 8;
const SCRYPT_P = 1;
/** Costs accepted from a file: a hostile one must not take all memory. */
const MAX_SCRYPT_N = 1_048_576;

/** Version 1 of an encrypted wallet, as JSON on the disk. */
export type WalletBox = {
  readonly format: "swapnode-wallet";
  readonly version: 1;
  readonly name: string;
  readonly kdf: { readonly name: "scrypt"; readonly n: number; readonly r: number; readonly p: number; readonly salt: string };
  readonly cipher: { readonly name: "xchacha20-poly1305"; readonly nonce: string };
  readonly ciphertext: string;
};

export type WalletBoxError = { readonly kind: "WrongPassword" } | { readonly kind: "UnreadableWallet"; readonly reason: string };

function stretch(password: string, salt: Uint8Array, n: number): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const options = { N: n, r: SCRYPT_R, p: SCRYPT_P, maxmem: 128 * n * SCRYPT_R + 16 * 1024 * 1024 };
    scrypt(password.normalize("NFKD"), salt, 32, options, (error, key) => (error === null ? resolve(Uint8Array.from(key)) : reject(error)));
  });
}

/** Bound into the ciphertext, so that no file can be passed off as another wallet or version. */
const contextOf = (name: string): string => `swapnode-wallet:1:${name}`;

/** Encrypts a phrase under a password (scrypt, XChaCha20-Poly1305). */
export async function sealPhrase(name: string, phrase: string, password: string, rng: Rng): Promise<WalletBox> {
  const salt = rng.bytes(32);
  const nonce = rng.bytes(NONCE_BYTES);
  const key = await stretch(password, salt, SCRYPT_N);
  return {
    format: "swapnode-wallet",
    version: 1,
    name,
    kdf: { name: "scrypt", n: SCRYPT_N, r: SCRYPT_R, p: SCRYPT_P, salt: toHex(salt) },
    cipher: { name: "xchacha20-poly1305", nonce: toHex(nonce) },
    ciphertext: sealText(key, nonce, contextOf(name), phrase),
  };
}

/** Decrypts; any change of the file is found by the authentication tag and reads as a wrong password. */
export async function openPhrase(box: WalletBox, password: string): Promise<Result<string, WalletBoxError>> {
  const key = await stretch(password, fromHex(box.kdf.salt), box.kdf.n);
  const phrase = openText(key, fromHex(box.cipher.nonce), contextOf(box.name), box.ciphertext);
  // The only failure left is the tag: sizes and hex were checked by the parser.
  return phrase.ok ? phrase : err({ kind: "WrongPassword" });
}

const isRecord = (value: unknown): value is { readonly [key: string]: unknown } => typeof value === "object" && value !== null;
const isHex = (value: unknown, min: number, max: number): value is string =>
  typeof value === "string" && value.length >= min * 2 && value.length <= max * 2 && value.length % 2 === 0 && /^[0-9a-f]*$/.test(value);

/** Reads a wallet file's JSON. Bounds: phrase of at most 8 KiB, scrypt N a power of two up to 2^20. */
export function parseWalletBox(text: string): Result<WalletBox, WalletBoxError> {
  const bad = (reason: string): Result<never, WalletBoxError> => err({ kind: "UnreadableWallet", reason });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return bad("it is not JSON");
  }
  if (!isRecord(value) || value.format !== "swapnode-wallet") return bad("it is not a swapnode wallet");
  if (value.version !== 1) return bad(`its version is ${String(value.version).slice(0, 20)}, this program reads 1`);
  const { name, kdf, cipher, ciphertext } = value;
  if (typeof name !== "string" || name.length > 64) return bad("its name is missing");
  if (!isRecord(kdf) || kdf.name !== "scrypt" || kdf.r !== SCRYPT_R || kdf.p !== SCRYPT_P || !isHex(kdf.salt, 16, 64))
    return bad("its kdf part is wrong");
  const { n, salt } = kdf;
  if (typeof n !== "number" || !Number.isInteger(Math.log2(n)) || n < 16_384 || n > MAX_SCRYPT_N)
    return bad("its scrypt cost is out of bounds");
  if (!isRecord(cipher) || cipher.name !== "xchacha20-poly1305" || !isHex(cipher.nonce, 24, 24)) return bad("its cipher part is wrong");
  if (!isHex(ciphertext, 17, 8_192)) return bad("its ciphertext is wrong");
  return ok({
    format: "swapnode-wallet",
    version: 1,
    name,
    kdf: { name: "scrypt", n, r: SCRYPT_R, p: SCRYPT_P, salt },
    cipher: { name: "xchacha20-poly1305", nonce: cipher.nonce },
    ciphertext,
  });
}
