import { MAX_BLOCK_BASE_BYTES, MAX_BLOCK_WEIGHT } from "./block.ts";
import type { ChainParams } from "./chainParams.ts";
import type { ChainPolicy } from "./chainPolicy.ts";
import type { BlockEntry } from "./chainState.ts";
import type { ChainTx } from "./chainTx.ts";
import { hasAged, isExpired, isFinal } from "./consensus/txRules.ts";
import type { MempoolEntry, MempoolGraph } from "./mempoolGraph.ts";

/** Room kept for header, count and coinbase, weight units and bytes. */
const RESERVED_WEIGHT = 8_000;
const RESERVED_BYTES = 2_000;
/** Weight units of a virtual byte (BIP-141). */
const WEIGHT_PER_VBYTE = 4;

/** A transaction with all it hangs on that is not in the block yet; parents first. */
type Package = { readonly entries: readonly MempoolEntry[]; readonly fee: bigint; readonly vsize: bigint };

const isBetter = (a: Package, b: Package): boolean => a.fee * b.vsize > b.fee * a.vsize;

/**
 * What a miner takes from the mempool: the packages that pay most for their size, while there is room. Equal ones in order of
 * entry. Where packages do not count, a child is looked at when its parents are in.
 * @param nowSec the block's time, at the earliest
 * @param skip ids the miner is told to leave out; what spends from them stays out too
 */
export function selectTxs(
  graph: MempoolGraph,
  previous: BlockEntry,
  skip: ReadonlySet<string>,
  policy: ChainPolicy,
  params: ChainParams,
  nowSec: number,
): { readonly txs: readonly ChainTx[]; readonly fees: bigint } {
  const height = previous.height + 1;
  const time = Math.max(nowSec, previous.block.header.time);
  const maxWeight =
    policy.blockVbytes === null ? MAX_BLOCK_WEIGHT : Math.min(MAX_BLOCK_WEIGHT, policy.blockVbytes * WEIGHT_PER_VBYTE + RESERVED_WEIGHT);
  const order = new Map(graph.entries().map((e, i) => [e.chainTx.txid, i]));
  const barred = new Set<string>();
  for (const { chainTx } of graph.entries()) {
    const { tx, txid } = chainTx;
    const isOut = skip.has(txid) || !isFinal(tx, height, previous.medianTime) || isExpired(tx, height) || hasAged(tx, params, time);
    if (isOut) for (const id of graph.descendants(txid)) barred.add(id);
  }
  const taken = new Set<string>();
  const txs: ChainTx[] = [];
  let weight = RESERVED_WEIGHT;
  let bytes = RESERVED_BYTES;
  let fees = 0n;

  const packageOf = (entry: MempoolEntry): Package => {
    const ids = policy.packages ? graph.ancestors([entry.chainTx.txid]).filter((id) => !taken.has(id)) : [entry.chainTx.txid];
    const entries = ids
      .flatMap((id) => graph.get(id) ?? [])
      .sort((a, b) => (order.get(a.chainTx.txid) ?? 0) - (order.get(b.chainTx.txid) ?? 0));
    const fee = entries.reduce((n, e) => n + e.fee, 0n);
    return { entries, fee, vsize: BigInt(entries.reduce((n, e) => n + e.chainTx.vsize, 0)) };
  };
  const isReady = (e: MempoolEntry): boolean => policy.packages || [...e.parents].every((p) => taken.has(p));

  const waiting = new PackageQueue(order);
  for (const entry of graph.entries()) if (!barred.has(entry.chainTx.txid) && isReady(entry)) waiting.push(entry, packageOf(entry));
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { entry, pack } = next;
    if (taken.has(entry.chainTx.txid)) continue;
    const now = packageOf(entry);
    // Some of its ancestors went in meanwhile: what is left stands elsewhere in the queue.
    if (now.entries.length !== pack.entries.length) {
      waiting.push(entry, now);
      continue;
    }
    const packWeight = now.entries.reduce((n, e) => n + e.chainTx.weight, 0);
    const packBytes = now.entries.reduce((n, e) => n + e.chainTx.strippedSize, 0);
    const paysEnough = now.fee * 1_000n >= policy.blockFeePerKb * now.vsize;
    if (!paysEnough || weight + packWeight > maxWeight || bytes + packBytes > MAX_BLOCK_BASE_BYTES) continue;
    weight += packWeight;
    bytes += packBytes;
    fees += now.fee;
    for (const e of now.entries) {
      taken.add(e.chainTx.txid);
      txs.push(e.chainTx);
    }
    for (const id of new Set(now.entries.flatMap((e) => [...graph.descendants(e.chainTx.txid)]))) {
      const child = graph.get(id);
      if (child && !taken.has(id) && !barred.has(id) && isReady(child)) waiting.push(child, packageOf(child));
    }
  }
  return { txs, fees };
}

type Queued = { readonly entry: MempoolEntry; readonly pack: Package };

/** A binary heap, the best package on top. */
class PackageQueue {
  readonly #order: ReadonlyMap<string, number>;
  readonly #heap: Queued[] = [];

  constructor(order: ReadonlyMap<string, number>) {
    this.#order = order;
  }

  push(entry: MempoolEntry, pack: Package): void {
    const heap = this.#heap;
    heap.push({ entry, pack });
    for (let at = heap.length - 1; at > 0; ) {
      const up = (at - 1) >> 1;
      if (!this.#isBefore(at, up)) return;
      this.#swap(at, up);
      at = up;
    }
  }

  pop(): Queued | undefined {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop();
    if (!top || !last || heap.length === 0) return top;
    heap[0] = last;
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2];
      let best = at;
      if (left < heap.length && this.#isBefore(left, best)) best = left;
      if (right < heap.length && this.#isBefore(right, best)) best = right;
      if (best === at) return top;
      this.#swap(at, best);
      at = best;
    }
  }

  #isBefore(a: number, b: number): boolean {
    const [x, y] = [this.#heap[a], this.#heap[b]];
    if (!x || !y) return false;
    if (isBetter(x.pack, y.pack)) return true;
    if (isBetter(y.pack, x.pack)) return false;
    return (this.#order.get(x.entry.chainTx.txid) ?? 0) < (this.#order.get(y.entry.chainTx.txid) ?? 0);
  }

  #swap(a: number, b: number): void {
    const [x, y] = [this.#heap[a], this.#heap[b]];
    if (!x || !y) return;
    this.#heap[a] = y;
    this.#heap[b] = x;
  }
}
