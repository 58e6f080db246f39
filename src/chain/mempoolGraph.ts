import type { ChainTx } from "./chainTx.ts";
import { outPointKey } from "./chainTx.ts";
import type { Coin } from "./coinSet.ts";

export type MempoolEntry = {
  readonly chainTx: ChainTx;
  readonly coins: readonly Coin[];
  /** Base units. */
  readonly fee: bigint;
  /** Unix seconds, and the chain's height, when it entered. */
  readonly time: number;
  readonly height: number;
  /** In-mempool transactions it spends from, and those that spend from it. */
  readonly parents: Set<string>;
  readonly children: Set<string>;
};

/** Unconfirmed transactions and how they hang together. Iteration is in order of entry: parents before children. */
export class MempoolGraph {
  readonly #entries = new Map<string, MempoolEntry>();
  readonly #spentBy = new Map<string, string>();
  readonly #onChange: () => void;
  #vbytes = 0;
  #revision = 0;

  /** @param onChange called after every change */
  constructor(onChange: () => void = () => {}) {
    this.#onChange = onChange;
  }

  /** Another number after every change. */
  get revision(): number {
    return this.#revision;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Virtual bytes of all transactions together. */
  get vbytes(): number {
    return this.#vbytes;
  }

  get(txid: string): MempoolEntry | undefined {
    return this.#entries.get(txid);
  }

  entries(): readonly MempoolEntry[] {
    return [...this.#entries.values()];
  }

  /** The transaction that spends an output, by outpoint key. */
  spender(key: string): string | undefined {
    return this.#spentBy.get(key);
  }

  add(entry: MempoolEntry): void {
    const { txid, tx, vsize } = entry.chainTx;
    this.#entries.set(txid, entry);
    this.#vbytes += vsize;
    for (const input of tx.inputs) this.#spentBy.set(outPointKey(input), txid);
    for (const parent of entry.parents) this.#entries.get(parent)?.children.add(txid);
    this.#changed();
  }

  #changed(): void {
    this.#revision++;
    this.#onChange();
  }

  /** Takes one transaction out; those that spend from it stay. */
  remove(txid: string): void {
    const entry = this.#entries.get(txid);
    if (!entry) return;
    this.#entries.delete(txid);
    this.#vbytes -= entry.chainTx.vsize;
    for (const input of entry.chainTx.tx.inputs) this.#spentBy.delete(outPointKey(input));
    for (const parent of entry.parents) this.#entries.get(parent)?.children.delete(txid);
    for (const child of entry.children) this.#entries.get(child)?.parents.delete(txid);
    this.#changed();
  }

  /** Takes a transaction out with all that spend from it. @returns their ids */
  removeWithDescendants(txid: string): readonly string[] {
    const all = this.descendants(txid);
    for (const id of [...all].reverse()) this.remove(id);
    return all;
  }

  /** The transaction itself and all that spend from it, directly or not. */
  descendants(txid: string): readonly string[] {
    return this.#walk([txid], (e) => e.children);
  }

  /** All that the given transactions spend from, themselves included. */
  ancestors(txids: Iterable<string>): readonly string[] {
    return this.#walk(txids, (e) => e.parents);
  }

  #walk(from: Iterable<string>, next: (entry: MempoolEntry) => Set<string>): readonly string[] {
    const seen = new Set<string>(from);
    for (const id of seen) {
      const entry = this.#entries.get(id);
      if (!entry) seen.delete(id);
      else for (const other of next(entry)) seen.add(other);
    }
    return [...seen];
  }

  vsizeOf(txids: Iterable<string>): number {
    let n = 0;
    for (const id of txids) n += this.#entries.get(id)?.chainTx.vsize ?? 0;
    return n;
  }

  feesOf(txids: Iterable<string>): bigint {
    let n = 0n;
    for (const id of txids) n += this.#entries.get(id)?.fee ?? 0n;
    return n;
  }

  clear(): void {
    this.#entries.clear();
    this.#spentBy.clear();
    this.#vbytes = 0;
    this.#changed();
  }
}
