const MINUTE_MS = 60_000;

/**
 * What the promise "Funds" assumes of the world (README, docs/safety.md). Inside it no honest node loses anything; the
 * simulator counts what it draws beyond it apart. Lock times are those of the profile: L = 7800 s for the taker payment.
 */
export const ENVELOPE = {
  /** A reorganisation undoes fewer blocks than the confirmations required of the coin: at most this much fewer. */
  reorgBelowConfirmations: 1,
  /** Longest time without a block on a chain. A secret is revealed at least L/5 = 26 min before the other side may refund. */
  blockGapMs: 20 * MINUTE_MS,
  /** A node is down, or without its daemon, without its disk or with a lying daemon, no longer than this in one go … */
  troubleMs: 15 * MINUTE_MS,
  /** … and within any `troubleWindowMs` no longer than this in all. */
  troubleSumMs: 20 * MINUTE_MS,
  troubleWindowMs: 140 * MINUTE_MS,
  /** Miners take nothing below this many times the usual fee rate, for no longer than `feeSpikeMs`. */
  feeFactor: 50,
  feeSpikeMs: 20 * MINUTE_MS,
  /** A node's clock is wrong by no more. */
  clockErrorMs: 60_000,
  /** A clock that was more wrong is right again: so long after, nothing that is due waits any more. */
  caughtUpMs: 30 * MINUTE_MS,
  /** No acknowledged write is ever lost. */
  backupAgeMs: 0,
  /** All contracts are empty this long after the maker's lock: median time lags, blocks come late, nodes are down. */
  freeAfterLockMs: 120 * MINUTE_MS,
} as const;
