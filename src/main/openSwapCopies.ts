import { access } from "node:fs/promises";
import { join } from "node:path";
import { copiesAt } from "../adapters/sqlite/copies/copyFile.ts";
import { SwapCopies } from "../adapters/sqlite/copies/swapCopies.ts";
import { readCopies, takeUpCopies } from "../adapters/sqlite/copies/takeUpCopies.ts";
import { type Clock, withDeadline } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import { type SqlDatabase, StorageError } from "../ports/sql.ts";
import type { SwapStore } from "../ports/swapStore.ts";

const FILE = "open-swaps";
/** A folder of another machine may never answer. */
const FOLDER_MS = 10_000;
const READ_MS = 60_000;

export type SwapCopiesPlace = {
  /** `swap_copies` of the configuration. */
  readonly folder: string;
  /** 40 hex digits, as the wallet's folder below `dbdir`. */
  readonly walletId: string;
};

type Deps = { readonly db: SqlDatabase; readonly store: SwapStore; readonly clock: Clock; readonly log: Log };

/**
 * Takes up what the copies have and the database lacks, then begins to write copies. A folder that cannot be read or written does not keep the
 * node from starting: its swaps must go on. Rejects with `StorageError` where the database cannot be written.
 */
export async function openSwapCopies({ folder, walletId }: SwapCopiesPlace, { db, store, clock, log }: Deps): Promise<SwapCopies> {
  const path = join(folder, walletId, FILE);
  let isTakenUp = true;
  try {
    await withDeadline(clock, FOLDER_MS, undefined, () => access(folder));
    for (const copy of await withDeadline(clock, FOLDER_MS, undefined, () => copiesAt(path))) {
      const read = await withDeadline(clock, READ_MS, undefined, () => readCopies(copy));
      for (const { kind, ...note } of await takeUpCopies(db, read)) {
        if (kind === "not_used") isTakenUp = false;
        log.warn(kind === "taken_up" ? "swap_taken_up_from_copy" : "swap_copy_not_used", { copy, ...note });
      }
    }
  } catch (cause) {
    if (cause instanceof StorageError) throw cause;
    isTakenUp = false;
    log.error("swap_copies_not_read", { folder, error: cause });
  }
  const copies = new SwapCopies({ path, isTakenUp, store, clock, log });
  await copies.open();
  return copies;
}
