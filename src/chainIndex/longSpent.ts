import type { ChainStore } from "../ports/chainStore.ts";
import type { ChainIndex } from "./chainIndex.ts";
import type { IsPast } from "./factsBuilder.ts";
import { outKey } from "./outKey.ts";
import { type RawTx, scriptHex } from "./rawTx.ts";

/**
 * What of these transactions was spent so long ago that it has left memory. What spends it may be read later, or be told by nobody any more: until then it would
 * count as there.
 */
export async function longSpent(index: ChainIndex, store: Pick<ChainStore, "spentIn">, txs: readonly RawTx[]): Promise<IsPast> {
  const isUnknown = ({ txid, tx }: RawTx): boolean =>
    tx.outputs.some(({ script }, vout) => index.hasScript(scriptHex(script)) && !index.hasOutput(outKey({ txid, vout })));
  const txids = txs.filter(isUnknown).map(({ txid }) => txid);
  const spent = txids.length === 0 ? [] : await store.spentIn(txids);
  const past = new Set(spent.flatMap((output) => (output.height <= index.settledHeight ? [outKey(output)] : [])));
  return (key) => past.has(key);
}
