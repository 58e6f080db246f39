import type { CoinRegistryDeps, DisableError } from "./enabling.ts";

export type CoinInUse = DisableError & { readonly kind: "CoinInUse" };

/** What coins are there for, beside new trades. */
export class CoinUses {
  readonly #deps: Pick<CoinRegistryDeps, "usersOf" | "isWatched">;

  constructor(deps: Pick<CoinRegistryDeps, "usersOf" | "isWatched">) {
    this.#deps = deps;
  }

  /** What of these goes on: swaps, and orders that are being matched. Undefined: nothing. */
  inUse(tickers: readonly string[], cancelledOrders: readonly string[] = []): CoinInUse | undefined {
    for (const ticker of tickers) {
      const { matchingOrders, activeSwaps } = this.#deps.usersOf(ticker);
      if (matchingOrders.length > 0 || activeSwaps.length > 0) return { kind: "CoinInUse", matchingOrders, cancelledOrders, activeSwaps };
    }
    return undefined;
  }

  /** For what goes on, and for swaps that have ended and may change yet: they are looked after only while their coins are there. */
  isNeeded(ticker: string): boolean {
    return this.inUse([ticker]) !== undefined || this.#deps.isWatched(ticker);
  }
}
