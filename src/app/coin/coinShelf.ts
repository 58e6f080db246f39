import type { UtxoChain } from "../../ports/chain.ts";
import type { SwapCoin } from "../swap/swapCoin.ts";
import type { ActiveCoin, EnableRequest } from "./enabling.ts";
import type { EvmCoin } from "./evm/evmCoin.ts";

/** The coins that are there, and in which state each is. */
export class CoinShelf {
  readonly coins = new Map<string, ActiveCoin>();
  /** Put aside: there for tokens or swaps that need them, and for no new trades. */
  readonly passive = new Set<string>();
  /** Put aside because their backend has given no balance yet, with the request they were opened for: for swaps alone until it does. */
  readonly unseen = new Map<string, EnableRequest>();
  /** Being opened; null until the chain is there. An index has one writer at a time. */
  readonly opening = new Map<string, UtxoChain | null>();
  readonly closing = new Set<string>();
  readonly #prepare: (coin: SwapCoin) => void;
  readonly #listeners = new Set<() => void>();

  /** @param prepare called before a coin can be used by anybody */
  constructor(prepare: (coin: SwapCoin) => void) {
    this.#prepare = prepare;
  }

  /** For new trades. */
  active(ticker: string): SwapCoin | undefined {
    return this.passive.has(ticker) ? undefined : this.running(ticker);
  }
  /** For swaps that run already. */
  running(ticker: string): SwapCoin | undefined {
    const coin = this.coins.get(ticker);
    return coin && swapCoinOf(coin);
  }
  /** For the wallet: a coin of either family. */
  wallet(ticker: string): ActiveCoin | undefined {
    return this.passive.has(ticker) ? undefined : this.coins.get(ticker);
  }
  all(): readonly ActiveCoin[] {
    return [...this.coins.values()].filter((c) => !this.passive.has(c.ticker));
  }
  /** Tokens that need this platform coin's account. */
  tokensOf(coin: ActiveCoin): readonly EvmCoin[] {
    if (coin.family !== "account" || coin.contract !== null) return [];
    return [...this.coins.values()].filter((c): c is EvmCoin => c.family === "account" && c !== coin && c.account === coin.account);
  }
  /** Where a token stands that is to be enabled: put aside for swaps, elsewhere in use, or not there, or not seen yet. */
  placeOf(ticker: string): EvmCoin | "taken" | null {
    const there = this.coins.get(ticker);
    if (this.opening.has(ticker) || this.closing.has(ticker)) return "taken";
    if (there === undefined || this.unseen.has(ticker)) return null;
    return there.family === "account" && this.passive.has(ticker) ? there : "taken";
  }

  /** @param aside for no new trades */
  enter(coin: ActiveCoin, aside: boolean): void {
    if (aside) this.passive.add(coin.ticker);
    this.enterAll([coin]);
  }
  enterAll(coins: readonly ActiveCoin[]): void {
    for (const coin of coins) {
      this.#prepare(swapCoinOf(coin));
      this.coins.set(coin.ticker, coin);
    }
    this.tell();
  }
  /** A coin that was put aside takes new trades from now on. */
  bringForward(ticker: string): void {
    if (!this.closing.has(ticker)) this.passive.delete(ticker);
  }
  /** It is gone. */
  drop(ticker: string): void {
    for (const from of [this.coins, this.passive, this.unseen]) from.delete(ticker);
  }

  onActivated(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
  /** A coin is there, or takes new trades again. */
  tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

const swapCoinOf = (coin: ActiveCoin): SwapCoin => (coin.family === "utxo" ? coin : coin.swapCoin);
