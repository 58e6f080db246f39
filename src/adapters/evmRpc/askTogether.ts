import { Aborted, type Clock } from "../../ports/clock.ts";
import { withParents } from "../../ports/withParents.ts";

/** Nodes answer within some hundred milliseconds; whoever takes longer than this is not waited for where others will do. */
const SOON_MS = 2_000;

export type Asking = {
  /** Begins a question; what it brings is noted by itself. */
  readonly ask: (question: (signal: AbortSignal) => Promise<void>) => void;
  /** Waits until all that was asked is answered, or `isEnough` after an answer, or for a moment. @returns how many questions are open */
  readonly pause: (isEnough: () => boolean) => Promise<number>;
};

/** Questions to several nodes at once. What is still open at the end is given up. Rejects with the first failure of a question. */
export function askTogether<T>(clock: Clock, signal: AbortSignal, work: (asking: Asking) => Promise<T>): Promise<T> {
  const ended = new AbortController();
  return withParents([signal, ended.signal], async (given) => {
    let open = 0;
    let failed: { readonly cause: unknown } | null = null;
    let wake: () => void = () => undefined;
    const ask: Asking["ask"] = (question) => {
      open++;
      question(given)
        .catch((cause: unknown) => {
          failed ??= { cause };
        })
        .finally(() => {
          open--;
          wake();
        });
    };
    const pause: Asking["pause"] = async (isEnough) => {
      if (open > 0) {
        await new Promise<void>((resolve) => {
          const cancel = clock.after(SOON_MS, resolve);
          wake = () => {
            if (open > 0 && !failed && !isEnough()) return;
            cancel();
            resolve();
          };
        });
      }
      if (failed) throw failed.cause;
      return open;
    };
    try {
      return await work({ ask, pause });
    } finally {
      ended.abort(new Aborted("others have answered"));
    }
  });
}
