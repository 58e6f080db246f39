/**
 * How long ago something was, ms; not negative. What lies further ahead than `longestMs`, for which it can count, was dated by a clock that has been set back
 * since: it is long past, and not to count until that time comes.
 */
export function passedMs(atMs: number, nowMs: number, longestMs: number): number {
  const ms = nowMs - atMs;
  return ms < -longestMs ? Number.POSITIVE_INFINITY : Math.max(0, ms);
}
