import { hash } from "node:crypto";
import type { Tx } from "../core/utxo/tx.ts";
import { hasMoreThanId, serializeTx } from "../core/utxo/txCodec.ts";

/** A transaction with the bytes it came in. `raw` and the scripts of `tx` are views; copy what is kept. */
export type RawTx = { readonly txid: string; readonly tx: Tx; readonly raw: Uint8Array };

const sha256 = (data: Uint8Array): Buffer => hash("sha256", data, "buffer");

/** Id of a parsed transaction from its own bytes, display order. */
export function rawTxid(tx: Tx, raw: Uint8Array): string {
  const stripped = hasMoreThanId(tx) ? serializeTx(tx, { witness: false }) : raw;
  return sha256(sha256(stripped)).reverse().toString("hex");
}

/** A script of a parsed transaction as the index names it. */
export const scriptHex = (script: Uint8Array): string => Buffer.from(script.buffer, script.byteOffset, script.byteLength).toString("hex");
