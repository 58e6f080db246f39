import { add, gt, isPositive, lt, max, min, mul, type Rational, rational, sub, toDecimalString, ZERO } from "../../core/money/rational.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { FundsError, NotSufficientBalance, TradingCoin, Unfunded } from "../tradingCoin.ts";
import type { TradeRules } from "./ordersDeps.ts";

/** Whole coins kept back by `setprice` with `max`, unless the fees are more (interface spec, Limits). */
export const MAX_RESERVE = rational(1n, 1_000n);

const availableOf = (coin: TradingCoin): Rational => sub(coin.spendable(), coin.locked());

function enough(coin: TradingCoin, required: Rational): Result<void, NotSufficientBalance> {
  const available = availableOf(coin);
  if (!lt(available, required)) return ok(undefined);
  return err({ kind: "NotSufficientBalance", coin: coin.ticker, available, required, lockedBySwaps: coin.locked() });
}

/** KDF cannot turn it into base units, and says so before anything else (reference rpc.md 3.1). */
export const negativeVolume = (coin: TradingCoin, volume: Rational): FundsError | null =>
  lt(volume, ZERO)
    ? {
        kind: "Internal",
        coin: coin.ticker,
        message: `Could not get sat from amount ${toDecimalString(volume)} with decimals ${coin.decimals}`,
      }
    : null;

function aboveDust(coin: TradingCoin, volume: Rational): Result<void, Unfunded> {
  return lt(volume, coin.dust) ? err({ kind: "VolumeTooLow", coin: coin.ticker, volume, threshold: coin.dust }) : ok(undefined);
}

/**
 * Can this node pay a taker order's payment, dex fee and both miner fees? In KDF's order: each transaction alone over
 * the whole balance, then all of it over what swaps leave free (reference rpc.md 4.1.1). Open orders reserve nothing.
 *
 * @param volume whole coins of `coin`, the one given
 */
export function checkTakerFunds(rules: TradeRules, coin: TradingCoin, otherTicker: string, volume: Rational): Result<void, FundsError> {
  const dexFee = rules.dexFee(coin.ticker, otherTicker, volume);
  const dexFeeFee = isPositive(dexFee) ? coin.dexFeeTxFee(dexFee, "order") : ok(ZERO);
  if (!dexFeeFee.ok) return dexFeeFee;
  const negative = negativeVolume(coin, volume);
  if (negative) return err(negative);
  const paid = aboveDust(coin, volume);
  if (!paid.ok) return paid;
  const paymentFee = coin.paymentFee(volume, "order");
  if (!paymentFee.ok) return paymentFee;
  return enough(coin, [dexFee, dexFeeFee.value, paymentFee.value].reduce(add, volume));
}

/**
 * Claims and refunds pay their fee out of the contract. Is each of a swap's amounts enough for that should the rate rise to the
 * ceiling? `amounts`: coin and whole coins.
 */
export function coverSpends(
  ...amounts: readonly (readonly [TradingCoin, Rational])[]
): Result<void, Unfunded & { readonly kind: "VolumeTooLow" }> {
  for (const [coin, volume] of amounts) {
    const threshold = coin.leastContract();
    if (lt(volume, threshold)) return err({ kind: "VolumeTooLow", coin: coin.ticker, volume, threshold });
  }
  return ok(undefined);
}

/** Can this node pay a maker order's whole volume, which is not negative? (reference rpc.md 4.2, 5b) */
export function checkMakerFunds(coin: TradingCoin, volume: Rational): Result<void, Unfunded> {
  const paid = aboveDust(coin, volume);
  if (!paid.ok) return paid;
  const fee = coin.paymentFee(volume, "order");
  return fee.ok ? enough(coin, add(volume, fee.value)) : fee;
}

/**
 * Volume of `setprice` with `max`: what is free, less the fee of sending it or 0.001 coins, whichever is more. The
 * interface document names the fixed reserve, KDF the fee; the greater satisfies both.
 *
 * @param leastReserve whole coins kept back whatever the fee
 */
export function maxMakerVolume(coin: TradingCoin, leastReserve: Rational = MAX_RESERVE): Result<Rational, NotSufficientBalance> {
  const most = coin.maxPayment("order");
  if (!most.ok) return most;
  const available = availableOf(coin);
  const volume = min(most.value.volume, sub(available, leastReserve));
  if (gt(coin.dust, volume)) {
    const required = add(coin.dust, max(most.value.fee, leastReserve));
    return err({ kind: "NotSufficientBalance", coin: coin.ticker, available, required, lockedBySwaps: coin.locked() });
  }
  return ok(volume);
}

/** What a taker gives for `volume` base coins at `price`. */
export const givenVolume = (action: "Buy" | "Sell", volume: Rational, price: Rational): Rational =>
  action === "Buy" ? mul(volume, price) : volume;
