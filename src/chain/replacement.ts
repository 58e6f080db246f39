import type { ChainTx } from "./chainTx.ts";
import type { MempoolGraph } from "./mempoolGraph.ts";
import { formatCoins } from "./money.ts";

/** BIP-125: sequences up to this one signal that the transaction may be replaced. */
const MAX_REPLACEABLE_SEQUENCE = 0xfffffffd;
/** Most transactions one replacement may push out (BIP-125 rule 5). */
const MAX_REPLACED = 100;

/** Signals itself, or spends from an unconfirmed one that does. */
export function isReplaceable(txid: string, graph: MempoolGraph): boolean {
  return graph
    .ancestors([txid])
    .some((id) => graph.get(id)?.chainTx.tx.inputs.some((i) => i.sequence <= MAX_REPLACEABLE_SEQUENCE) ?? false);
}

/**
 * BIP-125 rules 2 to 5. Rule 1, the signal, was checked while the conflicts were found.
 * @param conflicts transactions that spend an input of the new one
 * @param feePerKb what the replacement must pay for its own relay on top
 * @returns the word for the reason and its details, or all transactions that go
 */
export function checkReplacement(
  chainTx: ChainTx,
  fee: bigint,
  conflicts: readonly string[],
  graph: MempoolGraph,
  feePerKb: bigint,
): { readonly reason: string; readonly detail: string } | { readonly replaced: readonly string[] } {
  const replaced = [...new Set(conflicts.flatMap((id) => graph.descendants(id)))];
  const insufficient = (detail: string) => ({ reason: "insufficient fee", detail: `rejecting replacement ${chainTx.txid}${detail}` });
  for (const id of conflicts) {
    const old = graph.get(id);
    if (old && fee * BigInt(old.chainTx.vsize) <= old.fee * BigInt(chainTx.vsize)) {
      return insufficient("; new feerate is not above the old one");
    }
  }
  if (replaced.length > MAX_REPLACED) {
    return { reason: "too many potential replacements", detail: `${replaced.length} > ${MAX_REPLACED}` };
  }
  const oldParents = new Set(conflicts.flatMap((id) => [...(graph.get(id)?.parents ?? [])]));
  const news = chainTx.tx.inputs.find((i) => graph.get(i.txid) && !oldParents.has(i.txid));
  if (news) return { reason: "replacement-adds-unconfirmed", detail: `replacement ${chainTx.txid} adds an unconfirmed input` };
  const oldFees = graph.feesOf(replaced);
  if (fee < oldFees) return insufficient(`, less fees than conflicting txs; ${formatCoins(fee)} < ${formatCoins(oldFees)}`);
  const relay = (BigInt(chainTx.vsize) * feePerKb + 999n) / 1_000n;
  if (fee - oldFees < relay) {
    return insufficient(`, not enough additional fees to relay; ${formatCoins(fee - oldFees)} < ${formatCoins(relay)}`);
  }
  return { replaced };
}
