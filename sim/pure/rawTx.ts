import { rawTxid as real, scriptHex as realHex } from "../../src/chainIndex/rawTx.ts";
import type { Tx } from "../../src/core/utxo/tx.ts";

export * from "../../src/chainIndex/rawTx.ts";

/** Ids of transactions that were read once for all nodes. */
const ids = new WeakMap<Tx, { readonly raw: Uint8Array; readonly txid: string }>();

export const rawTxid: typeof real = (tx, raw) => {
  const known = ids.get(tx);
  if (known?.raw === raw) return known.txid;
  const txid = real(tx, raw);
  ids.set(tx, { raw, txid });
  return txid;
};

const hexes = new WeakMap<Uint8Array, string>();

export const scriptHex: typeof realHex = (script) => {
  let hex = hexes.get(script);
  if (hex === undefined) {
    hex = realHex(script);
    hexes.set(script, hex);
  }
  return hex;
};
