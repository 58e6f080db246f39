import type { StoredEvent } from "../../src/core/swap/events.ts";
import { type SqlDatabase, StorageError } from "../../src/ports/sql.ts";
import type { SwapStore } from "../../src/ports/swapStore.ts";
import type { Life } from "./life.ts";

/**
 * What happens when a swap event is to be stored. `n` counts the attempts of the node from 0, over all its lives.
 * `refuse`: the write fails and nothing is stored. `crash_before`, `crash_after`: the process dies around the write.
 */
export type StoreFault = (event: StoredEvent, n: number) => "refuse" | "crash_before" | "crash_after" | undefined;

/** The database as one life of a node sees it: what was acknowledged is there in the next life. */
export function lifeDatabase(db: SqlDatabase, life: Life): SqlDatabase {
  return {
    write: (batch) => life.guard(() => db.write(batch)),
    read: (sql, params) => life.guard(() => db.read(sql, params)),
    close: async () => undefined,
  };
}

/**
 * The swap log with faults around each event.
 * @param store over a `lifeDatabase`, so that nothing is stored and nothing acknowledged after `crash`
 */
export function faultySwapStore(store: SwapStore, faultOf: (event: StoredEvent) => ReturnType<StoreFault>, crash: () => void): SwapStore {
  async function around(event: StoredEvent, work: () => Promise<void>): Promise<void> {
    const fault = faultOf(event);
    if (fault === "refuse") throw new StorageError("DiskFull", "refused on request");
    if (fault === "crash_before") crash();
    const done = work();
    // The store works in this thread: the event is on disk when the call returns, acknowledged only later.
    if (fault === "crash_after") crash();
    await done;
  }
  return {
    ...store,
    create: (summary, first, marks) => around(first, () => store.create(summary, first, marks)),
    append: (uuid, seq, event, marks) => around(event, () => store.append(uuid, seq, event, marks)),
  };
}
