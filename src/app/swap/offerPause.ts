import type { SwapCoin } from "./swapCoin.ts";

/** Longest pause: what changed at the backend without a word is found out after it at the latest. */
const LAST_MS = 60_000;

/**
 * Pause before a transaction that the backend does not have is offered to it again: doubles from offer to offer, up to a minute. A
 * new block, another version, and a backend that went away or came back begin it anew: the answer may be another then.
 */
export class OfferPause {
  readonly #firstMs: number;
  #offers = 0;
  #met = "";

  constructor(firstMs: number) {
    this.#firstMs = firstMs;
  }

  /** It was offered, with whatever answer: taken or not, the index will tell. */
  offered(): void {
    this.#offers++;
  }

  /** Milliseconds from one offer to the next, as things stand. */
  ms(coin: SwapCoin, txid: string): number {
    const { state, tip } = coin.chain.status();
    const meets = `${txid} ${state} ${tip?.hash}`;
    if (meets !== this.#met) this.#offers = 0;
    this.#met = meets;
    return Math.min(this.#firstMs * 2 ** Math.max(0, this.#offers - 1), LAST_MS);
  }
}
