import type { SwapState } from "../../src/core/swap/swapState.ts";
import { deadlinesOf } from "../../src/core/swap/timelocks.ts";
import type { Restart } from "./cell.ts";
import { REVEAL_MARGIN_SEC } from "./matrixWorld.ts";

export const AT_ONCE_SEC = 1;

/** Moment by which the step a state stands before must have been done, unix seconds. */
function stepDeadline(s: SwapState | null, nowSec: number): number {
  if (!s) return nowSec;
  const { role } = s.terms;
  const times = deadlinesOf(s);
  if (role === "maker") {
    if (!s.own.makerPayment?.attempted) return times.firstSendBy;
    return s.own.takerPaymentSpend?.attempted ? times.takerLock : times.revealBy;
  }
  if (!s.own.takerPayment?.attempted) return s.own.fee?.attempted ? times.makerPaymentConfirmedBy : times.firstSendBy;
  return s.secret === null ? times.revealBy : times.makerLock;
}

/**
 * When the crashed side is started again, seconds from now. The lock is the taker's: it is the first to pass and decides who may still
 * take what. For a maker with its secret at home it is the worst moment, for a taker the last but one.
 */
export function restartIn(restart: Restart, s: SwapState | null, nowSec: number): number {
  if (restart === "at_once" || !s) return AT_ONCE_SEC;
  const times = deadlinesOf(s);
  const until = restart === "after_deadline" ? stepDeadline(s, nowSec) : times.takerLock;
  return Math.max(AT_ONCE_SEC, Math.ceil(until - nowSec) + 1);
}

/**
 * Whether a side that comes back then is beyond the promise: whoever may have shown the secret must see its claim confirmed before the
 * taker's lock, and whoever has paid as taker must be there to claim before the maker's lock.
 */
export function isBeyond(s: SwapState | null, backSec: number): boolean {
  if (!s) return false;
  const { takerLock, makerLock } = deadlinesOf(s);
  if (s.terms.role === "maker") return s.own.takerPaymentSpend?.attempted === true && backSec > takerLock;
  return s.own.takerPayment?.attempted === true && backSec > makerLock - REVEAL_MARGIN_SEC;
}
