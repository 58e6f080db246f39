/** What waits for a signal. The entry goes with the signal. */
const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `task` when `signal` fires; never when it has fired already. All that wait for one signal share one listener, which stays
 * on it: adding and removing a listener costs more than most of what is waited for, and long-lived signals are waited for all the time.
 * Not for what `AbortSignal.any` makes: Node would keep it for ever (see `withParents`).
 * @returns lets go of `task`; calling it twice is fine
 */
export function onAbort(signal: AbortSignal, task: () => void): () => void {
  const tasks = waiting.get(signal) ?? listen(signal);
  tasks.add(task);
  return () => void tasks.delete(task);
}

/** Apart from `onAbort`: the listener keeps all that its function could name, and a task with what hangs on it would stay with the signal. */
function listen(signal: AbortSignal): Set<() => void> {
  const tasks = new Set<() => void>();
  waiting.set(signal, tasks);
  const fire = (): void => {
    const due = [...tasks];
    tasks.clear();
    for (const one of due) one();
  };
  signal.addEventListener("abort", fire, { once: true });
  return tasks;
}
