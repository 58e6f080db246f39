import type { ChainStatus } from "../../ports/chain.ts";
import type { Clock } from "../../ports/clock.ts";

/** Of a chain of any kind: what tells that its backend is away. */
type Watched = { status(): ChainStatus; onChange(listener: () => void): () => void };

/** Fires when the chain has been unreachable for `ms`. */
export function whenFailing(chain: Watched, clock: Clock, ms: number): { readonly signal: AbortSignal; stop(): void } {
  const given = new AbortController();
  let cancel: (() => void) | null = null;
  const look = (): void => {
    const bad = chain.status().state === "unreachable";
    if (bad) cancel ??= clock.after(ms, () => given.abort());
    else {
      cancel?.();
      cancel = null;
    }
  };
  const off = chain.onChange(look);
  look();
  return {
    signal: given.signal,
    stop() {
      off();
      cancel?.();
    },
  };
}
