import type { TakerAction } from "../message/types.ts";
import { div, isPositive, isShort, lt, max, mul, type Rational, rational, ZERO } from "../money/rational.ts";
import { err, ok, type Result } from "../util/result.ts";
import type { AmountAboveCap, ConfirmationsDoNotFit, LocksTooClose } from "./swapConfs.ts";

/** Least price of `buy` and `sell`, rel per base. */
const MIN_TAKER_PRICE = rational(1n, 100_000_000n);

/** Other nodes would not take an order with such a number. */
export type NumberTooLong = { readonly kind: "NumberTooLong"; readonly what: "price" | "volume" | "min_volume" };

/**
 * Why an order is refused, with the numbers the texts of `reference/rpc.md` 4.1 and 4.2 show. Volumes and prices in
 * whole coins. The texts are made at the RPC edge: they differ between `buy`/`sell` and `setprice`.
 */
export type OrderRuleError =
  | { readonly kind: "SameCoin"; readonly ticker: string }
  | { readonly kind: "CoinNotActive"; readonly side: "base" | "rel"; readonly ticker: string }
  | { readonly kind: "WalletOnly"; readonly ticker: string }
  | { readonly kind: "OneChain"; readonly base: string; readonly rel: string }
  | { readonly kind: "PriceTooLow"; readonly price: Rational; readonly required: Rational }
  | { readonly kind: "BaseVolumeTooLow"; readonly volume: Rational; readonly required: Rational }
  | { readonly kind: "RelVolumeTooLow"; readonly volume: Rational; readonly required: Rational }
  | { readonly kind: "MinVolumeTooLow"; readonly volume: Rational; readonly required: Rational }
  | { readonly kind: "MaxBelowMin"; readonly max: Rational; readonly min: Rational }
  | NumberTooLong
  | ConfirmationsDoNotFit
  | LocksTooClose
  | AmountAboveCap;

/** What can be wrong with an order's price and volumes. */
export type OrderNumberError = Extract<
  OrderRuleError,
  { readonly kind: "PriceTooLow" | "BaseVolumeTooLow" | "RelVolumeTooLow" | "MinVolumeTooLow" | "MaxBelowMin" | "NumberTooLong" }
>;

/** What the rules ask of a coin; `orderbookTicker` and `spendsFrom` as `TradingCoin` has them. */
export type PairCoin = {
  readonly walletOnly: boolean;
  readonly orderbookTicker: string | null;
  readonly spendsFrom: "contract" | "account";
};

type Pair = { readonly base: string; readonly rel: string };

/** Two tickers of one UTXO chain, LTC and LTC-segwit say: no order book shows such a pair (reference rpc.md 5.2). */
const isOneChain = (pair: Pair, base: PairCoin, rel: PairCoin): boolean =>
  base.spendsFrom === "contract" &&
  rel.spendsFrom === "contract" &&
  (base.orderbookTicker ?? pair.base) === (rel.orderbookTicker ?? pair.rel);

/** Can orders of both coins be made? `first`: the side whose absence is reported first. Source: reference rpc.md 4.1 rows 3-4, 4.2 rows 2-4. */
export function checkPairCoins<C extends PairCoin>(
  pair: Pair,
  coins: { readonly base: C | undefined; readonly rel: C | undefined },
  first: "base" | "rel",
): Result<{ readonly base: C; readonly rel: C }, OrderRuleError> {
  const missing = (side: "base" | "rel"): Result<never, OrderRuleError> => err({ kind: "CoinNotActive", side, ticker: pair[side] });
  const { base, rel } = coins;
  if (first === "rel" && !rel) return missing("rel");
  if (!base) return missing("base");
  if (!rel) return missing("rel");
  if (base.walletOnly) return err({ kind: "WalletOnly", ticker: pair.base });
  if (rel.walletOnly) return err({ kind: "WalletOnly", ticker: pair.rel });
  if (pair.base !== pair.rel && isOneChain(pair, base, rel)) return err({ kind: "OneChain", base: pair.base, rel: pair.rel });
  return ok({ base, rel });
}

/** Of `buy` the own coin, whose absence is reported first, is rel; of `sell` it is base. */
export const ownSide = (action: TakerAction): "base" | "rel" => (action === "Buy" ? "rel" : "base");

/** Numbers of a new order: rel per base, base coins, and the coins' least trading volumes. */
export type OrderNumbers = {
  readonly price: Rational;
  readonly volume: Rational;
  /** As given; undefined: the threshold is taken. */
  readonly minVolume: Rational | undefined;
  readonly minTradingVolBase: Rational;
  readonly minTradingVolRel: Rational;
};

/** Least base volume that keeps both sides above their coin's minimum. `price` must be positive. */
const threshold = (n: Omit<OrderNumbers, "volume">): Rational => max(n.minTradingVolBase, div(n.minTradingVolRel, n.price));

/** The volume of a maker order is cut where it is announced; its price and minimum, and all that a taker asks for, count as they are. */
function longNumber(n: Pick<OrderNumbers, "price" | "minVolume"> & { readonly volume?: Rational }): OrderNumberError | null {
  const numbers = [
    ["price", n.price],
    ["volume", n.volume],
    ["min_volume", n.minVolume],
  ] as const;
  const long = numbers.find(([, number]) => number && !isShort(number));
  return long ? { kind: "NumberTooLong", what: long[0] } : null;
}

/**
 * `buy` and `sell`, rows 6 and 8-11 of reference rpc.md 4.1, in that order.
 * @returns the minimum volume to use, base coins
 */
export function checkTakerNumbers(n: OrderNumbers): Result<Rational, OrderNumberError> {
  const long = longNumber(n);
  if (long) return err(long);
  if (lt(n.price, MIN_TAKER_PRICE)) return err({ kind: "PriceTooLow", price: n.price, required: MIN_TAKER_PRICE });
  if (lt(n.volume, n.minTradingVolBase)) return err({ kind: "BaseVolumeTooLow", volume: n.volume, required: n.minTradingVolBase });
  const relVolume = mul(n.volume, n.price);
  if (lt(relVolume, n.minTradingVolRel)) return err({ kind: "RelVolumeTooLow", volume: relVolume, required: n.minTradingVolRel });
  const required = threshold(n);
  const minVolume = n.minVolume ?? required;
  if (lt(minVolume, required)) return err({ kind: "MinVolumeTooLow", volume: minVolume, required });
  if (lt(n.volume, minVolume)) return err({ kind: "MaxBelowMin", max: n.volume, min: minVolume });
  return ok(minVolume);
}

/**
 * `setprice`, rows 8-12 of reference rpc.md 4.2, in that order.
 * @returns the minimum volume to use, base coins
 */
export function checkMakerNumbers(n: OrderNumbers): Result<Rational, OrderNumberError> {
  const required = checkMakerTerms(n);
  if (!required.ok) return required;
  const volume = checkMakerVolume(n);
  return volume.ok ? ok(n.minVolume ?? required.value) : volume;
}

/**
 * Rows 8 and 9: price, and minimum volume where one is given.
 * @returns the least minimum volume that both coins allow, base coins
 */
export function checkMakerTerms(n: Omit<OrderNumbers, "volume">): Result<Rational, OrderNumberError> {
  const long = longNumber({ price: n.price, minVolume: n.minVolume });
  if (long) return err(long);
  if (!isPositive(n.price)) return err({ kind: "PriceTooLow", price: n.price, required: ZERO });
  const required = threshold(n);
  if (n.minVolume && lt(n.minVolume, required)) return err({ kind: "MinVolumeTooLow", volume: n.minVolume, required });
  return ok(required);
}

/** Rows 10 to 12: what the order sells. */
export function checkMakerVolume(n: OrderNumbers): Result<void, OrderNumberError> {
  if (n.minVolume && lt(n.volume, n.minVolume)) return err({ kind: "MaxBelowMin", max: n.volume, min: n.minVolume });
  if (lt(n.volume, n.minTradingVolBase)) return err({ kind: "BaseVolumeTooLow", volume: n.volume, required: n.minTradingVolBase });
  const relVolume = mul(n.volume, n.price);
  if (lt(relVolume, n.minTradingVolRel)) return err({ kind: "RelVolumeTooLow", volume: relVolume, required: n.minTradingVolRel });
  return ok(undefined);
}
