import type { StoredEvent } from "../../src/core/swap/events.ts";
import { StorageError } from "../../src/ports/sql.ts";
import type { SwapStore } from "../../src/ports/swapStore.ts";

/**
 * What happens when an event of the swap `uuid` is to be stored.
 * `refuse`: the write fails and nothing is stored. `lose_answer`: it is stored, and the caller told that it failed.
 * `crash_before`, `crash_after`: the process dies around the write.
 */
export type StoreFault = (uuid: string, event: StoredEvent) => "refuse" | "lose_answer" | "crash_before" | "crash_after" | undefined;

/**
 * The swap log with faults around each event.
 * @param store over a view of `SimDisk`, so that nothing is stored and nothing acknowledged after `crash`
 */
export function faultySwapStore(store: SwapStore, faultOf: StoreFault, crash: () => void): SwapStore {
  async function around(uuid: string, event: StoredEvent, work: () => Promise<void>): Promise<void> {
    const fault = faultOf(uuid, event);
    if (fault === "refuse") throw new StorageError("DiskFull", "refused on request");
    if (fault === "crash_before") crash();
    const done = work();
    // The store works in this thread: the event is on disk when the call returns, acknowledged only later.
    if (fault === "crash_after") crash();
    await done;
    if (fault === "lose_answer") throw new StorageError("DiskFull", "the answer is lost");
  }
  return {
    ...store,
    create: (summary, first, marks) => around(summary.uuid, first, () => store.create(summary, first, marks)),
    append: (uuid, seq, event, marks) => around(uuid, event, () => store.append(uuid, seq, event, marks)),
  };
}
