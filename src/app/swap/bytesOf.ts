import { fromHex } from "../../core/util/bytes.ts";

const known = new WeakMap<{ readonly raw: string }, Uint8Array>();

/**
 * The bytes of a transaction in the state of a swap, which nobody changes. Decoded once: every look at a chain asks what own transactions
 * spend, and what is read from the same bytes is then not read anew either.
 */
export function bytesOf(tx: { readonly raw: string }): Uint8Array {
  let bytes = known.get(tx);
  if (!bytes) {
    bytes = fromHex(tx.raw);
    known.set(tx, bytes);
  }
  return bytes;
}
