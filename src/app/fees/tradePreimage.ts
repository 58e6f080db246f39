import { add, div, eq, isPositive, isZero, lt, min, mul, type Rational, ZERO } from "../../core/money/rational.ts";
import { checkMakerNumbers, type NumberTooLong, type OrderRuleError } from "../../core/order/orderRules.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import { coverSpends, negativeVolume, whyNoTrade, whyNotReceived } from "../orders/fundsChecks.ts";
import type { UnsafeTerms, UsualTerms } from "../orders/swapTerms.ts";
import type { FeeStage, FundsError, Outage, PricedCoin, TradingCoin } from "../tradingCoin.ts";
import { FeesOnlyCoin } from "./feesOnlyCoin.ts";
import { claimOutage, heldStage, missingFunds } from "./tradeFunds.ts";
import { type DexFeeRule, dexFeeOf, dexFeeTxFee, maxMakerVolume } from "./tradeVolumes.ts";

/** A coin that is traded, or one whose fees alone are known: of that one nobody can say how much there is, nor the greatest volume. */
export type PreimageCoin = TradingCoin | FeesOnlyCoin;

export type PreimageRequest = {
  readonly base: PreimageCoin;
  readonly rel: PreimageCoin;
  readonly method: "setprice" | "buy" | "sell";
  /** rel per base */
  readonly price: Rational;
  /** base coins */
  readonly volume: Rational;
  readonly max: boolean;
  /** What the order would be held to; null where one of the coins does not trade. */
  readonly terms: UsualTerms | null;
};

/**
 * One fee in whole coins of `coin`, which is a token's platform coin for its miner fees. `paidFromTradingVol`: it comes out of the
 * received amount, no balance is needed.
 */
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
  | NumberTooLong
  | UnsafeTerms;

const STAGE = "preimage";

/**
 * Fees of a whole swap before it is ordered, with the checks the order would meet (reference rpc.md 4.5, rows 3 to 7, in
 * that order; then those of the swap's terms, as for an order that names no confirmations). Nothing is reserved. The fee of the coin given has a refund's in it where the account would pay for one
 * (reference rpc.md 9.4). The figures are today's; the balance must cover what the order would hold.
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
  const outage = base.outage() ?? claimOutage(rel);
  if (outage) return err(outage);
  const most = r.max ? greatestVolume(r) : null;
  if (most && !most.ok) return most;
  const cap = most && isPositive(r.price) ? (r.terms?.makerCap() ?? null) : null;
  const volume = !most ? r.volume : cap ? min(most.value.volume, div(cap, r.price)) : most.value.volume;
  const tooMuch = unmovable(base, volume);
  if (tooMuch) return err(tooMuch);
  const isAll = most !== null && eq(volume, most.value.volume);
  const giving = isAll && heldStage(base, STAGE) === STAGE ? ok(most.value.fee) : givingFee(base, volume, STAGE);
  if (!giving.ok) return giving;
  const fee = giving.value;
  const baseCoinFee = { coin: base.feeTicker, amount: fee, paidFromTradingVol: false };
  const relCoinFee = receivingFee(rel);
  const held = heldFees(base, volume, null, fee);
  if (!held.ok) return held;
  const short = missingFunds({ coin: base, given: volume, fees: held.value, other: rel });
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
  const unsafe = r.terms?.refusal({ role: "maker", amount: mul(volume, r.price) });
  if (unsafe) return err(unsafe);
  const covered = coverSpends([base, volume], [rel, mul(volume, r.price)]);
  if (!covered.ok) return covered;
  return ok({ baseCoinFee, relCoinFee, volume: r.max ? volume : null, takerFee: null, totals: sumByCoin([baseCoinFee, relCoinFee]) });
}

function takerPreimage(r: PreimageRequest, rule: DexFeeRule): Result<TradePreimage, PreimageError> {
  if (r.max) return err({ kind: "MaxWithTaker" });
  const buy = r.method === "buy";
  const [mine, other, volume] = buy ? [r.rel, r.base, mul(r.volume, r.price)] : [r.base, r.rel, r.volume];
  const outage = whyNoTrade(mine) ?? whyNotReceived(other) ?? unmovable(mine, volume);
  if (outage) return err(outage);
  const dexFee = dexFeeOf(rule, volume);
  const feeTx = dexFeeTxFee(mine, dexFee, STAGE);
  if (!feeTx.ok) return feeTx;
  const giving = givingFee(mine, volume, STAGE);
  if (!giving.ok) return giving;
  const sendFee = { coin: mine.feeTicker, amount: giving.value, paidFromTradingVol: false };
  const receiveFee = receivingFee(other);
  const takerFee = { coin: mine.ticker, amount: dexFee, paidFromTradingVol: false };
  const sending = { coin: mine.feeTicker, amount: feeTx.value, paidFromTradingVol: false };
  const held = heldFees(mine, volume, dexFee, add(feeTx.value, giving.value));
  if (!held.ok) return held;
  const short = missingFunds({ coin: mine, given: add(volume, dexFee), fees: held.value, other });
  if (short) return err(short);
  if (mine.ticker === other.ticker) return err({ kind: "BaseEqualRel" });
  const tooLow = takerVolumeTooLow(r);
  if (tooLow) return err(tooLow);
  const unsafe = r.terms?.refusal({ role: "taker", amount: buy ? r.volume : mul(r.volume, r.price) });
  if (unsafe) return err(unsafe);
  const covered = coverSpends([r.base, r.volume], [r.rel, mul(r.volume, r.price)]);
  if (!covered.ok) return covered;
  const [baseCoinFee, relCoinFee] = buy ? [receiveFee, sendFee] : [sendFee, receiveFee];
  return ok({
    baseCoinFee,
    relCoinFee,
    volume: null,
    takerFee: { fee: takerFee, sending },
    totals: sumByCoin([baseCoinFee, relCoinFee, takerFee, sending]),
  });
}

/** Why the order would be refused though the balance is there: the coin does not move so much at once. */
const unmovable = (coin: PricedCoin, volume: Rational): Outage | null => coin.unmovable?.(volume) ?? null;

/** With fees of the other coin beside it, where the coin given may have to pay them. */
function greatestVolume({ base, rel }: PreimageRequest): ReturnType<typeof maxMakerVolume> {
  if (base instanceof FeesOnlyCoin) return err(base.noBalance());
  return maxMakerVolume(base, rel instanceof FeesOnlyCoin ? null : rel, STAGE);
}

/** Of the payment, and of a refund the account would pay for. */
function givingFee(coin: PreimageCoin, volume: Rational, stage: FeeStage): Result<Rational, FundsError> {
  const negative = negativeVolume(coin, volume);
  const payment = negative ? err(negative) : coin.paymentFee(volume, stage);
  return payment.ok ? ok(add(payment.value, coin.refundFee(stage))) : payment;
}

/** What an order would hold for the own transactions, where that is not the figure `shown`. */
function heldFees(coin: PreimageCoin, volume: Rational, dexFee: Rational | null, shown: Rational): Result<Rational, FundsError> {
  const stage = heldStage(coin, STAGE);
  if (stage === STAGE) return ok(shown);
  const giving = givingFee(coin, volume, stage);
  const feeTx = dexFee === null ? ok(ZERO) : dexFeeTxFee(coin, dexFee, stage);
  if (!giving.ok) return giving;
  return feeTx.ok ? ok(add(giving.value, feeTx.value)) : feeTx;
}

const receivingFee = (coin: PreimageCoin): ExtendedFee => ({
  coin: coin.feeTicker,
  amount: coin.spendFee(STAGE),
  paidFromTradingVol: coin.spendsFrom === "contract",
});

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
