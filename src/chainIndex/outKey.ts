import type { OutPoint } from "../core/utxo/tx.ts";

/** Map key of an output. */
export const outKey = (o: OutPoint): string => `${o.txid}:${o.vout}`;
