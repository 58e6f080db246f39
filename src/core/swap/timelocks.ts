import type { Negotiated, SwapTerms } from "./events.ts";

/**
 * The clock of one swap. All values are unix seconds by this node's clock, limits inclusive: a step is late when
 * `now > limit`. Source: reference swap-protocol.md 2.2.
 */
export type SwapDeadlines = {
  /** T_t, the taker payment's time lock, computed from the taker's start. */
  readonly takerLock: number;
  /** T_m, the maker payment's time lock, computed from the maker's start. */
  readonly makerLock: number;
  /** The taker's fee and the maker's payment leave before this, or never: S + floor(L/3). */
  readonly firstSendBy: number;
  /** Maker payment confirmed by, and taker payment sent by: S + floor(2L/5). */
  readonly makerPaymentConfirmedBy: number;
  /** Taker payment confirmed by, and the secret revealed by: S + floor(4L/5), or sooner where the claim needs more time before T_t. */
  readonly revealBy: number;
};

/** How much longer the maker payment is locked than the taker payment. 2 for every chain we trade. */
const MAKER_LOCK_FACTOR = 2;

export const takerLock = (takerStartedAt: number, lockDurationSec: number): number => takerStartedAt + lockDurationSec;
export const makerLock = (makerStartedAt: number, lockDurationSec: number): number =>
  makerStartedAt + Math.ceil(MAKER_LOCK_FACTOR * lockDurationSec);

/**
 * @param startedAt       this side's own start, unix seconds
 * @param theirStartedAt  the other side's start as negotiated; until then its own start stands in
 * @param revealMarginSec what must be left before the taker's lock when the maker reveals the secret
 */
export function deadlines(
  role: "maker" | "taker",
  startedAt: number,
  theirStartedAt: number,
  lockDurationSec: number,
  revealMarginSec = 0,
): SwapDeadlines {
  const makerStart = role === "maker" ? startedAt : theirStartedAt;
  const takerStart = role === "taker" ? startedAt : theirStartedAt;
  const lock = takerLock(takerStart, lockDurationSec);
  return {
    takerLock: lock,
    makerLock: makerLock(makerStart, lockDurationSec),
    firstSendBy: startedAt + Math.floor(lockDurationSec / 3),
    makerPaymentConfirmedBy: startedAt + Math.floor((2 * lockDurationSec) / 5),
    revealBy: Math.min(startedAt + Math.floor((4 * lockDurationSec) / 5), lock - revealMarginSec),
  };
}

/** The same for a swap in any state. */
export function deadlinesOf(s: {
  readonly terms: Pick<SwapTerms, "role" | "startedAt" | "lockDurationSec" | "safety">;
  readonly negotiated: Pick<Negotiated, "theirStartedAt"> | null;
}): SwapDeadlines {
  const { role, startedAt, lockDurationSec, safety } = s.terms;
  return deadlines(role, startedAt, s.negotiated?.theirStartedAt ?? startedAt, lockDurationSec, safety?.revealMarginSec);
}
