import { add, eq, isZero, lt, mul, type Rational, sub, ZERO } from "../../core/money/rational.ts";
import { checkMakerNumbers, type NumberTooLong, type OrderRuleError } from "../../core/order/orderRules.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import { negativeVolume } from "../orders/fundsChecks.ts";
import type { FundsError, TradingCoin } from "../tradingCoin.ts";
import { type DexFeeRule, dexFeeOf, dexFeeTxFee, maxMakerVolume } from "./tradeVolumes.ts";

export type PreimageRequest = {
  readonly base: TradingCoin;
  readonly rel: TradingCoin;
  readonly method: "setprice" | "buy" | "sell";
  /** rel per base */
  readonly price: Rational;
  /** base coins */
  readonly volume: Rational;
  readonly max: boolean;
};

/** One fee in whole coins of `coin`. `paidFromTradingVol`: it comes out of the received amount, no balance is needed. */
export type ExtendedFee = { readonly coin: string; readonly amount: Rational; readonly paidFromTradingVol: boolean };
export type TotalFee = { readonly coin: string; readonly amount: Rational; readonly requiredBalance: Rational };

export type TradePreimage = {
  readonly baseCoinFee: ExtendedFee;
  readonly relCoinFee: ExtendedFee;
  /** Only for `max`. */
  readonly volume: Rational | null;
  /** Only for takers. */
  readonly takerFee: { readonly fee: ExtendedFee; readonly sending: ExtendedFee } | null;
  readonly totals: readonly TotalFee[];
};

export type PreimageError =
  | FundsError
  | { readonly kind: "BaseEqualRel" }
  | { readonly kind: "PriceTooLow"; readonly price: Rational; readonly threshold: Rational }
  | { readonly kind: "MaxWithTaker" }
  | NumberTooLong;

const STAGE = "preimage";

/**
 * Fees of a whole swap before it is ordered, with the checks the order would meet (reference rpc.md 4.5, rows 3 to 7, in
 * that order). Nothing is reserved.
 *
 * @param rule dex fee of the taker coin, for `buy` and `sell`
 */
export function tradePreimage(request: PreimageRequest, rule: DexFeeRule): Result<TradePreimage, PreimageError> {
  return request.method === "setprice" ? makerPreimage(request) : takerPreimage(request, rule);
}

function makerPreimage(r: PreimageRequest): Result<TradePreimage, PreimageError> {
  const { base, rel } = r;
  if (!r.max && isZero(r.volume)) {
    return err({ kind: "VolumeTooLow", coin: base.ticker, volume: r.volume, threshold: base.minTradingVol });
  }
  const outage = base.outage();
  if (outage) return err(outage);
  const sending = r.max ? maxMakerVolume(base, STAGE) : withVolume(paymentFee(base, r.volume), r.volume);
  if (!sending.ok) return sending;
  const { volume, fee } = sending.value;
  const baseCoinFee = { coin: base.ticker, amount: fee, paidFromTradingVol: false };
  const relCoinFee = { coin: rel.ticker, amount: rel.spendFee(), paidFromTradingVol: true };
  const short = shortfall(base, add(volume, fee));
  if (short) return err(short);
  if (base.ticker === rel.ticker) return err({ kind: "BaseEqualRel" });
  const rules = checkMakerNumbers({
    price: r.price,
    volume,
    minVolume: undefined,
    minTradingVolBase: base.minTradingVol,
    minTradingVolRel: rel.minTradingVol,
  });
  if (!rules.ok) return err(ruleError(rules.error, r));
  return ok({ baseCoinFee, relCoinFee, volume: r.max ? volume : null, takerFee: null, totals: sumByCoin([baseCoinFee, relCoinFee]) });
}

function takerPreimage(r: PreimageRequest, rule: DexFeeRule): Result<TradePreimage, PreimageError> {
  if (r.max) return err({ kind: "MaxWithTaker" });
  const buy = r.method === "buy";
  const [mine, other, volume] = buy ? [r.rel, r.base, mul(r.volume, r.price)] : [r.base, r.rel, r.volume];
  const outage = mine.outage() ?? other.outage();
  if (outage) return err(outage);
  const dexFee = dexFeeOf(rule, volume);
  const feeTx = dexFeeTxFee(mine, dexFee, STAGE);
  if (!feeTx.ok) return feeTx;
  const payment = paymentFee(mine, volume);
  if (!payment.ok) return payment;
  const sendFee = { coin: mine.ticker, amount: payment.value, paidFromTradingVol: false };
  const receiveFee = { coin: other.ticker, amount: other.spendFee(), paidFromTradingVol: true };
  const takerFee = { coin: mine.ticker, amount: dexFee, paidFromTradingVol: false };
  const sending = { coin: mine.ticker, amount: feeTx.value, paidFromTradingVol: false };
  const short = shortfall(mine, [volume, dexFee, feeTx.value, payment.value].reduce(add));
  if (short) return err(short);
  if (mine.ticker === other.ticker) return err({ kind: "BaseEqualRel" });
  const tooLow = takerVolumeTooLow(r);
  if (tooLow) return err(tooLow);
  const [baseCoinFee, relCoinFee] = buy ? [receiveFee, sendFee] : [sendFee, receiveFee];
  return ok({
    baseCoinFee,
    relCoinFee,
    volume: null,
    takerFee: { fee: takerFee, sending },
    totals: sumByCoin([baseCoinFee, relCoinFee, takerFee, sending]),
  });
}

function paymentFee(coin: TradingCoin, volume: Rational): Result<Rational, FundsError> {
  const negative = negativeVolume(coin, volume);
  return negative ? err(negative) : coin.paymentFee(volume, STAGE);
}

const withVolume = (fee: Result<Rational, FundsError>, volume: Rational): Result<{ volume: Rational; fee: Rational }, FundsError> =>
  fee.ok ? ok({ volume, fee: fee.value }) : fee;

/** Free balance against the whole need, locks counted (reference rpc.md 4.1.1 step 5). */
function shortfall(coin: TradingCoin, required: Rational): FundsError | undefined {
  const locked = coin.locked();
  const available = sub(coin.spendable(), locked);
  return lt(available, required)
    ? { kind: "NotSufficientBalance", coin: coin.ticker, available, required, lockedBySwaps: locked }
    : undefined;
}

/** A preimage has no least price of its own for takers: only the volumes count (reference rpc.md 4.5 row 7). */
function takerVolumeTooLow({ base, rel, volume, price }: PreimageRequest): FundsError | undefined {
  const relVolume = mul(volume, price);
  if (lt(volume, base.minTradingVol)) return { kind: "VolumeTooLow", coin: base.ticker, volume, threshold: base.minTradingVol };
  if (lt(relVolume, rel.minTradingVol)) return { kind: "VolumeTooLow", coin: rel.ticker, volume: relVolume, threshold: rel.minTradingVol };
  return undefined;
}

function ruleError(e: OrderRuleError, { base, rel }: PreimageRequest): PreimageError {
  switch (e.kind) {
    case "NumberTooLong":
      return e;
    case "PriceTooLow":
      return { kind: "PriceTooLow", price: e.price, threshold: e.required };
    case "BaseVolumeTooLow":
    case "MinVolumeTooLow":
      return { kind: "VolumeTooLow", coin: base.ticker, volume: e.volume, threshold: e.required };
    case "RelVolumeTooLow":
      return { kind: "VolumeTooLow", coin: rel.ticker, volume: e.volume, threshold: e.required };
    default:
      // The remaining kinds belong to order requests; the numbers alone never give them.
      throw new Error(`unexpected order rule in a preimage: ${e.kind}`);
  }
}

/** One element per coin, in order of first appearance; coins without any fee are left out. */
function sumByCoin(fees: readonly ExtendedFee[]): readonly TotalFee[] {
  const totals = new Map<string, TotalFee>();
  for (const { coin, amount, paidFromTradingVol } of fees) {
    const before = totals.get(coin) ?? { coin, amount: ZERO, requiredBalance: ZERO };
    const requiredBalance = paidFromTradingVol ? before.requiredBalance : add(before.requiredBalance, amount);
    totals.set(coin, { coin, amount: add(before.amount, amount), requiredBalance });
  }
  return [...totals.values()].filter((t) => !eq(t.amount, ZERO));
}
