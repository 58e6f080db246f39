import type { ConfSettings, TakerAction } from "../message/types.ts";
import type { Rational } from "../money/rational.ts";
import { err, ok, type Result } from "../util/result.ts";

/** How deep each payment must be, as one side sees it. */
export type SwapConfs = {
  readonly makerConfs: number;
  readonly makerNota: boolean;
  readonly takerConfs: number;
  readonly takerNota: boolean;
};

/** A taker's wishes, by the parts the coins play: a buyer's base is the maker coin, a seller's the taker coin. */
export function takerWishes(conf: ConfSettings, action: TakerAction): SwapConfs {
  return action === "Buy"
    ? { makerConfs: conf.baseConfs, makerNota: conf.baseNota, takerConfs: conf.relConfs, takerNota: conf.relNota }
    : { makerConfs: conf.relConfs, makerNota: conf.relNota, takerConfs: conf.baseConfs, takerNota: conf.baseNota };
}

/** A maker's wishes: its base is always the maker coin. */
export const makerWishes = (conf: ConfSettings): SwapConfs => ({
  makerConfs: conf.baseConfs,
  makerNota: conf.baseNota,
  takerConfs: conf.relConfs,
  takerNota: conf.relNota,
});

/** Settings the maker waits by: own wish for the coin it receives, the laxer of both for the coin it sends (reference swap-protocol.md 2.1). */
export function makerView(maker: ConfSettings, taker: ConfSettings, action: TakerAction): SwapConfs {
  const theirs = takerWishes(taker, action);
  return {
    ...makerWishes(maker),
    makerConfs: Math.min(maker.baseConfs, theirs.makerConfs),
    makerNota: maker.baseNota && theirs.makerNota,
  };
}

/** Settings the taker waits by; the same rule seen from the other side. */
export function takerView(maker: ConfSettings, taker: ConfSettings, action: TakerAction): SwapConfs {
  const own = takerWishes(taker, action);
  return { ...own, takerConfs: Math.min(own.takerConfs, maker.relConfs), takerNota: own.takerNota && maker.relNota };
}

/** Lock time rules of the network profile. */
export type LockRules = {
  /** Seconds; 7800 on KDF's networks. */
  readonly baseSec: number;
  /** Orderbook tickers of coins with slow blocks: BTC, BCH, BTG, SBTC. */
  readonly slowTickers: readonly string[];
  /** Multiplier for a slow coin or a required notarization; 4 on KDF's networks. */
  readonly slowFactor: number;
};

/**
 * L, the life of the taker payment in seconds. Both sides must reach the same number, so it depends only on what both
 * know: the orderbook tickers and both effective settings (V2 rule of reference swap-protocol.md 2.1).
 */
export function lockDurationSec(
  rules: LockRules,
  tickers: { readonly maker: string; readonly taker: string },
  views: readonly SwapConfs[],
): number {
  const slow = rules.slowTickers.includes(tickers.maker) || rules.slowTickers.includes(tickers.taker);
  return slow || views.some((v) => v.makerNota || v.takerNota) ? rules.baseSec * rules.slowFactor : rules.baseSec;
}

/** How slowly a chain may confirm while the node still keeps its promises. */
export type BlockTimes = {
  /** Seconds to count for one confirmation, luck on the bad side. */
  readonly slowBlockSec: number;
  /** Seconds to count for a notarization; null: the chain has none, and nothing that stands for it. */
  readonly notarizationSec: number | null;
};

export type ConfirmationsDoNotFit = {
  readonly kind: "ConfirmationsDoNotFit";
  readonly coin: string;
  readonly confirmations: number;
  readonly notarization: boolean;
  /** Time the confirmations may take, null: they never come; and the window there is for them; seconds. */
  readonly neededSec: number | null;
  readonly windowSec: number;
  readonly lockDurationSec: number;
};

/** Two payments of a swap: how long each may take to confirm, seconds (reference swap-protocol.md 2.2). */
export type ConfirmationWindows = { readonly maker: number; readonly taker: number };

/**
 * The maker payment has 2L/5 from the start. The taker payment may leave as late as that and must be confirmed by 4L/5, or
 * sooner where the maker needs more time to have its claim confirmed before L.
 * @param revealMarginSec what must be left before the taker's lock when the maker claims
 */
export function confirmationWindows(lockSec: number, revealMarginSec: number): ConfirmationWindows {
  const maker = Math.floor((2 * lockSec) / 5);
  return { maker, taker: Math.min(Math.floor((4 * lockSec) / 5), lockSec - revealMarginSec) - maker };
}

function neededSec(confirmations: number, notarization: boolean, { slowBlockSec, notarizationSec }: BlockTimes): number | null {
  if (!notarization) return confirmations * slowBlockSec;
  return notarizationSec === null ? null : Math.max(confirmations * slowBlockSec, notarizationSec);
}

/**
 * Refuses settings that a slow but honest chain could not meet in time.
 */
export function confirmationsFit(
  confs: SwapConfs,
  coins: {
    readonly maker: { readonly ticker: string; readonly times: BlockTimes };
    readonly taker: { readonly ticker: string; readonly times: BlockTimes };
  },
  lockSec: number,
  windows: ConfirmationWindows,
): Result<void, ConfirmationsDoNotFit> {
  const sides = [
    { coin: coins.maker, confirmations: confs.makerConfs, notarization: confs.makerNota, windowSec: windows.maker },
    { coin: coins.taker, confirmations: confs.takerConfs, notarization: confs.takerNota, windowSec: windows.taker },
  ];
  for (const { coin, confirmations, notarization, windowSec } of sides) {
    const needed = neededSec(confirmations, notarization, coin.times);
    if (needed === null || needed > windowSec) {
      return err({
        kind: "ConfirmationsDoNotFit",
        coin: coin.ticker,
        confirmations,
        notarization,
        neededSec: needed,
        windowSec,
        lockDurationSec: lockSec,
      });
    }
  }
  return ok(undefined);
}

/** The two locks of a swap lie too close together for these chains: the taker could lose the race for the maker payment. */
export type LocksTooClose = {
  readonly kind: "LocksTooClose";
  readonly makerCoin: string;
  readonly takerCoin: string;
  /** Seconds there must be between the locks, and those there are. */
  readonly neededSec: number;
  readonly gapSec: number;
};

/** A payment worth more than the confirmations that fit into its window can protect. Amounts in whole coins. */
export type AmountAboveCap = {
  readonly kind: "AmountAboveCap";
  readonly coin: string;
  readonly amount: Rational;
  readonly cap: Rational;
  readonly blockReward: Rational;
  /** Confirmations the amount asks for, and those that fit. */
  readonly confirmations: number;
  readonly fitting: number;
  readonly windowSec: number;
};
