import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { MadeStatus, SwapViews } from "../ports/swapViews.ts";

/** Statuses that wait for the next write, some 7 kB each. */
const MOST_WAITING = 32;
/** Between two writes. Whoever goes through an old history makes ten statuses in some milliseconds: with each page written at once, the next would wait for the disk. */
const PAUSE_MS = 1_000;

export type ViewKeeper = {
  /** Nobody waits for it, and one that could not be kept is made anew by the list that asks for it. */
  keep(made: readonly MadeStatus[]): void;
  close(): void;
};

/** Has statuses kept in the background, one write at a time with a pause behind each; those for which there is no room are left out. */
export function keepViews(views: Pick<SwapViews, "keep">, { clock, log }: { readonly clock: Clock; readonly log: Log }): ViewKeeper {
  let waiting: readonly MadeStatus[] = [];
  let isPausing = false;
  let isClosed = false;
  let cancel: () => void = () => undefined;
  function write(): void {
    if (isPausing || isClosed || waiting.length === 0) return;
    isPausing = true;
    const made = waiting;
    waiting = [];
    views
      .keep(made)
      .catch((error: unknown) => log.debug("swap_views_not_kept", { swaps: made.length, error }))
      .finally(() => {
        if (isClosed) return;
        cancel = clock.after(PAUSE_MS, () => {
          isPausing = false;
          write();
        });
      });
  }
  return {
    keep(made) {
      waiting = [...waiting, ...made].slice(0, MOST_WAITING);
      write();
    },
    close() {
      isClosed = true;
      cancel();
    },
  };
}
