import type { CoinEntry } from "../../core/coin/coinEntry.ts";
import { type FeeCoin, feeCoin, isFeeProtocol } from "../../core/coin/feeCoin.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import { platformOf } from "./accountOpener.ts";
import type { EnableError } from "./enabling.ts";

export type FeeCoinError = Extract<EnableError, { readonly kind: "AlreadyActive" | "Mm2NotSet" | "NotSupported" }>;

/**
 * Coins enabled for questions about fees alone. They are in no registry of coins: nothing connects, there is no address that
 * somebody could pay to, and whatever needs a balance finds no such coin. At most all of the coins file.
 */
export class FeeCoins {
  readonly #entry: (ticker: string) => CoinEntry | undefined;
  readonly #coins = new Map<string, FeeCoin>();

  constructor(entry: (ticker: string) => CoinEntry | undefined) {
    this.#entry = entry;
  }

  get(ticker: string): FeeCoin | undefined {
    return this.#coins.get(ticker);
  }

  /**
   * Null: it is no coin of this kind, and enabled like any other.
   * @param mm2 stands in for a missing `mm2` of the coins file
   */
  enable(ticker: string, mm2: boolean): Result<FeeCoin, FeeCoinError> | null {
    const entry = this.#entry(ticker);
    if (!entry || !isFeeProtocol(entry.protocol.type)) return null;
    if (this.#coins.has(ticker)) return err({ kind: "AlreadyActive", coin: ticker, progress: null });
    if (!(entry.mm2 || mm2)) return err({ kind: "Mm2NotSet", coin: ticker });
    const coin = feeCoin(entry, platformOf(entry));
    if (!coin.ok) return err({ kind: "NotSupported", coin: ticker, reason: coin.error.reason });
    this.#coins.set(ticker, coin.value);
    return ok(coin.value);
  }

  /** Whether it was enabled. */
  disable(ticker: string): boolean {
    return this.#coins.delete(ticker);
  }

  /** For methods that need more of it: what it is there for, and what not. Null: it is none. */
  why(ticker: string): string | null {
    if (!this.#coins.has(ticker)) return null;
    return `${ticker} is enabled for questions about fees only (get_trade_fee, min_trading_vol, trade_preimage): this node does not read its chain, knows no balance of it and neither sends nor trades it.`;
  }
}
