import { onAbort } from "./onAbort.ts";

/**
 * Time. Nothing outside `adapters/system` and the simulator reads a clock or starts a timer any other way.
 * The virtual clock of the simulator runs timers in order of (due time, creation), one at a time.
 */
export interface Clock {
  /** Wall-clock unix time in milliseconds. */
  nowMs(): number;
  /** Runs `task` once after `delayMs` (0 or more). The returned function cancels it; calling it twice is fine. */
  after(delayMs: number, task: () => void): () => void;
}

/**
 * The same clock for how long things take: where the wall clock is set back this one goes on from where it was, so that no pause and no wait is longer by
 * that. Only differences of what it tells mean anything.
 */
export function steadyClock(clock: Clock): Clock {
  return { nowMs: steadyTime(clock), after: (delayMs, task) => clock.after(delayMs, task) };
}

/** What `steadyClock` tells. What passed since it was last asked is lost where the wall clock was set back in between. */
export function steadyTime(clock: Pick<Clock, "nowMs">): () => number {
  let [lastMs, setBackMs] = [clock.nowMs(), 0];
  return () => {
    const nowMs = clock.nowMs();
    setBackMs += Math.max(0, lastMs - nowMs);
    lastMs = nowMs;
    return nowMs + setBackMs;
  };
}

/** Thrown by cancellable waits; the only exception that means "stopped on purpose". */
export class Aborted extends Error {
  override readonly name = "Aborted";
  constructor(reason = "aborted") {
    super(reason);
  }
}

/** Resolves after `delayMs`, or rejects with `Aborted` as soon as `signal` fires. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(new Aborted());
      return;
    }
    const cancel = clock.after(delayMs, () => {
      letGo?.();
      resolve();
    });
    const letGo =
      signal &&
      onAbort(signal, () => {
        cancel();
        reject(new Aborted());
      });
  });
}

/**
 * `items.map(of)`, so many in a turn of the event loop: what takes a hundredth of a millisecond each would hold up everything else for
 * a quarter of a second where there are thousands. Rejects with `Aborted` between two turns when `signal` fires.
 */
export async function mapInTurns<T, R>(
  clock: Clock,
  items: readonly T[],
  mostInTurn: number,
  of: (item: T) => R,
  signal?: AbortSignal,
): Promise<R[]> {
  const out: R[] = [];
  for (const item of items) {
    if (out.length > 0 && out.length % mostInTurn === 0) await sleep(clock, 0, signal);
    out.push(of(item));
  }
  return out;
}

/** Something with a signal. That of an `AbortController` is made when it is asked for, which costs more than many a short piece of work. */
export type Stoppable = { readonly signal: AbortSignal };

/**
 * Runs `work` with a signal that fires after `timeoutMs` or with one of `parents`. Rejects with `Aborted` at the deadline
 * even when `work` ignores its signal, so that no outside call can hang its caller.
 *
 * @param parents one or several; listened to here, because a signal made of others (`AbortSignal.any`) costs more than most work
 */
export function withDeadline<T>(
  clock: Clock,
  timeoutMs: number,
  parents: AbortSignal | readonly AbortSignal[] | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  return withStop(clock, timeoutMs, parents, ({ signal }) => work(signal));
}

/** The same for work that may never ask for its signal. */
export function withStop<T>(
  clock: Clock,
  timeoutMs: number,
  parents: AbortSignal | readonly AbortSignal[] | undefined,
  work: (given: Stoppable) => Promise<T>,
): Promise<T> {
  const list = parents === undefined ? [] : parents instanceof AbortSignal ? [parents] : parents;
  if (list.some((parent) => parent.aborted)) return Promise.reject(new Aborted());
  return new Promise((resolve, reject) => {
    const given = new AbortController();
    const letGo: (() => void)[] = [];
    const end = (): void => {
      cancel();
      for (const go of letGo) go();
    };
    const stop = (reason: string): void => {
      end();
      const aborted = new Aborted(reason);
      reject(aborted);
      // With a reason of its own: the usual one is made anew, with a trace of the stack, each time.
      given.abort(aborted);
    };
    const cancel = clock.after(timeoutMs, () => stop(`no answer within ${timeoutMs} ms`));
    for (const parent of list) letGo.push(onAbort(parent, () => stop("aborted")));
    const resolved = (value: T): void => {
      end();
      resolve(value);
    };
    const failed = (cause: unknown): void => {
      end();
      reject(cause);
    };
    try {
      work(given).then(resolved, failed);
    } catch (cause) {
      failed(cause);
    }
  });
}
