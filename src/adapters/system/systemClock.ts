import type { Clock } from "../../ports/clock.ts";

/** Longest delay `setTimeout` keeps; above it, it fires at once. */
const MAX_TIMEOUT_MS = 2_147_483_647;

/** The real clock. Delays of any length; a pending timer keeps the process alive. */
export function createSystemClock(): Clock {
  return {
    nowMs: () => Date.now(),
    after(delayMs, task) {
      if (delayMs <= 0) {
        // The next turn of the event loop, after the sockets; a timer of 0 would wait for a millisecond.
        const immediate = setImmediate(task);
        return () => clearImmediate(immediate);
      }
      let left = delayMs;
      let timer: NodeJS.Timeout;
      const arm = (): void => {
        const step = Math.min(left, MAX_TIMEOUT_MS);
        left -= step;
        timer = setTimeout(() => (left > 0 ? arm() : task()), step);
      };
      arm();
      return () => clearTimeout(timer);
    },
  };
}
