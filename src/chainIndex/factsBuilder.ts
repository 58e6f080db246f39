import type { BlockRef } from "../ports/chain.ts";
import type { StoredOutput, StoredSpend, StoredTx } from "../ports/chainStore.ts";
import type { ChainIndex } from "./chainIndex.ts";
import { outKey } from "./outKey.ts";
import { type RawTx, scriptHex } from "./rawTx.ts";

const NULL_TXID = "0".repeat(64);

/** Type of Raptoreum's transactions that lock an output for blocks or for a time (`TRANSACTION_FUTURE`). None of its relatives pays by this number. */
const FUTURE_TYPE = 7;

/**
 * Newly made coins, which mature and go with their block: a coinbase, a coinstake (proof of stake), known by its empty first output, or
 * the block-final transaction of Litecoin, which pays out of the extension block. What is locked by how it is paid counts as such.
 */
function isMinted({ tx }: RawTx): boolean {
  if (tx.hogEx) return true;
  if (tx.extraPayload !== undefined && tx.version >>> 16 === FUTURE_TYPE) return true;
  if (tx.inputs.length === 1 && tx.inputs[0]?.txid === NULL_TXID) return true;
  const mark = tx.outputs[0];
  return tx.outputs.length > 1 && mark !== undefined && mark.value === 0n && mark.script.length === 0;
}

export type Facts = {
  readonly txs: readonly StoredTx[];
  readonly outputs: readonly StoredOutput[];
  readonly spends: readonly StoredSpend[];
};

/** Whether an output that the index does not have was spent long ago (`outKey`). */
export type IsPast = (key: string) => boolean;

/**
 * Collects what transactions mean for the watched scripts and ids: pure, over the index and what it collected so
 * far. Outputs are looked at before inputs, since blocks need not list a parent before its child.
 */
export class FactsBuilder {
  readonly #index: ChainIndex;
  readonly #nowMs: number;
  readonly #isPast: IsPast;
  readonly #txs = new Map<string, StoredTx>();
  readonly #outputs = new Map<string, StoredOutput>();
  readonly #spends = new Map<string, StoredSpend>();

  constructor(index: ChainIndex, nowMs: number, isPast: IsPast = () => false) {
    this.#index = index;
    this.#nowMs = nowMs;
    this.#isPast = isPast;
  }

  /** @param block where the transactions stand; null for the mempool, which never overrules a block */
  add(txs: readonly RawTx[], block: BlockRef | null): void {
    const matched = new Map<string, RawTx>();
    for (const t of txs) {
      if (this.#index.isTxWatched(t.txid)) matched.set(t.txid, t);
      t.tx.outputs.forEach((o, vout) => {
        if (o.script.length === 0 || !this.#index.hasScript(scriptHex(o.script))) return;
        const key = outKey({ txid: t.txid, vout });
        const isKnown = this.#index.hasOutput(key);
        if (!isKnown && this.#isPast(key)) return;
        matched.set(t.txid, t);
        const output = { txid: t.txid, vout, value: o.value, script: o.script.slice(), coinbase: isMinted(t) };
        if (!isKnown) this.#outputs.set(key, output);
      });
    }
    for (const t of txs) {
      for (const input of t.tx.inputs) {
        const key = outKey(input);
        if (!this.#index.hasOutput(key) && !this.#outputs.has(key)) continue;
        matched.set(t.txid, t);
        if (!this.#index.hasSpend(key, t.txid))
          this.#spends.set(`${key}:${t.txid}`, { txid: input.txid, vout: input.vout, spender: t.txid });
      }
    }
    for (const t of matched.values()) this.#addTx(t, block);
  }

  #addTx(t: RawTx, block: BlockRef | null): void {
    const known = this.#txs.get(t.txid) ?? this.#index.txEntry(t.txid);
    if (known?.raw && (block === null || known.block?.hash === block.hash)) return;
    const kept = block ?? known?.block ?? null;
    this.#txs.set(t.txid, { txid: t.txid, raw: t.raw.slice(), block: kept, seenAtMs: known?.seenAtMs ?? this.#nowMs });
  }

  /** Number of facts; a bound for how much goes into one write. */
  get size(): number {
    return this.#txs.size + this.#outputs.size + this.#spends.size;
  }

  /** Keys of outputs the index does not have yet. */
  newOutputs(): readonly string[] {
    return [...this.#outputs.keys()];
  }

  facts(): Facts {
    return { txs: [...this.#txs.values()], outputs: [...this.#outputs.values()], spends: [...this.#spends.values()] };
  }
}
