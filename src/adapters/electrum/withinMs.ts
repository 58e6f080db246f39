import type { Clock } from "../../ports/clock.ts";

/** What comes, if it comes within so many ms; null: it takes longer, and nobody waits for it. Rejects with its failure. */
export function withinMs<T>(clock: Clock, ms: number, coming: Promise<T>): Promise<T | null> {
  return new Promise((resolve, reject) => {
    const stop = clock.after(ms, () => resolve(null));
    coming.then(resolve, reject).finally(stop);
  });
}
