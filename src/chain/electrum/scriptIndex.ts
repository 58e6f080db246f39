import { fromHex } from "../../core/util/bytes.ts";
import type { BlockEntry } from "../chainState.ts";
import type { ChainTx } from "../chainTx.ts";
import { type Coin, isUnspendable } from "../coinSet.ts";
import type { EmbeddedChain } from "../embeddedChain.ts";
import { scriptHashOf } from "./scriptHash.ts";

/** A transaction that pays or spends a script, in a block of this height. */
export type Confirmed = { readonly txid: string; readonly height: number };

/** The same in the mempool; `fee` in base units. */
export type Pending = { readonly txid: string; readonly fee: bigint; readonly hasPendingInputs: boolean };

type IndexedBlock = { readonly hash: string; readonly scriptHashes: ReadonlySet<string> };

function scriptHashesOf({ tx }: ChainTx, spent: readonly Coin[]): ReadonlySet<string> {
  const found = new Set(spent.map((coin) => scriptHashOf(fromHex(coin.scriptHex))));
  for (const { script } of tx.outputs) if (!isUnspendable(script)) found.add(scriptHashOf(script));
  return found;
}

/**
 * Which transactions touch a script: what a daemon does not tell and an Electrum server is for. Follows the active chain and the
 * mempool each time it is asked. Bounded by what the chain keeps. The genesis block is left out, its coin is not spendable.
 */
export class ScriptIndex {
  static readonly #ofChains = new WeakMap<EmbeddedChain, ScriptIndex>();
  readonly #chain: EmbeddedChain;
  /** By height, from block 1 at index 0. */
  readonly #blocks: IndexedBlock[] = [];
  readonly #confirmed = new Map<string, Confirmed[]>();
  #pending = new Map<string, Pending[]>();
  #pendingRevision = -1;

  /** The one index of a chain: what its servers know is the same, what they tell may differ. */
  static of(chain: EmbeddedChain): ScriptIndex {
    const index = ScriptIndex.#ofChains.get(chain) ?? new ScriptIndex(chain);
    ScriptIndex.#ofChains.set(chain, index);
    return index;
  }

  private constructor(chain: EmbeddedChain) {
    this.#chain = chain;
  }

  /** In the order of the chain. */
  confirmed(scriptHash: string): readonly Confirmed[] {
    this.#followChain();
    return this.#confirmed.get(scriptHash) ?? [];
  }

  /** In the order they entered: parents before children. */
  pending(scriptHash: string): readonly Pending[] {
    this.#followMempool();
    return this.#pending.get(scriptHash) ?? [];
  }

  #followChain(): void {
    const { state } = this.#chain;
    while (this.#blocks.length > 0 && state.at(this.#blocks.length)?.block.hash !== this.#blocks.at(-1)?.hash) this.#dropLast();
    for (let entry = state.at(this.#blocks.length + 1); entry; entry = state.at(this.#blocks.length + 1)) this.#add(entry);
  }

  #dropLast(): void {
    const height = this.#blocks.length;
    for (const scriptHash of this.#blocks.pop()?.scriptHashes ?? []) {
      const left = (this.#confirmed.get(scriptHash) ?? []).filter((c) => c.height !== height);
      if (left.length > 0) this.#confirmed.set(scriptHash, left);
      else this.#confirmed.delete(scriptHash);
    }
  }

  #add({ block, height, undo }: BlockEntry): void {
    const all = new Set<string>();
    for (const [i, chainTx] of block.txs.entries()) {
      for (const scriptHash of scriptHashesOf(chainTx, undo?.[i] ?? [])) {
        all.add(scriptHash);
        push(this.#confirmed, scriptHash, { txid: chainTx.txid, height });
      }
    }
    this.#blocks.push({ hash: block.hash, scriptHashes: all });
  }

  #followMempool(): void {
    const { graph } = this.#chain.mempool;
    if (this.#pendingRevision === graph.revision) return;
    this.#pendingRevision = graph.revision;
    this.#pending = new Map();
    for (const { chainTx, coins, fee, parents } of graph.entries()) {
      const one = { txid: chainTx.txid, fee, hasPendingInputs: parents.size > 0 };
      for (const scriptHash of scriptHashesOf(chainTx, coins)) push(this.#pending, scriptHash, one);
    }
  }
}

function push<T>(lists: Map<string, T[]>, key: string, value: T): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}
