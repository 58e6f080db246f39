import type { ConfSettings, MakerReserved, TakerAction } from "../../core/message/types.ts";
import {
  type ConfirmationsDoNotFit,
  confirmationsFit,
  lockDurationSec,
  makerView,
  type SwapConfs,
  takerView,
} from "../../core/order/swapConfs.ts";
import { fromHex } from "../../core/util/bytes.ts";
import { ok, type Result } from "../../core/util/result.ts";
import type { SwapMatch } from "../tradingCoin.ts";
import type { TradeRules } from "./ordersDeps.ts";

/** The coins of a swap: own tickers, and the names both sides know them by. */
export type SwapCoins = {
  readonly maker: string;
  readonly taker: string;
  readonly makerOrderbook: string;
  readonly takerOrderbook: string;
};

/** What a swap between these two orders would be run with on this side. */
type SwapTermsOfMatch = { readonly confs: SwapConfs; readonly lockSec: number };

/** Whether confirmations fit the time windows of a swap whose sides have these `views`; `own` is the side that must wait by them. */
export function fitTerms(
  rules: TradeRules,
  coins: SwapCoins,
  own: SwapConfs,
  views: readonly SwapConfs[],
): Result<SwapTermsOfMatch, ConfirmationsDoNotFit> {
  const lockSec = lockDurationSec(rules.lock, { maker: coins.makerOrderbook, taker: coins.takerOrderbook }, views);
  const sides = {
    maker: { ticker: coins.maker, times: rules.blockTimes(coins.maker) },
    taker: { ticker: coins.taker, times: rules.blockTimes(coins.taker) },
  };
  const fits = confirmationsFit(own, sides, lockSec);
  return fits.ok ? ok({ confs: own, lockSec }) : fits;
}

/** The same for a match: `maker` and `taker` are the settings of both orders, as sent. */
export function termsOfMatch(
  rules: TradeRules,
  coins: SwapCoins,
  role: "maker" | "taker",
  settings: { readonly maker: ConfSettings; readonly taker: ConfSettings; readonly action: TakerAction },
): Result<SwapTermsOfMatch, ConfirmationsDoNotFit> {
  const makers = makerView(settings.maker, settings.taker, settings.action);
  const takers = takerView(settings.maker, settings.taker, settings.action);
  return fitTerms(rules, coins, role === "maker" ? makers : takers, [makers, takers]);
}

/** The swap both sides derive from one MakerReserved. */
export function swapMatch(
  role: "maker" | "taker",
  myOrderUuid: string,
  coins: SwapCoins,
  reserved: MakerReserved,
  counterparty: string,
  terms: SwapTermsOfMatch,
  reservation: SwapMatch["reservation"],
): SwapMatch {
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
    reservation,
  };
}
