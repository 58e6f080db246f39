import { ShownSwap } from "../core/swap/shownSwap.ts";
import { swapStatus } from "../core/swap/swapStatus.ts";
import { Aborted, type Clock, sleep } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import { StorageError } from "../ports/sql.ts";
import type { SwapStore } from "../ports/swapStore.ts";
import type { MadeStatus, SwapViews } from "../ports/swapViews.ts";

/** How long after the start: whoever starts a node has better use for the processor and the disk then. */
const FIRST_MS = 60_000;
/** Behind each look at the database and each write. */
const PAUSE_MS = 1_000;
/** Swaps looked at in one question, and statuses made and written between two pauses: some milliseconds of work each. */
const LOOKED_AT = 100;
const MADE = 10;
/** Newest swaps whose statuses are seen to; whoever asks for older ones waits for them. At most 75 MB and, all of them missing, half an hour. */
const MOST = 10_000;

type Parts = {
  readonly views: Pick<SwapViews, "keep" | "missing">;
  readonly store: Pick<SwapStore, "log">;
  readonly clock: Clock;
  readonly log: Log;
};

/**
 * Makes, in the background, the statuses of the newest settled swaps that are not there: those an earlier version of the program kept, as
 * a rule. A list that comes first makes what it needs itself.
 * @returns ends it
 */
export function refillViews({ views, store, clock, log }: Parts): () => void {
  const stop = new AbortController();
  const pause = (ms: number): Promise<void> => sleep(clock, ms, stop.signal);
  async function made(uuid: string): Promise<readonly MadeStatus[]> {
    try {
      const events = await store.log(uuid);
      return events.length > 0 ? [{ uuid, events: events.length, status: ShownSwap.of(swapStatus(events)) }] : [];
    } catch (cause) {
      // Named to whoever asks for the swap.
      if (cause instanceof StorageError && cause.kind === "Corrupt") return [];
      throw cause;
    }
  }
  async function refill(): Promise<void> {
    await pause(FIRST_MS);
    for (let skip = 0; skip < MOST; skip += LOOKED_AT) {
      const { looked, uuids } = await views.missing(skip, LOOKED_AT);
      for (let at = 0; at < uuids.length; at += MADE) {
        await pause(PAUSE_MS);
        const statuses: MadeStatus[] = [];
        for (const uuid of uuids.slice(at, at + MADE)) statuses.push(...(await made(uuid)));
        await views.keep(statuses);
      }
      if (looked < LOOKED_AT) return;
      await pause(PAUSE_MS);
    }
  }
  refill().catch((error: unknown) => {
    if (!(error instanceof Aborted)) log.debug("swap_views_not_refilled", { error });
  });
  return () => stop.abort();
}
