import { Aborted, type Clock, withDeadline } from "../../ports/clock.ts";

/** A broadcast and a fee estimate end in so many of a call's deadlines. */
const CALLS_PER_REQUEST = 3;

/** Ends with the caller's signal, at the latest after some deadlines with `late`; the servers' calls end by themselves. */
export type Bounded = <T>(signal: AbortSignal | undefined, late: T, work: () => Promise<T>) => Promise<T>;

/** @param timeoutMs deadline of one call */
export const callBound =
  (clock: Clock, timeoutMs: number, closed: AbortSignal): Bounded =>
  async (signal, late, work) => {
    try {
      return await withDeadline(clock, CALLS_PER_REQUEST * timeoutMs, signal ? [signal, closed] : closed, work);
    } catch (cause) {
      if (!(cause instanceof Aborted) || signal?.aborted || closed.aborted) throw cause;
      return late;
    }
  };
