import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import type { MadeStatus, SwapViews } from "../ports/swapViews.ts";

/** Statuses that wait for the next write, some 7 kB each. */
const MOST_WAITING = 32;
/** So long nobody must have made one before they are written: a page asked for behind a write waits for the disk, ten times as long as it takes. */
const QUIET_MS = 1_000;
/** Written by then whatever goes on: one old page that is asked for again and again is made once, and not for ever. */
const LATEST_MS = 10_000;

export type ViewKeeper = {
  /** Nobody waits for it, and one that could not be kept is made anew by the list that asks for it. */
  keep(made: readonly MadeStatus[]): void;
  close(): void;
};

/** Has statuses kept in the background, one write at a time, when nobody goes through an old history; those for which there is no room are left out. */
export function keepViews(views: Pick<SwapViews, "keep">, { clock, log }: { readonly clock: Clock; readonly log: Log }): ViewKeeper {
  let waiting: readonly MadeStatus[] = [];
  let isWriting = false;
  let isClosed = false;
  let cancelQuiet: () => void = () => undefined;
  let cancelLatest: () => void = () => undefined;
  const cancel = (): void => {
    cancelQuiet();
    cancelLatest();
  };
  function write(): void {
    cancel();
    if (isWriting || isClosed || waiting.length === 0) return;
    isWriting = true;
    const made = waiting;
    waiting = [];
    views
      .keep(made)
      .catch((error: unknown) => log.debug("swap_views_not_kept", { swaps: made.length, error }))
      .finally(() => {
        isWriting = false;
        if (waiting.length > 0) wait(true);
      });
  }
  function wait(areFirst: boolean): void {
    if (isWriting || isClosed) return;
    cancelQuiet();
    cancelQuiet = clock.after(QUIET_MS, write);
    if (areFirst) cancelLatest = clock.after(LATEST_MS, write);
  }
  return {
    keep(made) {
      const areFirst = waiting.length === 0;
      waiting = [...waiting, ...made].slice(0, MOST_WAITING);
      wait(areFirst);
    },
    close() {
      isClosed = true;
      cancel();
    },
  };
}
