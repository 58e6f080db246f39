/** Longest pause between two repetitions while the other side has not stopped waiting, or nobody knows, seconds. */
const LONGEST_SEC = 240;
/** No pause takes more than this part of what is left of the other side's wait. */
const PART_OF_WAIT = 4;

/**
 * Seconds until a message that nothing answers goes out again: the interval of the profile, then twice as long each time. The less is
 * left of the other side's wait, the shorter, down to that interval: of a wait of 690 s and 15 s it gets a dozen tries and more,
 * spread over all of it. Whoever shows meanwhile that it waits is answered at once; that is not for here.
 * @param firstSec the interval of the profile, and the shortest pause
 * @param repeated how often it was repeated since the other side was last heard
 * @param leftSec  until the other side stops waiting; 0 and less: it has, and what is still sent can only inform
 */
export function resendPauseSec(firstSec: number, repeated: number, leftSec: number): number {
  const longest = leftSec > 0 ? Math.min(LONGEST_SEC, leftSec / PART_OF_WAIT) : LONGEST_SEC;
  return Math.max(firstSec, Math.min(firstSec * 2 ** repeated, longest));
}
