import { toHex } from "../core/util/bytes.ts";
import { err, ok, type Result } from "../core/util/result.ts";
import type { BlockEntry, ChainState } from "./chainState.ts";
import type { ChainTx } from "./chainTx.ts";
import type { Coin } from "./coinSet.ts";
import type { Mempool } from "./mempool.ts";

/** Most scripts watched. */
const MAX_WATCHED = 10_000;

export type Watched = { readonly address: string; readonly label: string; readonly fromHeight: number };

/** One line of a wallet's history: money that came to a watched script, or left it. */
export type WalletLine = {
  readonly chainTx: ChainTx;
  /** Null while unconfirmed; `index` is the place in the block. */
  readonly entry: BlockEntry | null;
  readonly index: number;
  readonly time: number;
  readonly watched: Watched;
  readonly category: "receive" | "send" | "generate" | "immature";
  readonly vout: number;
  /** Base units, never negative. */
  readonly value: bigint;
};

/** A daemon's wallet with watch-only addresses: what it was told to watch, and since which block. */
export class WatchWallet {
  readonly #watched = new Map<string, Watched>();
  readonly #state: ChainState;
  readonly #mempool: Mempool;

  constructor(state: ChainState, mempool: Mempool) {
    this.#state = state;
    this.#mempool = mempool;
  }

  /** @param rescan false: only what happens from the next block on is seen, as in a daemon */
  watch(
    script: Uint8Array,
    address: string,
    label: string,
    rescan: boolean,
  ): Result<void, { readonly kind: "WalletFull"; readonly max: number }> {
    const key = toHex(script);
    const known = this.#watched.get(key);
    if (!known && this.#watched.size >= MAX_WATCHED) return err({ kind: "WalletFull", max: MAX_WATCHED });
    const fromHeight = rescan ? 0 : this.#state.tip.height + 1;
    this.#watched.set(key, { address, label, fromHeight: known ? Math.min(known.fromHeight, fromHeight) : fromHeight });
    return ok(undefined);
  }

  isWatched(script: Uint8Array): boolean {
    return this.#watched.has(toHex(script));
  }

  watched(): readonly (Watched & { readonly scriptHex: string })[] {
    return [...this.#watched].map(([scriptHex, w]) => ({ scriptHex, ...w }));
  }

  /** Unspent outputs the wallet knows, unconfirmed ones last (with `height` one above the tip); what the mempool spends is left out. */
  unspents(): readonly { readonly coin: Coin; readonly watched: Watched; readonly confirmed: boolean }[] {
    const out: { coin: Coin; watched: Watched; confirmed: boolean }[] = [];
    const unspent = (c: Coin): boolean => this.#mempool.graph.spender(`${c.txid}:${c.vout}`) === undefined;
    for (const [scriptHex, watched] of this.#watched) {
      for (const coin of this.#state.coins.ofScript(scriptHex)) {
        if (coin.height >= watched.fromHeight && unspent(coin)) out.push({ coin, watched, confirmed: true });
      }
    }
    for (const { chainTx } of this.#mempool.graph.entries()) {
      for (const vout of chainTx.tx.outputs.keys()) {
        const coin = this.#mempool.coin(chainTx.txid, vout);
        const watched = coin && this.#watched.get(coin.scriptHex);
        if (coin && watched && unspent(coin)) out.push({ coin, watched, confirmed: false });
      }
    }
    return out;
  }

  /** History after a height, oldest first, unconfirmed last. */
  history(afterHeight: number): readonly WalletLine[] {
    const lines: WalletLine[] = [];
    for (let height = afterHeight + 1; height <= this.#state.tip.height; height++) {
      const entry = this.#state.at(height);
      if (!entry) continue;
      for (const [index, chainTx] of entry.block.txs.entries()) {
        this.#collect(lines, chainTx, entry.undo?.[index] ?? [], entry, index, entry.block.header.time);
      }
    }
    for (const { chainTx, coins, time } of this.#mempool.graph.entries()) this.#collect(lines, chainTx, coins, null, 0, time);
    return lines;
  }

  #collect(lines: WalletLine[], chainTx: ChainTx, spent: readonly Coin[], entry: BlockEntry | null, index: number, time: number): void {
    const base = { chainTx, entry, index, time };
    const height = entry?.height ?? this.#state.tip.height + 1;
    const known = (scriptHex: string): Watched | undefined => {
      const watched = this.#watched.get(scriptHex);
      return watched && watched.fromHeight <= height ? watched : undefined;
    };
    const from = spent.find((c) => known(c.scriptHex));
    const sender = from && known(from.scriptHex);
    for (const [vout, { value, script }] of chainTx.tx.outputs.entries()) {
      if (sender) lines.push({ ...base, watched: sender, category: "send", vout, value });
      const watched = known(toHex(script));
      if (!watched) continue;
      const coinbase = entry !== null && index === 0;
      const category = !coinbase ? "receive" : this.#state.tip.height - height + 1 > 100 ? "generate" : "immature";
      lines.push({ ...base, watched, category, vout, value });
    }
  }
}
