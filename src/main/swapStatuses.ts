import type { StoredEvent } from "../core/swap/events.ts";
import { type KeptSwap, kdfStatus } from "../core/swap/kdfStatus.ts";
import { ShownSwap } from "../core/swap/shownSwap.ts";
import { swapStatus } from "../core/swap/swapStatus.ts";
import { type Clock, sleep } from "../ports/clock.ts";
import { StorageError } from "../ports/sql.ts";
import type { MadeStatus, SwapViews } from "../ports/swapViews.ts";
import type { SwapsApi } from "../rpc/ctx/swaps.ts";

/** Statuses made in one turn of the event loop: to fold a log takes the better part of a millisecond, and a page may have a thousand. */
const MADE_IN_TURN = 50;

/** What the statuses are made of: the logs, which of them are final, and what was made of those before. */
export type SwapLogs = {
  readonly clock: Clock;
  log(uuid: string): Promise<readonly StoredEvent[] | null>;
  isSettled(uuid: string): boolean;
  /** What a chain of a running swap knows and cannot show, one sentence; null: nothing. */
  unseenOf(uuid: string): string | null;
  /** A swap that has no log because it ended in KDF. */
  endedElsewhere(uuid: string): Promise<KeptSwap | null>;
  readonly views: Pick<SwapViews, "read">;
  /** Takes the status of a settled swap for the next list. */
  readonly keep: (made: readonly MadeStatus[]) => void;
};

/**
 * Statuses from the swaps' logs. One that is asked for by itself is made of its log each time, so damage is found and named. Lists
 * show what was made of the logs of settled swaps before: to read, check and fold ten takes most of the time of a page, and it
 * always comes to the same (docs/adr/0027-views-of-settled-swaps.md).
 */
export function swapStatuses(swaps: SwapLogs): Pick<SwapsApi, "status" | "statuses"> {
  const status = async (uuid: string): Promise<ShownSwap | undefined> => (await made(uuid))?.status;
  /** `events`: of its log; null for a swap that ended elsewhere. */
  async function made(uuid: string): Promise<{ readonly status: ShownSwap; readonly events: number | null } | undefined> {
    const log = await swaps.log(uuid);
    if (log) return { status: ShownSwap.of(swapStatus(log, swaps.unseenOf(uuid))), events: log.length };
    const ended = await swaps.endedElsewhere(uuid);
    return ended ? { status: ShownSwap.of(kdfStatus(ended)), events: null } : undefined;
  }
  /** Undefined as well when the record is damaged: the log of the node has named it. */
  const madeUnlessDamaged = (uuid: string): ReturnType<typeof made> =>
    made(uuid).catch((cause: unknown) => {
      if (cause instanceof StorageError && cause.kind === "Corrupt") return undefined;
      throw cause;
    });
  return {
    status,
    async statuses(uuids) {
      const settled = new Set(uuids.filter((uuid) => swaps.isSettled(uuid)));
      const views = await swaps.views.read([...settled]);
      const fresh: MadeStatus[] = [];
      const statusOf = async (uuid: string): Promise<readonly [string, ShownSwap | undefined]> => {
        const view = views.get(uuid);
        if (view) return [uuid, "kept" in view ? ShownSwap.of(kdfStatus(view.kept)) : view.status];
        const made = await madeUnlessDamaged(uuid);
        if (made && made.events !== null && settled.has(uuid)) fresh.push({ uuid, events: made.events, status: made.status });
        return [uuid, made?.status];
      };
      const found: (readonly [string, ShownSwap | undefined])[] = [];
      for (let from = 0; from < uuids.length; from += MADE_IN_TURN) {
        if (from > 0) await sleep(swaps.clock, 0);
        found.push(...(await Promise.all(uuids.slice(from, from + MADE_IN_TURN).map(statusOf))));
      }
      if (fresh.length > 0) swaps.keep(fresh);
      return new Map(found.flatMap(([uuid, status]) => (status ? [[uuid, status]] : [])));
    },
  };
}
