import { div, type Rational, rational, ZERO } from "../money/rational.ts";

/**
 * What the node wants proven before a step it cannot take back (design D7), part of the network profile. Every number is safer
 * the higher it is, and the configuration can only raise it. Nothing of it is seen by the other side. docs/safety-policy.md
 * derives each value.
 */
export type SafetyRules = {
  /** Block rewards a double spender of a payment must have at stake, in payments: confirmations x reward >= payment x this. */
  readonly confirmationValueFactor: number;
  /** Average block times counted for one block. One block in e^3 = 20 takes longer than three. */
  readonly slowBlockFactor: number;
  /** Seconds counted for a notarization. */
  readonly notarizationSec: number;
  /** Slow blocks between the last moment to reveal the secret and the taker's lock. */
  readonly revealBlocks: number;
  /** Seconds a transaction needs to reach the miners, and by which clocks differ. */
  readonly networkGraceSec: number;
  /** How far the fee rate may rise between a match and the payment, as a multiple: so much is reserved. */
  readonly feeCeilingFactor: number;
};

/**
 * Confirmations after which undoing a payment costs at least `factor` times what it brings: whoever reorganises n blocks
 * leaves n block rewards to the others. Amounts in coins of one chain; `reward` positive; rounded up, at least 1.
 */
export function valueConfirmations(amount: Rational, reward: Rational, factor: number): number {
  const wanted = div({ n: amount.n * BigInt(factor), d: amount.d }, reward);
  const blocks = (wanted.n + wanted.d - 1n) / wanted.d;
  if (blocks > BigInt(Number.MAX_SAFE_INTEGER)) return Number.MAX_SAFE_INTEGER;
  return Math.max(1, Number(blocks));
}

/** Greatest amount that so many confirmations are enough for; whole coins of the payment's chain. */
export const valueCap = (confirmations: number, reward: Rational, factor: number): Rational =>
  confirmations <= 0 ? ZERO : div({ n: reward.n * BigInt(confirmations), d: reward.d }, rational(BigInt(factor)));

/** Of the standard normal distribution: 1 in 20 lies above. */
const Z_ONE_IN_TWENTY = 1.645;

/**
 * Average block times within which n blocks come, all but once in twenty: the quantile of the gamma distribution by Wilson and
 * Hilferty's formula, within 2 % for every n. Luck evens out over many blocks: 3 for one block, 19.5 for thirteen.
 */
function unluckyBlocks(n: number): number {
  return n * (1 - 1 / (9 * n) + Z_ONE_IN_TWENTY / (3 * Math.sqrt(n))) ** 3;
}

/** More than fit into any window a lock time of weeks leaves on the fastest chain. */
const MAX_BLOCKS = 100_000;

/** Confirmations that come within a window as surely as one block comes within `slowBlockSec`. */
export function blocksWithin(windowSec: number, slowBlockSec: number): number {
  const averageBlocks = (windowSec * unluckyBlocks(1)) / slowBlockSec;
  let [fits, tooMany] = [0, Math.min(MAX_BLOCKS, Math.ceil(averageBlocks) + 1)];
  while (tooMany - fits > 1) {
    const middle = Math.floor((fits + tooMany) / 2);
    if (unluckyBlocks(middle) <= averageBlocks + 1e-9) fits = middle;
    else tooMany = middle;
  }
  return fits;
}

/**
 * Seconds that must be left before the taker's lock when the maker reveals the secret. The blocks by which the median time past
 * lags behind the clock, six at least before a refund is final (BIP-113), come on top and are not counted.
 * @param slowBlockSec of the taker coin's chain, where the claim must be confirmed
 */
export const revealMarginSec = (rules: SafetyRules, slowBlockSec: number): number =>
  rules.revealBlocks * slowBlockSec + rules.networkGraceSec;

/** Block time assumed where the coins file has none, seconds. */
const DEFAULT_BLOCK_SEC = 600;

/** Seconds counted for one block of a coin. @param averageSec `avg_blocktime` of the coins file; none: ten minutes */
export const slowBlockSec = (rules: SafetyRules, averageSec: number | null | undefined): number =>
  rules.slowBlockFactor * (averageSec ?? DEFAULT_BLOCK_SEC);

/** Blocks by which the median time past (BIP-113) lags: the middle one of eleven, and the block that is being made. */
const MEDIAN_LAG_BLOCKS = 6;

/**
 * Seconds that must lie between the two locks. In the worst case the maker claims in the very moment in which the taker's
 * refund becomes final; the taker then learns the secret and must still have its claim confirmed before the maker may refund.
 * @param takerSlowSec slow block of the taker coin's chain; `makerSlowSec`: of the maker coin's
 */
export function lockGapSec(rules: SafetyRules, takerSlowSec: number, makerSlowSec: number): number {
  const lag = Math.ceil((MEDIAN_LAG_BLOCKS * takerSlowSec) / rules.slowBlockFactor);
  return lag + takerSlowSec + revealMarginSec(rules, makerSlowSec);
}

/** What of these rules one swap is run with; fixed at its start and stored with its terms. */
export type SwapSafety = {
  /** Confirmations of the other side's payment that its value asks for; a notarization stands for them. 0: none. */
  readonly valueConfs: number;
  /** Maker: seconds that must be left before the taker's lock when the secret is revealed. */
  readonly revealMarginSec: number;
  /** Maker: confirmations of the dex fee before the own payment leaves. */
  readonly feeConfs: number;
};
