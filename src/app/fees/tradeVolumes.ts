import { add, div, gt, isZero, lte, max, mul, ONE, type Rational, sub, ZERO } from "../../core/money/rational.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import { whyNoTrade } from "../orders/fundsChecks.ts";
import type { FeeStage, MissingFunds, Outage, PricedCoin, TradingCoin, Unfunded } from "../tradingCoin.ts";
import { claimOutage, feesBeside, heldStage, missingFunds, movable } from "./tradeFunds.ts";

/** Dex fee of a pair: the greater of `floor` and volume x `rate`; whole taker coins. `floor` has the coin's dust in it. */
export type DexFeeRule = { readonly rate: Rational; readonly floor: Rational };

export const dexFeeOf = (rule: DexFeeRule, volume: Rational): Rational => max(rule.floor, mul(volume, rule.rate));

/** Miner fee of paying the dex fee; where none is due, nothing is sent. */
export const dexFeeTxFee = (coin: PricedCoin, fee: Rational, stage: FeeStage): Result<Rational, Unfunded> =>
  isZero(fee) ? ok(ZERO) : coin.dexFeeTxFee(fee, stage);

/**
 * Greatest volume a taker could trade with what the coin has free: volume, dex fee and all fees fit. Too little for any trade is
 * zero, not an error, also when it is the platform coin that is short; an outage is. Source: reference rpc.md 9.2.
 *
 * @param other the coin to be received, if it is enabled: its claim may have to be paid for, and by this very coin
 */
export function maxTakerVolume(coin: TradingCoin, other: TradingCoin | null, rule: DexFeeRule, stage: FeeStage): Result<Rational, Outage> {
  const outage = whyNoTrade(coin) ?? (other && claimOutage(other));
  if (outage) return err(outage);
  const held = heldStage(coin, stage);
  const payment = coin.maxPayment(held);
  const feeTx = payment.ok ? dexFeeTxFee(coin, dexFeeOf(rule, payment.value.volume), held) : payment;
  if (!payment.ok || !feeTx.ok) return ok(ZERO);
  const fees = [payment.value.fee, feeTx.value, coin.refundFee(held)].reduce(add);
  if (missingFunds({ coin, given: ZERO, fees, other })) return ok(ZERO);
  const ownFeeTx = coin.feeTicker === coin.ticker ? feeTx.value : ZERO;
  const possible = [ownFeeTx, feesBeside(coin, other, held)].reduce(sub, payment.value.volume);
  // V + max(floor, V x rate) = possible. Where the two cases meet, V x rate = floor.
  const shared = div(possible, add(ONE, rule.rate));
  const volume = movable(coin, gt(mul(shared, rule.rate), rule.floor) ? shared : sub(possible, rule.floor));
  return ok(lte(volume, coin.dust) ? ZERO : volume);
}

/**
 * Greatest volume a maker order could have now, and the fees of its coin's own transactions in `feeTicker`, a refund's included.
 * The volume leaves what an order of it would be asked for, and `fee` is that. Source: reference rpc.md 4.2 row 5a.
 *
 * @param other the coin to be received; null where it is not said yet
 */
export function maxMakerVolume(
  coin: TradingCoin,
  other: TradingCoin | null,
  stage: FeeStage,
): Result<{ readonly volume: Rational; readonly fee: Rational }, MissingFunds | Outage> {
  const outage = whyNoTrade(coin) ?? (other && claimOutage(other));
  if (outage) return err(outage);
  const held = heldStage(coin, stage);
  const payment = coin.maxPayment(held);
  if (!payment.ok) return payment;
  const beside = feesBeside(coin, other, held);
  const volume = movable(coin, sub(payment.value.volume, beside));
  if (!gt(volume, coin.dust)) {
    return err({
      kind: "NotSufficientBalance",
      coin: coin.ticker,
      available: sub(coin.spendable(), coin.locked()),
      required: coin.feeTicker === coin.ticker ? [coin.dust, payment.value.fee, beside].reduce(add) : coin.dust,
      lockedBySwaps: coin.locked(),
    });
  }
  const fee = add(payment.value.fee, coin.refundFee(held));
  const missing = missingFunds({ coin, given: ZERO, fees: fee, other });
  return missing ? err(missing) : ok({ volume, fee });
}
