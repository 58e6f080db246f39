import { isChildSlot, ownClaim, ownPayment, ownRefund, parentOf, type Slot } from "./events.ts";
import type { Stake } from "./feeSchedule.ts";
import type { SwapState } from "./swapState.ts";
import { deadlinesOf } from "./timelocks.ts";

/** The time a transaction has for its confirmation and what hangs on it; the fee follows both. */
export type FeeWindow = {
  /** Base units of the coin its fee is paid in. */
  readonly value: bigint;
  /** Unix seconds. */
  readonly since: number;
  readonly deadline: number;
  readonly stake: Stake;
};

/** Two tries of what its nodes say would fail are at least this far apart. */
const TRY_AGAIN_SEC = 600;

/**
 * Seconds from one try of what its nodes say would fail to the next: half of what the last one had until the deadline, or of what has passed since.
 * Who says so may be wrong, and a claim that is never tried costs the payment; but each try costs gas.
 * @param last when the last one was signed, unix seconds
 */
export const tryAgainAfter = (last: number, deadline: number): number => Math.max(TRY_AGAIN_SEC, Math.abs(deadline - last) / 2);

/**
 * Window of an own transaction; a child has its parent's.
 * - The maker's claim must be in a block before the taker may refund: from then on the taker, who knows the secret, could have both.
 * - The taker's claim must be in one before the maker may refund.
 * - The taker's refund, too: a maker that claims only after its own lock has passed could have both.
 * - The maker's refund is in no hurry while the secret is at home: nobody can take the payment. It may wait for low fees as long
 *   as the taker's lock lasted, the time both agreed a step may take. Once the secret is out it races from its lock on.
 * - A payment has until the other side stops waiting for its confirmations; the dex fee as long as the taker's payment, which may
 *   be built on its change; a cancellation until the refund can do the same.
 *
 * @param firstSent when it was signed, unix seconds. A window that opened long before (the node was down) is not as good as
 *   new: what of it has passed counts
 */
export function feeWindow(s: SwapState, slot: Slot, firstSent: number): FeeWindow {
  const { role, lockDurationSec, makerUnits, takerUnits, makerFeeValue, takerFeeValue } = s.terms;
  const times = deadlinesOf(s);
  const of = isChildSlot(slot) ? parentOf(role, slot) : slot;
  const values = [BigInt(makerFeeValue ?? makerUnits), BigInt(takerFeeValue ?? takerUnits)] as const;
  const [own, other] = role === "maker" ? values : [values[1], values[0]];
  const opened = (at: number): number => Math.min(firstSent, at);
  if (of === ownClaim(role)) {
    return role === "maker"
      ? { value: other, since: opened(times.revealBy), deadline: times.takerLock, stake: "race" }
      : { value: other, since: opened(times.takerLock), deadline: times.makerLock, stake: "race" };
  }
  if (of === ownRefund(role)) {
    if (role === "taker") return { value: own, since: opened(times.takerLock), deadline: times.makerLock, stake: "race" };
    const isOut = s.own.takerPaymentSpend?.attempted === true;
    const deadline = isOut ? times.makerLock : times.makerLock + lockDurationSec;
    return { value: own, since: opened(times.makerLock), deadline, stake: isOut ? "race" : "time" };
  }
  const lock = role === "maker" ? times.makerLock : times.takerLock;
  if (of === "cancel") return { value: own, since: firstSent, deadline: lock, stake: "time" };
  const confirmedBy = role === "maker" ? times.makerPaymentConfirmedBy : times.revealBy;
  const value = of === ownPayment(role) ? own : BigInt(s.terms.dexFeeUnits) + BigInt(s.terms.dexBurnUnits);
  return { value, since: firstSent, deadline: confirmedBy, stake: "trade" };
}
