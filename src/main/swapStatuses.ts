import type { StoredEvent } from "../core/swap/events.ts";
import { type KeptSwap, kdfStatus } from "../core/swap/kdfStatus.ts";
import { swapStatus } from "../core/swap/swapStatus.ts";
import type { SwapStatus, SwapsApi } from "../rpc/ctx/swaps.ts";

/** Statuses of settled swaps kept, some 10 kB each: the pages a client asks for again and again. */
const KEPT = 500;

/** What the statuses are made of: the logs, and which of them are final. */
export type SwapLogs = {
  log(uuid: string): Promise<readonly StoredEvent[] | null>;
  isSettled(uuid: string): boolean;
  /** A swap that has no log because it ended in KDF. */
  endedElsewhere(uuid: string): Promise<KeptSwap | null>;
};

/**
 * Statuses from the swaps' logs. Those of settled swaps are kept, the last ones asked for: to read, check and fold a stored log
 * takes most of the time of a page, and it always comes to the same. One that ended in KDF is read anew: there is nothing to fold,
 * and it may be a hundred times as large, at the choice of whoever made it.
 */
export function swapStatuses(swaps: SwapLogs): SwapsApi["status"] {
  const kept = new Map<string, SwapStatus>();
  return async (uuid) => {
    const known = kept.get(uuid);
    // Asked before the log is read: what settles meanwhile may have had another event before.
    const isSettled = known !== undefined || swaps.isSettled(uuid);
    const log = known ? null : await swaps.log(uuid);
    if (!known && !log) {
      const ended = await swaps.endedElsewhere(uuid);
      return ended ? kdfStatus(ended) : undefined;
    }
    const status = known ?? (log ? swapStatus(log) : undefined);
    if (!status || !isSettled) return status;
    kept.delete(uuid);
    kept.set(uuid, status);
    const oldest = kept.keys().next();
    if (kept.size > KEPT && !oldest.done) kept.delete(oldest.value);
    return status;
  };
}
