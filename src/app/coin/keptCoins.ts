import type { CoinEntry } from "../../core/coin/coinEntry.ts";
import type { Log } from "../../ports/log.ts";
import { type AccountOpener, platformOf } from "./accountOpener.ts";
import type { CoinShelf } from "./coinShelf.ts";
import type { ActiveCoin, CoinRegistryDeps, EnableRequest } from "./enabling.ts";
import type { EvmCoin } from "./evm/evmCoin.ts";
import type { TokensToOpen } from "./tokensToOpen.ts";

export type KeptCoinsDeps = Pick<CoinRegistryDeps, "usersOf" | "beforeClose"> & {
  readonly shelf: CoinShelf;
  readonly accounts: Pick<AccountOpener, "openUnchecked" | "leave">;
  readonly entries: ReadonlyMap<string, CoinEntry>;
  readonly log: Log;
};

/**
 * Coins whose backend is away after a start. They stay for the swaps that wait for them: what those must do on their other coin, a claim
 * with a known secret or a refund, cannot wait. To them it is a coin whose backend went away while they ran.
 */
export class KeptCoins {
  readonly #deps: KeptCoinsDeps;

  constructor(deps: KeptCoinsDeps) {
    this.#deps = deps;
  }

  /** Whether swaps wait for a coin, or for a token that needs it. */
  isWaitedFor(ticker: string): boolean {
    const hasSwaps = (of: string): boolean => this.#deps.usersOf(of).activeSwaps.length > 0;
    return hasSwaps(ticker) || [...this.#deps.entries.values()].some((entry) => platformOf(entry) === ticker && hasSwaps(entry.ticker));
  }

  /** @param away why its backend has shown nothing, a sentence */
  keep(coin: ActiveCoin, request: EnableRequest, away: string): void {
    const { shelf, log } = this.#deps;
    const { ticker } = coin;
    shelf.unseen.set(ticker, request);
    shelf.enter(coin, true);
    log.warn("coin_kept_for_swaps", { coin: ticker, why: away });
    // Its rates are asked for until there are some.
    if (coin.family === "utxo") void coin.open();
  }

  /** The same of those tokens of a platform coin that swaps wait for: it was kept itself, or its nodes went away since it was opened. */
  async keepTokens(platform: EvmCoin, tokens: TokensToOpen["tokens"], away: string): Promise<void> {
    const { shelf, accounts, usersOf } = this.#deps;
    for (const { entry, requiredConfirmations } of tokens) {
      const { ticker } = entry;
      if (shelf.coins.has(ticker) || usersOf(ticker).activeSwaps.length === 0) continue;
      const opened = await accounts.openUnchecked(platform, entry, requiredConfirmations);
      const plain = { requiresNotarization: undefined, daemon: undefined, birthdayHeight: undefined };
      const request = { coin: ticker, mm2: true, requiredConfirmations, ...plain };
      if (opened.ok) this.keep(opened.value, request, away);
    }
  }

  /** A coin that was kept is there, all of it checked, and takes the place of what was kept: its swaps go on with it, and hold what they need. */
  async replace(kept: EvmCoin, coin: EvmCoin, aside: boolean): Promise<void> {
    const { shelf, accounts, beforeClose } = this.#deps;
    shelf.drop(kept.ticker);
    await beforeClose(kept.ticker);
    await accounts.leave(kept);
    shelf.enter(coin, aside);
  }
}
