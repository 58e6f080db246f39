import { equalBytes } from "../../core/util/bytes.ts";
import type { Result } from "../../core/util/result.ts";
import type { BuildError, BuiltTx, Unspent } from "../../core/utxo/buildTx.ts";
import { type FeeRate, feeForSize } from "../../core/utxo/feeRate.ts";
import type { OutPoint } from "../../core/utxo/tx.ts";
import { txid } from "../../core/utxo/txCodec.ts";
import { OwnClusters } from "./ownClusters.ts";

/** Most own unconfirmed transactions that depend on each other; nodes refuse more than 25. */
export const MAX_CLUSTER = 20;

/**
 * Confirmed outputs a transaction is chosen from, the largest ones of a wallet with more. No transaction that nodes relay
 * has half as many inputs, and a stranger's ten thousand tiny outputs must not make each choice slow.
 */
const MAX_CANDIDATES = 1_500;

/** Outputs to choose from, ascending by value, and what their unconfirmed transactions hang on. */
export type Pool = { readonly unspents: readonly Unspent[]; readonly clusters: OwnClusters };

export const byValue = (a: Unspent, b: Unspent): number => (a.value < b.value ? -1 : a.value > b.value ? 1 : 0);
export const keyOf = (o: OutPoint): string => `${o.txid}:${o.vout}`;

/** Confirmed outputs first; then own unconfirmed ones, largest first, until it can be built. */
export function choose(pool: Pool, build: (unspents: readonly Unspent[]) => Result<BuiltTx, BuildError>): Result<BuiltTx, BuildError> {
  const { unspents, clusters } = pool;
  const isConfirmed = (u: Unspent): boolean => clusters.isConfirmed(u.txid);
  const candidates = unspents.filter(isConfirmed).slice(-MAX_CANDIDATES);
  const change = unspents.filter((u) => !isConfirmed(u)).reverse();
  let result = build(candidates);
  for (const u of change) {
    if (result.ok) break;
    candidates.push(u);
    const built = build(candidates);
    const fits = !built.ok || clusters.sizeWith(built.value.spent.map((s) => s.txid)) <= MAX_CLUSTER;
    if (fits) result = built;
    else candidates.pop();
  }
  return result;
}

/**
 * The pool after a transaction: its inputs gone, the outputs it pays back there, and it hangs on what it spends.
 * @param clusters what becomes the clusters of the new pool; absent: a copy. Whoever needs the old pool no more passes its own.
 */
export function after(pool: Pool, built: BuiltTx, clusters: OwnClusters = new OwnClusters(pool.clusters)): Pool {
  const used = new Set(built.spent.map(keyOf));
  const usedTxs = new Set(built.spent.map((u) => u.txid));
  const id = txid(built.tx);
  const unspents = pool.unspents.filter((u) => !usedTxs.has(u.txid) || !used.has(keyOf(u)));
  const script = built.change > 0n ? built.tx.outputs.at(-1)?.script : undefined;
  built.tx.outputs.forEach((o, vout) => {
    if (script && equalBytes(o.script, script)) unspents.push({ txid: id, vout, ...o });
  });
  unspents.sort(byValue);
  clusters.add(id);
  for (const { txid: parent } of built.spent) clusters.join(parent, id);
  return { unspents, clusters };
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
  const have = pool.unspents.slice(-MAX_CANDIDATES).reduce((sum, u) => (u.value > inputFee ? sum + u.value - inputFee : sum), 0n);
  const need = promised.reduce((sum, p) => sum + p.amount + feeForSize(p.ceiling, PAYMENT_BYTES + INPUT_BYTES) + dust, 0n);
  return have - need;
}
