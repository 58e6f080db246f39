import type { ChainIndex } from "../../chainIndex/chainIndex.ts";
import type { IsPast } from "../../chainIndex/factsBuilder.ts";
import { outKey } from "../../chainIndex/outKey.ts";
import type { ChainStore } from "../../ports/chainStore.ts";

/**
 * What of `txids` was spent so long ago that it has left memory. What spends it may be read later, or be told by nobody any more: until then it would count as
 * there.
 */
export async function longSpent(index: ChainIndex, store: Pick<ChainStore, "spentIn">, txids: readonly string[]): Promise<IsPast> {
  const spent = txids.length === 0 ? [] : await store.spentIn(txids);
  const past = new Set(spent.flatMap((output) => (output.height <= index.settledHeight ? [outKey(output)] : [])));
  return (key) => past.has(key);
}
