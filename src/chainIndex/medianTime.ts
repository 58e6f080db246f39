/** Headers a median time past is made of (BIP-113). */
export const MEDIAN_SPAN = 11;

/** Median of the last 11 of `times` (oldest first, unix seconds), the upper one of an even number; 0 for none. */
export function medianTime(times: readonly number[]): number {
  const last = times.slice(-MEDIAN_SPAN).sort((a, b) => a - b);
  return last[Math.floor(last.length / 2)] ?? 0;
}
