import {
  add,
  div,
  fromUnits,
  gt,
  isPositive,
  lt,
  max,
  min,
  mul,
  type Rational,
  rational,
  sub,
  toDecimalString,
  toUnits,
  ZERO,
} from "../../core/money/rational.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import { feesBeside, missingFunds, movable, type Outlay } from "../fees/tradeFunds.ts";
import type { FundsError, MissingFunds, Outage, PricedCoin, SwapStarter, TradingCoin, Unfunded } from "../tradingCoin.ts";
import type { TradeRules } from "./ordersDeps.ts";

/** Whole coins kept back by `setprice` with `max`, unless the fees are more (interface spec, Limits). */
export const MAX_RESERVE = rational(1n, 1_000n);

const STAGE = "order";

/** A trade by its two coins: the one this node gives and the one it receives. */
export type TradeCoins = { readonly coin: TradingCoin; readonly other: TradingCoin };

function enough(outlay: Outlay): Result<void, MissingFunds> {
  const missing = missingFunds(outlay);
  return missing ? err(missing) : ok(undefined);
}

/** KDF cannot turn it into base units, and says so before anything else (reference rpc.md 3.1). */
export const negativeVolume = (coin: Pick<TradingCoin, "ticker" | "decimals">, volume: Rational): FundsError | null =>
  lt(volume, ZERO)
    ? {
        kind: "Internal",
        coin: coin.ticker,
        message: `Could not get sat from amount ${toDecimalString(volume)} with decimals ${coin.decimals}`,
      }
    : null;

/**
 * Can this node pay a taker order's payment, dex fee and all fees? In KDF's order: each transaction alone over
 * the whole balance, then all of it over what swaps leave free (reference rpc.md 4.1.1). Open orders reserve nothing.
 *
 * @param volume whole coins of the one given
 */
export function checkTakerFunds(rules: TradeRules, { coin, other }: TradeCoins, volume: Rational): Result<void, FundsError> {
  const dexFee = rules.dexFee(coin.ticker, other.ticker, volume);
  const dexFeeFee = isPositive(dexFee) ? coin.dexFeeTxFee(dexFee, STAGE) : ok(ZERO);
  if (!dexFeeFee.ok) return dexFeeFee;
  const negative = negativeVolume(coin, volume);
  if (negative) return err(negative);
  const paymentFee = coin.paymentFee(volume, STAGE);
  if (!paymentFee.ok) return paymentFee;
  const fees = [dexFeeFee.value, paymentFee.value, coin.refundFee(STAGE)].reduce(add);
  return enough({ coin, given: add(volume, dexFee), fees, other });
}

/**
 * Claims and refunds on UTXO chains pay their fee out of the contract. Is each of a swap's amounts enough for that should the rate rise to the
 * ceiling? `amounts`: coin and whole coins.
 */
export function coverSpends(
  ...amounts: readonly (readonly [Pick<TradingCoin, "ticker" | "leastContract">, Rational])[]
): Result<void, Unfunded & { readonly kind: "VolumeTooLow" }> {
  for (const [coin, volume] of amounts) {
    const threshold = coin.leastContract();
    if (lt(volume, threshold)) return err({ kind: "VolumeTooLow", coin: coin.ticker, volume, threshold });
  }
  return ok(undefined);
}

/** Parts of an amount of which one may be lost where it is cut to base units. */
const CUT_DIVISOR = rational(1_000n);

/**
 * Payments are cut to base units, so that whoever receives one gets up to a unit less than was agreed. That is nothing of a coin with eight
 * decimals, and half of the price of a token that is moved in whole pieces only: the other side chooses the amount.
 */
export function isCutShort({ decimals }: Pick<TradingCoin, "decimals">, amount: Rational): boolean {
  const lost = sub(amount, fromUnits(toUnits(amount, decimals), decimals));
  return gt(mul(lost, CUT_DIVISOR), amount);
}

/** Least base volume that `coverSpends` lets pass now. `price`: rel per base, positive. */
export const leastCovered = (base: TradingCoin, rel: TradingCoin, price: Rational): Rational =>
  max(base.leastContract(), div(rel.leastContract(), price));

/**
 * Why no swap with this coin may begin now; null: it may. Its backend is away; or its chain is still being read: until it is, no payment counts,
 * and the taker would pay its fee for a swap that comes to nothing.
 */
export function whyNoTrade(coin: Pick<PricedCoin, "ticker" | "outage" | "isCounting">): Outage | null {
  const isBlind = coin.outage() === null && coin.isCounting?.() === true;
  return isBlind ? { kind: "Transport", coin: coin.ticker, message: `the ${coin.ticker} chain is still being read` } : coin.outage();
}

/** The same of a coin that is received. */
export const whyNotReceived = (coin: Pick<PricedCoin, "ticker" | "outage" | "isCounting" | "unclaimable">): Outage | null =>
  whyNoTrade(coin) ?? coin.unclaimable?.() ?? null;

/** Can this node pay a maker order's whole volume, which is not negative, in one swap? (reference rpc.md 4.2, 5b) */
export function checkMakerFunds({ coin, other }: TradeCoins, volume: Rational): Result<void, Unfunded> {
  const fee = coin.paymentFee(volume, STAGE);
  return fee.ok ? enough({ coin, given: volume, fees: add(fee.value, coin.refundFee(STAGE)), other }) : fee;
}

/**
 * What lacks for the fees that another coin than the one given pays in a swap of `volume`, which is not negative: a token's, and
 * those of the claim. Null where nothing does, or no other coin pays.
 */
export function missingFees({ coin, other }: TradeCoins, volume: Rational): MissingFunds | null {
  const paysItself = coin.feeTicker === coin.ticker;
  if (paysItself && other.spendsFrom === "contract") return null;
  const fee = paysItself ? ok(ZERO) : coin.paymentFee(volume, STAGE);
  const fees = paysItself || !fee.ok ? ZERO : add(fee.value, coin.refundFee(STAGE));
  const missing = missingFunds({ coin, given: ZERO, fees, other });
  return missing?.coin === coin.ticker ? null : missing;
}

/**
 * Volume of `setprice` with `max`: what is free, less all the coin must pay beside it or 0.001 coins, whichever is more. The
 * interface document names the fixed reserve, KDF the fee; the greater satisfies both.
 *
 * @param leastReserve whole coins kept back whatever the fee
 */
export function maxMakerVolume({ coin, other }: TradeCoins, leastReserve: Rational = MAX_RESERVE): Result<Rational, MissingFunds | Outage> {
  // All there is, while that is still being counted, is a figure nobody meant: an order never grows.
  const outage = whyNoTrade(coin);
  if (outage) return err(outage);
  const most = coin.maxPayment(STAGE);
  if (!most.ok) return most;
  const lockedBySwaps = coin.locked();
  const available = sub(coin.spendable(), lockedBySwaps);
  const beside = feesBeside(coin, other, STAGE);
  const volume = movable(coin, min(sub(most.value.volume, beside), sub(available, leastReserve)));
  if (gt(coin.dust, volume)) {
    const ownFees = coin.feeTicker === coin.ticker ? add(most.value.fee, beside) : ZERO;
    const required = add(coin.dust, max(ownFees, leastReserve));
    return err({ kind: "NotSufficientBalance", coin: coin.ticker, available, required, lockedBySwaps });
  }
  const paid = enough({ coin, given: ZERO, fees: add(most.value.fee, coin.refundFee(STAGE)), other });
  return paid.ok ? ok(volume) : paid;
}

/** What a taker gives for `volume` base coins at `price`. */
export const givenVolume = (action: "Buy" | "Sell", volume: Rational, price: Rational): Rational =>
  action === "Buy" ? mul(volume, price) : volume;

/** Why no swap of this coin can begin now, though its backend may be there: an offer would be made in vain. Null: one can. */
export function swapObstacle(swaps: SwapStarter, coin: string): FundsError | null {
  const message = swaps.obstacle();
  return message === null ? null : { kind: "Transport", coin, message };
}
