/** Pause between two visits at most and at least, ms. */
const LAST_MS = 600_000;
const LEAST_MS = 60_000;
/** Visits fit into the time that is left, at least. */
const VISITS_LEFT = 20;

/**
 * Pause before the next server is visited: ten minutes while there is time, more and more often as the most urgent guard is due, every
 * minute in the end and after it, until it is over.
 */
export function visitPauseMs(dueSec: number, nowMs: number): number {
  const leftMs = dueSec * 1_000 - nowMs;
  return Math.min(LAST_MS, Math.max(LEAST_MS, Math.floor(leftMs / VISITS_LEFT)));
}
