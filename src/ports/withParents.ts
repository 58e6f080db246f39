import { Aborted } from "./clock.ts";
import { onAbort } from "./onAbort.ts";

/**
 * Runs `work` with a signal that fires with any of `parents`, for as long as the work lasts. In place of `AbortSignal.any`: Node keeps a
 * signal made of others for as long as anything listens to it, and `onAbort` leaves its listener there.
 */
export async function withParents<T>(parents: readonly AbortSignal[], work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const given = new AbortController();
  const fire = (): void => given.abort(new Aborted());
  if (parents.some((parent) => parent.aborted)) fire();
  const letGo = parents.map((parent) => onAbort(parent, fire));
  try {
    return await work(given.signal);
  } finally {
    for (const go of letGo) go();
  }
}
