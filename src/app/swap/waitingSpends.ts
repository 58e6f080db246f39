import type { ClaimView } from "../../core/swap/claimStays.ts";
import { isSigning, ownClaim, type Slot, type StoredEvent } from "../../core/swap/events.ts";
import { MAX_VERSIONS, nextFee } from "../../core/swap/feeSchedule.ts";
import { feeWindow, tryAgainAfter } from "../../core/swap/feeWindow.ts";
import type { RefundView } from "../../core/swap/refundStays.ts";
import { mayShowSecret, type SwapState, versionsOf } from "../../core/swap/swapState.ts";
import { fromHex } from "../../core/util/bytes.ts";
import { spendUse } from "./contracts.ts";
import type { Spend } from "./storedNeeds.ts";
import type { OwnSignedTx, SwapCoin } from "./swapCoin.ts";

/** When it was signed first; null: it was not. */
function firstSigned(log: readonly StoredEvent[], slot: Slot): number | null {
  const signed = log.find(({ event }) => event.type === "tx_signed" && event.slot === slot);
  return signed ? Math.floor(signed.atMs / 1_000) : null;
}

/** When its newest version was. */
function lastSigned(log: readonly StoredEvent[], slot: Slot): number | null {
  const signed = log.findLast(({ event: e }) => isSigning(e) && e.slot === slot);
  return signed ? Math.floor(signed.atMs / 1_000) : null;
}

/**
 * Whether one that nobody says the chain would take is tried all the same: who says so may be wrong, and what is never tried costs the payment;
 * but each try costs gas. When half of what its last version had until the deadline is over, as where its swap runs (`whyNotAgain`), and after
 * it no more: nobody sees there whether the payment is long gone. Nor one that confirmed: it has been carried out.
 */
export function isTriedAllTheSame(s: SwapState, log: readonly StoredEvent[], slot: Slot, now: number): boolean {
  const [first, last] = [firstSigned(log, slot), lastSigned(log, slot)];
  if (first === null || last === null || s.facts[slot]?.confirmed) return false;
  const { deadline } = feeWindow(s, slot, first);
  return now < deadline && now - last >= tryAgainAfter(last, deadline);
}

/** What is known of a claim that nobody has before its chain is asked: nobody looks there whether the own payment was taken. */
export const waitingView = ({ until, notAfter, lock }: Spend, nowMs: number): ClaimView => ({
  isEarly: notAfter !== null && nowMs <= notAfter * 1_000,
  isOursReturnable: until !== null && nowMs > until * 1_000,
  theirs: "there",
  mustBeSeen: nowMs > lock * 1_000,
  payout: "paid",
  isSlow: false,
  isShort: false,
});

/**
 * What is known of a refund, which was signed in its time: nobody looks there whether its payment was spent. Of the claim the account tells that is its own,
 * too; of one on another chain nobody does.
 */
export function waitingRefundView({ claim }: Spend, coin: SwapCoin, isFresh: boolean): RefundView {
  const shown = (claim?.txids ?? []).flatMap((txid) => coin.chain.tx(txid) ?? []).filter(({ failed }) => !failed);
  const isMined = shown.some(({ block }) => block !== null);
  return {
    isSigned: true,
    isPassed: false,
    isHeldUp: false,
    isPaid: false,
    spend: "none",
    isTheirsBack: false,
    claim: isMined ? "mined" : claim === null || shown.length > 0 ? "none" : "unknown",
    wasClaimMined: claim?.wasMined === true,
    isFresh,
    costsGas: true,
  };
}

/** Whether a claim that nobody has is before its own limit, until which nothing is lost by its staying home. */
export const isEarly = (spend: Spend, nowMs: number): boolean => spend.showsSecret && waitingView(spend, nowMs).isEarly;

/**
 * Whether a claim that nobody has, and that lost its nonce, would come into no block soon if it was signed anew: whoever read its secret meanwhile would win.
 */
export const waitsForLine = (spend: Spend, coin: SwapCoin, nowMs: number): boolean =>
  isEarly(spend, nowMs) && coin.claimObstacle(null) !== null;

/**
 * Another version of a claim, refund or cancellation of a swap that waits for its other coin, where the schedule that all swaps share asks for
 * one (`feeSchedule.ts`), or where the newest has missed its nonce or lacks gas. It has its nonce from here on.
 * @param coin any coin of the account that signed it
 * @param missed bytes of the newest version, in hex, where a block has used its nonce for something else; null: none has
 * @returns null: the newest will do, or no other can be made
 */
export function nextSpend(
  s: SwapState,
  log: readonly StoredEvent[],
  slot: Slot,
  coin: SwapCoin,
  now: number,
  missed: string | null,
): OwnSignedTx | null {
  const tx = s.own[slot];
  if (!tx || versionsOf(tx).length >= MAX_VERSIONS || !coin.buildDearer) return null;
  // The log has another one by now, whose nonce was not looked at.
  if (missed !== null && missed !== tx.raw) return null;
  const raw = fromHex(tx.raw);
  const tip = coin.chain.status().tip?.height;
  const what = spendUse(s.terms.role, slot);
  const size = coin.spendSize(what, raw);
  const question = {
    ...feeWindow(s, slot, firstSigned(log, slot) ?? now),
    ...coin.spendRates(),
    size,
    sureSize: coin.sureSize?.(what, raw) ?? size,
    now,
    // One that was signed before its time has no height.
    blocksMissed: tip === undefined || tx.height === undefined ? 0 : Math.max(0, tip - tx.height),
  };
  const paid = coin.feeAt?.(raw, size) ?? (tx.fee === undefined ? coin.feeOf(raw) : BigInt(tx.fee));
  const due = paid === null ? null : nextFee(question, paid);
  // With too little gas it would fail whatever it pays for each.
  const isLacking = slot === ownClaim(s.terms.role) && coin.lacksGas?.(raw) === true;
  const fee = missed === null && !isLacking ? due : (due ?? paid);
  const built = fee === null ? null : coin.buildDearer(raw, fee, missed !== null);
  if (!built?.ok) return null;
  const isSentAnyway = (missed !== null || due !== null) && !mayShowSecret(s);
  if (!isLacking || isSentAnyway || !coin.lacksGas?.(built.value.raw)) return built.value;
  // An account that cannot pay more would sign one after the other, each dearer.
  coin.releaseInputs(built.value.raw);
  return null;
}
