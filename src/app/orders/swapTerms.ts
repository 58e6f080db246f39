import type { ConfSettings, MakerReserved, TakerAction } from "../../core/message/types.ts";
import { gt, max, type Rational } from "../../core/money/rational.ts";
import {
  type AmountAboveCap,
  type ConfirmationsDoNotFit,
  type ConfirmationWindows,
  confirmationsFit,
  confirmationWindows,
  type LocksTooClose,
  lockDurationSec,
  makerView,
  type SwapConfs,
  takerView,
} from "../../core/order/swapConfs.ts";
import { blocksWithin, lockGapSec, revealMarginSec, type SwapSafety, valueCap, valueConfirmations } from "../../core/swap/safety.ts";
import { fromHex } from "../../core/util/bytes.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { SwapMatch, TradingCoin } from "../tradingCoin.ts";
import type { TradeRules } from "./ordersDeps.ts";

/** The coins of a swap: own tickers, and the names both sides know them by. */
export type SwapCoins = {
  readonly maker: string;
  readonly taker: string;
  readonly makerOrderbook: string;
  readonly takerOrderbook: string;
};

/** What a swap between these two orders would be run with on this side. */
type SwapTermsOfMatch = { readonly confs: SwapConfs; readonly lockSec: number; readonly safety: SwapSafety };

/** Why a swap could not be run safely (design D7): nothing of it is begun. */
export type UnsafeTerms = ConfirmationsDoNotFit | LocksTooClose | AmountAboveCap;

type Role = "maker" | "taker";

/** By how much the two starts may differ (reference swap-protocol.md 1.5, check 1). */
const START_DIFFERENCE_SEC = 60;

/** What the part of the swap this side receives is worth: its coin, and the amount in whole coins. */
export type Receiving = { readonly role: Role; readonly amount: Rational };

/** The confirmations an amount asks for; null where the rule says nothing: no value, no known reward, or a notarization decides. */
function valueConfs(rules: TradeRules, coin: string, isNotarized: boolean, amount: Rational): number | null {
  const reward = isNotarized ? null : rules.blockReward(coin);
  return reward && gt(reward, { n: 0n, d: 1n }) ? valueConfirmations(amount, reward, rules.safety.confirmationValueFactor) : null;
}

/**
 * The margins of a swap. Between coins without value only what the chains need is counted, not clocks and networks that are
 * apart: private networks run with locks of a minute.
 */
function marginsOf(rules: TradeRules, coins: SwapCoins): { readonly revealSec: number; readonly gapSec: number } {
  const isTest = rules.isTestCoin(coins.maker) && rules.isTestCoin(coins.taker);
  const safety = isTest ? { ...rules.safety, networkGraceSec: 0 } : rules.safety;
  const [maker, taker] = [rules.blockTimes(coins.maker).slowBlockSec, rules.blockTimes(coins.taker).slowBlockSec];
  const apartSec = isTest ? 0 : START_DIFFERENCE_SEC;
  return { revealSec: Math.ceil(revealMarginSec(safety, taker)), gapSec: Math.ceil(lockGapSec(safety, taker, maker) + apartSec) };
}

/**
 * Whether a swap whose sides have these `views` leaves time for everything this side must see confirmed; `own` is what it
 * must wait by. The confirmations its value asks for come on top; where they do not fit, the amount is too high.
 */
export function fitTerms(
  rules: TradeRules,
  coins: SwapCoins,
  own: SwapConfs,
  views: readonly SwapConfs[],
  { role, amount }: Receiving,
): Result<SwapTermsOfMatch, UnsafeTerms> {
  const lockSec = lockDurationSec(rules.lock, { maker: coins.makerOrderbook, taker: coins.takerOrderbook }, views);
  const [maker, taker] = [rules.blockTimes(coins.maker), rules.blockTimes(coins.taker)];
  const margins = marginsOf(rules, coins);
  const windows = confirmationWindows(lockSec, margins.revealSec);
  const sides = { maker: { ticker: coins.maker, times: maker }, taker: { ticker: coins.taker, times: taker } };
  const fits = confirmationsFit(own, sides, lockSec, windows);
  if (!fits.ok) return fits;
  const { gapSec: neededSec } = margins;
  if (neededSec > lockSec)
    return err({ kind: "LocksTooClose", makerCoin: coins.maker, takerCoin: coins.taker, neededSec, gapSec: lockSec });
  const [theirs, agreed, isNotarized] =
    role === "maker" ? (["taker", own.takerConfs, own.takerNota] as const) : (["maker", own.makerConfs, own.makerNota] as const);
  const confirmations = valueConfs(rules, coins[theirs], isNotarized, amount) ?? 0;
  const cap = confirmations > agreed ? capOf(rules, coins, theirs, windows) : null;
  if (cap && confirmations > Math.max(cap.fitting, agreed)) {
    return err({ kind: "AmountAboveCap", coin: coins[theirs], amount, confirmations, windowSec: windows[theirs], ...cap });
  }
  const isBig = confirmations > agreed;
  const waitsForFee = role === "maker" && isBig && taker.slowBlockSec <= rules.paymentWaitSec;
  const safety = {
    valueConfs: isBig ? confirmations : 0,
    revealMarginSec: margins.revealSec,
    feeConfs: waitsForFee ? 1 : 0,
  };
  return ok({ confs: own, lockSec, safety });
}

type Cap = { readonly cap: Rational; readonly fitting: number; readonly blockReward: Rational };

function capOf(rules: TradeRules, coins: SwapCoins, side: Role, windows: ConfirmationWindows): Cap | null {
  const blockReward = rules.blockReward(coins[side]);
  if (!blockReward) return null;
  const fitting = blocksWithin(windows[side], rules.blockTimes(coins[side]).slowBlockSec);
  return { cap: valueCap(fitting, blockReward, rules.safety.confirmationValueFactor), fitting, blockReward };
}

/** Most a maker order can receive in one swap, whole coins of its rel; null: there is no cap. */
export function makerCap(rules: TradeRules, coins: SwapCoins, own: SwapConfs): Rational | null {
  const isCapped = valueConfs(rules, coins.taker, own.takerNota, { n: 1n, d: 1n }) !== null;
  const lockSec = lockDurationSec(rules.lock, { maker: coins.makerOrderbook, taker: coins.takerOrderbook }, [own]);
  const windows = confirmationWindows(lockSec, marginsOf(rules, coins).revealSec);
  const cap = isCapped ? capOf(rules, coins, "taker", windows) : null;
  // What the agreed confirmations protect by themselves is never refused.
  return cap && max(cap.cap, valueCap(own.takerConfs, cap.blockReward, rules.safety.confirmationValueFactor));
}

/** What orders of a pair that name no confirmations are held to, beside funds and numbers: for figures that are asked for before. */
export type UsualTerms = {
  /** Why the order would be refused; null: it would not be. */
  refusal(receiving: Receiving): UnsafeTerms | null;
  /** As `makerCap`. */
  makerCap(): Rational | null;
};

type CoinWithSettings = Pick<TradingCoin, "ticker" | "orderbookTicker" | "settings">;

/** `maker`/`taker`: the coins by their part in the swap. */
export const coinsOf = (maker: Omit<CoinWithSettings, "settings">, taker: Omit<CoinWithSettings, "settings">): SwapCoins => ({
  maker: maker.ticker,
  taker: taker.ticker,
  makerOrderbook: maker.orderbookTicker ?? maker.ticker,
  takerOrderbook: taker.orderbookTicker ?? taker.ticker,
});

export function usualTerms(rules: TradeRules, maker: CoinWithSettings, taker: CoinWithSettings): UsualTerms {
  const coins = coinsOf(maker, taker);
  const own = {
    makerConfs: maker.settings.confirmations,
    makerNota: maker.settings.notarization,
    takerConfs: taker.settings.confirmations,
    takerNota: taker.settings.notarization,
  };
  return {
    refusal(receiving) {
      const fits = fitTerms(rules, coins, own, [own], receiving);
      return fits.ok ? null : fits.error;
    },
    makerCap: () => makerCap(rules, coins, own),
  };
}

/** `fitTerms` for a match: `maker` and `taker` are the settings of both orders, as sent; `reserved` the amounts agreed. */
export function termsOfMatch(
  rules: TradeRules,
  coins: SwapCoins,
  role: Role,
  settings: { readonly maker: ConfSettings; readonly taker: ConfSettings; readonly action: TakerAction },
  reserved: Pick<MakerReserved, "baseAmount" | "relAmount">,
): Result<SwapTermsOfMatch, UnsafeTerms> {
  const makers = makerView(settings.maker, settings.taker, settings.action);
  const takers = takerView(settings.maker, settings.taker, settings.action);
  const amount = role === "maker" ? reserved.relAmount : reserved.baseAmount;
  return fitTerms(rules, coins, role === "maker" ? makers : takers, [makers, takers], { role, amount });
}

/** What a side knows of an offer that was taken. */
type TakenOffer = {
  readonly role: Role;
  readonly myOrderUuid: string;
  readonly coins: SwapCoins;
  readonly reserved: MakerReserved;
  /** 66 hex. */
  readonly counterparty: string;
  readonly terms: SwapTermsOfMatch;
  readonly held: Pick<SwapMatch, "reservation" | "claimReservation" | "heldFees">;
};

/** The swap both sides derive from one MakerReserved. */
export function swapMatch({ role, myOrderUuid, coins, reserved, counterparty, terms, held }: TakenOffer): SwapMatch {
  return {
    role,
    uuid: reserved.takerOrderUuid,
    myOrderUuid,
    makerCoin: coins.maker,
    takerCoin: coins.taker,
    makerAmount: reserved.baseAmount,
    takerAmount: reserved.relAmount,
    counterparty: fromHex(counterparty),
    ...terms.confs,
    lockDurationSec: terms.lockSec,
    reservation: held.reservation,
    claimReservation: held.claimReservation,
    heldFees: held.heldFees,
    safety: terms.safety,
  };
}
