import { ownPayment } from "../../../core/swap/events.ts";
import { isPaidFor } from "../../../core/swap/swapState.ts";
import type { OwnSpend } from "../../../ports/chain.ts";
import { bytesOf } from "../bytesOf.ts";
import { chainOf, contractOf } from "../contracts.ts";
import type { SwapTask } from "../swapTask.ts";
import { crowdedContract } from "./crowdedContract.ts";
import { feeGone } from "./fee.ts";
import { isLateByChain } from "./lockTimes.ts";
import { otherKey } from "./otherKey.ts";

/** A backend that took a payment, and passed it on, shows it within so long. */
const SHOWN_SEC = 60;

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
 * Whether nobody is known to have the own payment, and the swap has not used it. One that a backend took, and that no chain shows a while later, was dropped,
 * or passed on to nobody.
 */
export function isPaymentUnseen(task: SwapTask): boolean {
  const { terms, own, facts } = task.state;
  const slot = ownPayment(terms.role);
  const txid = own[slot]?.txid ?? "";
  const isShown = facts[slot]?.block != null || task.coin(terms.role).chain.tx(facts[slot]?.txid ?? txid) !== undefined;
  if (isShown || isPaidFor(task.state)) return false;
  const seenAt = task.lastTimeOf((e) => e.type === "tx_seen" && e.slot === slot);
  // A disk that is full keeps the index from showing what a backend took, and that from being stored.
  return seenAt === null ? !task.taken.has(txid) : task.nowSec() > seenAt + SHOWN_SEC;
}

/**
 * Whether nobody is known to have the payment, and what it is for, proven when its mark was stored, stands no more as far as is known: the maker's payment, as
 * a reorganisation leaves it, or the dex fee; or it could not be taken back, or not be watched. It must not leave as long as it is so, nor while nobody tells.
 * What was used already is paid for all the same.
 */
export function isForNothing(task: SwapTask): boolean {
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
