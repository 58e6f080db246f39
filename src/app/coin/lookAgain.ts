import { Aborted, type Clock, withDeadline } from "../../ports/clock.ts";

/** What one look at a backend may take before it counts as away. */
const LOOK_MS = 5_000;

/** Looks at a backend now, for at most five seconds; how it went shows in the chain's status. @throws Aborted when `signal` fires */
export async function lookAgain(
  clock: Clock,
  chain: { refresh(signal?: AbortSignal): Promise<void> },
  signal?: AbortSignal,
): Promise<void> {
  try {
    await withDeadline(clock, LOOK_MS, signal, (s) => chain.refresh(s));
  } catch (cause) {
    if (!(cause instanceof Aborted) || signal?.aborted) throw cause;
  }
}
