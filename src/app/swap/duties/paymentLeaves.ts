import { ownPayment } from "../../../core/swap/events.ts";
import { wasUsed } from "../../../core/swap/swapState.ts";
import type { OwnSpend } from "../../../ports/chain.ts";
import { bytesOf } from "../bytesOf.ts";
import { chainOf, contractOf } from "../contracts.ts";
import type { SwapTask } from "../swapTask.ts";
import { crowdedContract } from "./crowdedContract.ts";
import { feeGone } from "./fee.ts";
import { isLateByChain } from "./lockTimes.ts";
import { otherKey } from "./otherKey.ts";
import { isInBlock } from "./sending.ts";

/**
 * Until when the own payment may be sent, unix seconds. One the backend has may confirm until its window closes; one it does not have left
 * too late, or never.
 */
export function paymentSentBy(task: SwapTask, isKnown: boolean): number {
  const { role } = task.state.terms;
  const { makerPaymentConfirmedBy, revealBy } = task.times();
  const window = role === "maker" ? makerPaymentConfirmedBy : revealBy;
  return isKnown ? window : (task.state.own[ownPayment(role)]?.notAfter ?? window);
}

/** Whether the own payment may be sent now, by the clock and by the chains. */
export const maySendPayment = (task: SwapTask, isKnown: boolean): boolean =>
  task.nowSec() <= paymentSentBy(task, isKnown) && isLateByChain(task) === null;

/**
 * Whether the own payment is in no block that nobody denies, and nobody was seen to use it: a taker's claim that nobody has takes nothing once the maker's
 * payment is gone.
 */
export const isPaymentOpen = (task: SwapTask): boolean => !isInBlock(task, ownPayment(task.state.terms.role), null) && !wasUsed(task.state);

/** Whether it is so, and no chain shows it waiting for a block either. A backend that took it may have dropped it, or passed it on to nobody. */
export function isPaymentUnseen(task: SwapTask): boolean {
  const { terms, own, facts } = task.state;
  const slot = ownPayment(terms.role);
  if (!isPaymentOpen(task)) return false;
  const { chain } = task.coin(terms.role);
  return [facts[slot]?.txid, own[slot]?.txid].every((txid) => txid === undefined || chain.tx(txid)?.block !== null);
}

/**
 * Whether no chain shows the payment, and what it is for, proven when its mark was stored, stands no more as far as is known: the maker's payment, as
 * a reorganisation leaves it, or the dex fee; or it could not be taken back, or not be watched. It must not leave as long as it is so, nor while nobody tells.
 * What was used already is paid for all the same.
 */
function isForNothing(task: SwapTask): boolean {
  const { terms } = task.state;
  if (!isPaymentUnseen(task)) return false;
  if (otherKey(task) || crowdedContract(task)) return true;
  const { chain } = task.coin(terms.role === "maker" ? "taker" : "maker");
  if (chain.status().state !== "ready") return true;
  return terms.role === "maker" ? feeGone(task) !== null : !hasMakerPaid(task);
}

/** Taker: whether the maker's payment stands as its chain is known now; what the log says after a start is of before. */
function hasMakerPaid(task: SwapTask): boolean {
  const paid = task.state.facts.makerPayment;
  if (!paid?.confirmed || !task.covered.has("maker")) return false;
  const coin = task.coin("maker");
  if (coin.chain.tx(paid.txid)?.block != null) return true;
  return coin.chain.unfound?.(coin.contractScript(contractOf(task.state, "makerPayment"))) === "unspent";
}

/**
 * Whether the other side may get the bytes of the own payment, for it can have it mined: as long as they may be sent to anybody. One that nobody may have
 * leaves by no message when it may not be sent (any more): it is taken back, and a maker whose own payment is back by then would claim it all the same, as a
 * taker would one for which it pays no fee.
 */
export function mayTellPayment(task: SwapTask): boolean {
  const { terms, own, facts } = task.state;
  const slot = ownPayment(terms.role);
  const isTaken = facts[slot] !== undefined || task.coin(terms.role).chain.tx(own[slot]?.txid ?? "") !== undefined;
  return maySendPayment(task, isTaken) && !isForNothing(task);
}

/**
 * What servers that are visited get of the own payment: it and the fee it is built on, for as long as it may be sent, then what cancels it.
 * Those that are connected may have kept it, for the other side to have it mined once that can claim it and has its own back.
 */
export function ownPayments(task: SwapTask): readonly OwnSpend[] {
  const { own, facts, terms } = task.state;
  const payment = own[ownPayment(terms.role)];
  if (!payment?.attempted) return [];
  if (own.cancel) return own.cancel.attempted ? [{ txid: own.cancel.txid, hex: own.cancel.raw }] : [];
  const coin = task.coin(chainOf(terms.role, ownPayment(terms.role)));
  if (facts.cancel?.confirmed || isForNothing(task) || !maySendPayment(task, coin.chain.tx(payment.txid) !== undefined)) return [];
  const isBuiltOnFee = own.fee?.attempted && coin.spends(bytesOf(payment), own.fee.txid);
  return [...(own.fee && isBuiltOnFee ? [own.fee] : []), payment].map(({ txid, raw }) => ({ txid, hex: raw }));
}
