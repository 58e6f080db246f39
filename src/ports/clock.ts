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
    const onAbort = (): void => {
      cancel();
      reject(new Aborted());
    };
    const cancel = clock.after(delayMs, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/**
 * Runs `work` with a signal that fires after `timeoutMs` or with one of `parents`. Rejects with `Aborted` at the deadline
 * even when `work` ignores its signal, so that no outside call can hang its caller.
 *
 * @param parents one or several; listened to here, because a signal made of others (`AbortSignal.any`) costs more than most work
 */
export async function withDeadline<T>(
  clock: Clock,
  timeoutMs: number,
  parents: AbortSignal | readonly AbortSignal[] | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const onParent = (): void => controller.abort();
  const list = parents === undefined ? [] : parents instanceof AbortSignal ? [parents] : parents;
  for (const parent of list) {
    if (parent.aborted) controller.abort();
    parent.addEventListener("abort", onParent, { once: true });
  }
  const cancel = clock.after(timeoutMs, () => controller.abort());
  const { signal } = controller;
  try {
    return await new Promise<T>((resolve, reject) => {
      const stop = (): void => reject(new Aborted(list.some((parent) => parent.aborted) ? "aborted" : `no answer within ${timeoutMs} ms`));
      if (signal.aborted) {
        stop();
        return;
      }
      signal.addEventListener("abort", stop, { once: true });
      work(signal).then(resolve, reject);
    });
  } finally {
    cancel();
    for (const parent of list) parent.removeEventListener("abort", onParent);
  }
}
