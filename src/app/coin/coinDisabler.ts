import { err, ok, type Result } from "../../core/util/result.ts";
import type { CoinShelf } from "./coinShelf.ts";
import type { CoinUses } from "./coinUses.ts";
import type { ActiveCoin, CoinRegistryDeps, DisabledCoin, DisableError } from "./enabling.ts";

export type CoinDisablerDeps = Pick<CoinRegistryDeps, "cancelOrdersOf"> & {
  readonly shelf: CoinShelf;
  readonly uses: CoinUses;
  /** Takes a coin out and closes it. */
  readonly take: (coin: ActiveCoin) => Promise<void>;
};

/** Disables coins: each goes, or is put aside for what needs it. */
export class CoinDisabler {
  readonly #deps: CoinDisablerDeps;

  constructor(deps: CoinDisablerDeps) {
    this.#deps = deps;
  }

  /** See `CoinRegistry.disable`. */
  async disable(ticker: string, force: boolean, awaited: readonly string[]): Promise<Result<DisabledCoin, DisableError>> {
    const { shelf, uses, take } = this.#deps;
    const coin = shelf.wallet(ticker);
    if (!coin) return err({ kind: "NoSuchCoin", coin: ticker });
    const tokens = shelf.tokensOf(coin);
    if (tokens.length > 0 && !force) {
      shelf.passive.add(ticker);
      return ok({ cancelledOrders: [], passivized: true, tokens: [], kept: [ticker] });
    }
    const all = [...awaited, ticker];
    const usedNow = uses.inUse(all);
    if (usedNow && !force) return err(usedNow);
    // No new order, no new token and no way back from here on; a swap may still begin before the last order is cancelled.
    shelf.passive.add(ticker);
    shelf.closing.add(ticker);
    let isPassive = false;
    try {
      // Before anything goes: what the disk refuses then leaves all as it is.
      const cancelledOrders = [...(await this.#cancelOrders([...tokens.map((token) => token.ticker), ...all]))];
      // Those that swaps need stay, and their platform coin with them.
      for (const token of tokens) {
        const gone = await this.disable(token.ticker, true, []);
        if (gone.ok) cancelledOrders.push(...gone.value.cancelledOrders);
      }
      const used = uses.inUse(all, cancelledOrders);
      const stay = [...shelf.tokensOf(coin).map((token) => token.ticker), ...awaited.filter((token) => uses.isNeeded(token))];
      isPassive = (force && (used !== undefined || stay.length > 0)) || (!used && all.some((one) => uses.isNeeded(one)));
      if (!used && !isPassive) await take(coin);
      if (used && !force) return err(used);
      const gone = [...tokens.map((token) => token.ticker), ...awaited];
      return ok({ cancelledOrders, passivized: isPassive, tokens: gone, kept: isPassive ? [ticker, ...stay] : [] });
    } finally {
      shelf.closing.delete(ticker);
      if (!isPassive) shelf.passive.delete(ticker);
    }
  }

  /** See `CoinRegistry.disableAwaited`. */
  async disableAwaited(ticker: string, tokens: readonly string[], force: boolean): Promise<Result<DisabledCoin, DisableError>> {
    const { uses } = this.#deps;
    const all = [...tokens, ticker];
    const used = uses.inUse(all);
    if (used && !force) return err(used);
    const cancelledOrders = await this.#cancelOrders(all);
    const isPassive = all.some((coin) => uses.isNeeded(coin));
    const kept = isPassive ? [ticker, ...tokens.filter((token) => uses.isNeeded(token))] : [];
    return ok({ cancelledOrders, passivized: isPassive, tokens, kept });
  }

  async #cancelOrders(tickers: readonly string[]): Promise<readonly string[]> {
    const cancelled: string[] = [];
    for (const ticker of tickers) cancelled.push(...(await this.#deps.cancelOrdersOf(ticker)));
    return cancelled;
  }
}
