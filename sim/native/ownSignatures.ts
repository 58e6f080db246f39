import { equalBytes } from "../../src/core/util/bytes.ts";

/** Signatures of each generation: messages are checked within seconds. */
const KEPT = 500;

type Made = { readonly digest: Uint8Array; readonly publicKey: Uint8Array };

let now = new Map<string, Made>();
let before = new Map<string, Made>();

/** A character for each byte. */
export const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");

/** A signature was made in this process. @param publicKey the signing key's, whatever a message will say */
export function noteMade(signature: Uint8Array, digest: Uint8Array, publicKey: Uint8Array): void {
  if (now.size >= KEPT) {
    before = now;
    now = new Map();
  }
  now.set(latin1(signature), { digest: digest.slice(), publicKey });
}

/** Whether exactly this was signed here with the key: then it is a good signature, and need not be checked like one from outside. */
export function wasMade(signature: Uint8Array, digest: Uint8Array, publicKey: Uint8Array): boolean {
  const key = latin1(signature);
  const made = now.get(key) ?? before.get(key);
  return made !== undefined && equalBytes(made.digest, digest) && equalBytes(made.publicKey, publicKey);
}
