import { add, div, gt, isZero, lte, max, mul, ONE, type Rational, sub, ZERO } from "../../core/money/rational.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { NotSufficientBalance, Outage, TradingCoin, Unfunded } from "../tradingCoin.ts";

/** Dex fee of a pair: the greater of `floor` and volume x `rate`; whole taker coins. `floor` has the coin's dust in it. */
export type DexFeeRule = { readonly rate: Rational; readonly floor: Rational };

export const dexFeeOf = (rule: DexFeeRule, volume: Rational): Rational => max(rule.floor, mul(volume, rule.rate));

/** Miner fee of paying the dex fee; where none is due, nothing is sent. */
export const dexFeeTxFee = (coin: TradingCoin, fee: Rational, stage: Stage): Result<Rational, Unfunded> =>
  isZero(fee) ? ok(ZERO) : coin.dexFeeTxFee(fee, stage);

type Stage = Parameters<TradingCoin["paymentFee"]>[1];

/**
 * Greatest volume a taker could trade with what the coin has free: volume, dex fee and both miner fees fit.
 * Too little for any trade is zero, not an error; an outage is. Source: reference rpc.md 9.2.
 */
export function maxTakerVolume(coin: TradingCoin, rule: DexFeeRule, stage: Stage): Result<Rational, Outage> {
  const outage = coin.outage();
  if (outage) return err(outage);
  const payment = coin.maxPayment(stage);
  const feeTx = payment.ok ? dexFeeTxFee(coin, dexFeeOf(rule, payment.value.volume), stage) : payment;
  if (!payment.ok || !feeTx.ok) return ok(ZERO);
  const possible = sub(payment.value.volume, feeTx.value);
  // V + max(floor, V x rate) = possible. Where the two cases meet, V x rate = floor.
  const shared = div(possible, add(ONE, rule.rate));
  const volume = gt(mul(shared, rule.rate), rule.floor) ? shared : sub(possible, rule.floor);
  return ok(lte(volume, coin.dust) ? ZERO : volume);
}

/** Greatest volume a maker order could have now. Source: reference rpc.md 4.2 row 5a. */
export function maxMakerVolume(
  coin: TradingCoin,
  stage: Stage,
): Result<{ readonly volume: Rational; readonly fee: Rational }, NotSufficientBalance | Outage> {
  const outage = coin.outage();
  if (outage) return err(outage);
  const payment = coin.maxPayment(stage);
  if (!payment.ok || gt(payment.value.volume, coin.dust)) return payment;
  return err({
    kind: "NotSufficientBalance",
    coin: coin.ticker,
    available: sub(coin.spendable(), coin.locked()),
    required: add(coin.dust, payment.value.fee),
    lockedBySwaps: coin.locked(),
  });
}
