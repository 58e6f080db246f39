import { equalBytes } from "../../core/util/bytes.ts";
import type { Result } from "../../core/util/result.ts";
import type { BuildError, BuiltTx } from "../../core/utxo/buildTx.ts";
import { type FeeRate, feeForSize } from "../../core/utxo/feeRate.ts";
import { filterUnspents, largestUnspents, type SortedUnspents, withoutUnspents, withUnspents } from "../../core/utxo/sortedUnspents.ts";
import { txid } from "../../core/utxo/txCodec.ts";
import { OwnClusters } from "./ownClusters.ts";

/** Most own unconfirmed transactions that depend on each other; nodes refuse more than 25. */
export const MAX_CLUSTER = 20;

/**
 * Confirmed outputs a transaction is chosen from, the largest ones of a wallet with more. No transaction that nodes relay
 * has half as many inputs, and a stranger's ten thousand tiny outputs must not make each choice slow.
 */
const MAX_CANDIDATES = 1_500;

/** Outputs to choose from: the confirmed, the own unconfirmed, and what the transactions of these hang on. */
export type Pool = { readonly confirmed: SortedUnspents; readonly change: SortedUnspents; readonly clusters: OwnClusters };

export function poolOf(all: SortedUnspents, clusters: OwnClusters): Pool {
  const confirmed = filterUnspents(all, (u) => clusters.isConfirmed(u.txid));
  const change = filterUnspents(all, (u) => !clusters.isConfirmed(u.txid));
  return { confirmed, change, clusters };
}

/** All outputs of a pool. */
export const unspentsOf = ({ confirmed, change }: Pool): SortedUnspents => withUnspents(confirmed, change);

/** What turns outputs to choose from into a transaction. */
export type Build = (unspents: SortedUnspents) => Result<BuiltTx, BuildError>;

/** Confirmed outputs first; then own unconfirmed ones, largest first, until it can be built. */
export function choose({ confirmed, change, clusters }: Pool, build: Build): Result<BuiltTx, BuildError> {
  let candidates = largestUnspents(confirmed, MAX_CANDIDATES);
  let result = build(candidates);
  for (let i = change.length - 1; i >= 0 && !result.ok; i--) {
    const next = change.slice(i, i + 1);
    const more = withUnspents(candidates, next);
    const built = build(more);
    if (built.ok && clusters.sizeWith(built.value.spent.map((s) => s.txid)) > MAX_CLUSTER) continue;
    result = built;
    candidates = more;
  }
  return result;
}

/** What a transaction does to a pool: which of its outputs it spends, and what it pays back last, base units. */
export type Effect = Pick<BuiltTx, "tx" | "spent" | "change">;

/**
 * The pool after a transaction: its inputs gone, the outputs it pays back there, and it hangs on what it spends.
 * @param clusters what becomes the clusters of the new pool; absent: a copy. Whoever needs the old pool no more passes its own.
 */
export function after(pool: Pool, built: Effect, clusters: OwnClusters = new OwnClusters(pool.clusters)): Pool {
  const id = txid(built.tx);
  const script = built.change > 0n ? built.tx.outputs.at(-1)?.script : undefined;
  const back = built.tx.outputs.flatMap((o, vout) => (script && equalBytes(o.script, script) ? [{ txid: id, vout, ...o }] : []));
  const confirmed = withoutUnspents(pool.confirmed, built.spent);
  const change = withUnspents(withoutUnspents(pool.change, built.spent), back);
  clusters.add(id);
  for (const { txid: parent } of built.spent) clusters.join(parent, id);
  return { confirmed, change, clusters };
}

/** A transaction promised: what it pays, base units, and the highest rate it will be built at. */
export type Promised = { readonly amount: bigint; readonly ceiling: FeeRate; readonly insured: boolean };

/** An input signed with the own key, virtual bytes at most; and a payment without inputs: its two outputs, change, and shielded zeros. */
const INPUT_BYTES = 148;
const PAYMENT_BYTES = 10 + 32 + 31 + 34 + 19;

/**
 * What the outputs hold beyond what these transactions need in any order whatever: the amounts, and the fees at the ceilings
 * should every output be an input, every change too, and each transaction leave dust behind. Negative: they may not all fit.
 */
export function roomInAnyOrder(pool: Pool, promised: readonly Promised[], dust: bigint): bigint {
  let top = 0n;
  for (const { ceiling } of promised) if (ceiling.perKb > top) top = ceiling.perKb;
  const inputFee = feeForSize({ perKb: top, wholeKb: false }, INPUT_BYTES);
  const have = largestUnspents(unspentsOf(pool), MAX_CANDIDATES).reduce(
    (sum, u) => (u.value > inputFee ? sum + u.value - inputFee : sum),
    0n,
  );
  const need = promised.reduce((sum, p) => sum + p.amount + feeForSize(p.ceiling, PAYMENT_BYTES + INPUT_BYTES) + dust, 0n);
  return have - need;
}
