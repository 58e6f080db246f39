import { add, isPositive, lt, min, type Rational, sub, ZERO } from "../../core/money/rational.ts";
import type { FeeFunds, FeeStage, HeldFees, MissingFunds, Outage, PricedCoin, TradingCoin } from "../tradingCoin.ts";

/** What a trade takes from this node's balances. */
export type Outlay = {
  /** The coin that is given, and whole coins of it: the volume, and a taker's dex fee. */
  readonly coin: PricedCoin;
  readonly given: Rational;
  /** Fees of its own transactions, a refund's included; whole coins of its `feeTicker`. */
  readonly fees: Rational;
  /** The coin that is received; null where nobody has said it yet. */
  readonly other: PricedCoin | null;
};

/**
 * What a volume must leave room for so that an order of it can be placed: an account coin's fees as they are held from the match
 * on, which is more than the figures of `stage`.
 */
export const heldStage = (coin: PricedCoin, stage: FeeStage): FeeStage => (coin.spendsFrom === "account" ? "order" : stage);

/** What claiming on a coin takes from a balance, as it is held, whole coins of its `feeTicker`: nothing where the contract pays. */
export const claimFee = (coin: PricedCoin): Rational => (coin.spendsFrom === "account" ? coin.spendFee("order") : ZERO);

/**
 * What must stay of a coin that pays its own fees beside a payment and that payment's fee: a refund, and the claim of the
 * other coin where this one pays it as well (ETH is given, a token on it received). Zero on UTXO chains.
 */
export function feesBeside(coin: TradingCoin, other: TradingCoin | null, stage: FeeStage): Rational {
  const refund = coin.feeTicker === coin.ticker ? coin.refundFee(stage) : ZERO;
  return other && other.feeTicker === coin.ticker ? add(refund, claimFee(other)) : refund;
}

/** A claim that the account pays for needs a balance, which may be old while the backend is away; and nodes that say whether it would be paid. */
export const claimOutage = (coin: PricedCoin): Outage | null =>
  coin.spendsFrom === "account" ? (coin.outage() ?? coin.unclaimable?.() ?? null) : null;

/** Of a volume, what the coin moves at once. */
export const movable = (coin: TradingCoin, volume: Rational): Rational => min(volume, coin.mostAtOnce?.() ?? volume);

/**
 * The first coin that has too little free for a trade: the coin given, then the one that pays its fees, then the one that pays
 * for the claim (reference rpc.md 4.1.1 steps 4 to 6). What falls on one coin is added up: ETH that is given, pays for itself and
 * for the claim of a token is needed three times over.
 */
export function missingFunds({ coin, given, fees, other }: Outlay): MissingFunds | null {
  const [spendable, locked] = [coin.spendable?.(), coin.locked?.()];
  const needs = new Map<string, { readonly required: Rational; readonly funds: FeeFunds }>();
  if (spendable && locked) needs.set(coin.ticker, { required: given, funds: { available: sub(spendable, locked), locked } });
  const count = (payer: PricedCoin, amount: Rational): void => {
    const { required = ZERO, funds = payer.feeFunds?.() } = needs.get(payer.feeTicker) ?? {};
    if (funds && isPositive(amount)) needs.set(payer.feeTicker, { required: add(required, amount), funds });
  };
  count(coin, fees);
  if (other) count(other, claimFee(other));
  for (const [ticker, { required, funds }] of needs) {
    const { available } = funds;
    if (!lt(available, required)) continue;
    // Of the pair itself, unless it pays for the other coin's fees.
    const isOwn = ticker === coin.ticker || (ticker === other?.ticker && ticker !== coin.feeTicker);
    const kind = isOwn ? "NotSufficientBalance" : "NotSufficientBaseCoinBalance";
    return { kind, coin: ticker, available, required, lockedBySwaps: funds.locked };
  }
  return null;
}

/**
 * What a maker's match of `volume` holds of each balance that pays fees out of the account, with the amount where that coin is the one
 * given; whole coins. Empty for coins whose contracts pay.
 */
export function heldFees(coin: TradingCoin, volume: Rational, other: TradingCoin): readonly HeldFees[] {
  const sums = new Map<string, Rational>();
  const count = (payer: string, amount: Rational): void => void sums.set(payer, add(sums.get(payer) ?? ZERO, amount));
  if (coin.spendsFrom === "account") {
    const fee = coin.paymentFee(volume, "order");
    count(coin.feeTicker, add(fee.ok ? fee.value : ZERO, coin.refundFee("order")));
  }
  if (other.spendsFrom === "account") count(other.feeTicker, claimFee(other));
  return [...sums].map(([payer, amount]) => ({ payer, amount: payer === coin.ticker ? add(amount, volume) : amount }));
}
