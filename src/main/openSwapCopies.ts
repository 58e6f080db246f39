import { stat } from "node:fs/promises";
import { join } from "node:path";
import { copiesAt } from "../adapters/sqlite/copies/copyFile.ts";
import { SwapCopies } from "../adapters/sqlite/copies/swapCopies.ts";
import { readCopies, takeUpCopies } from "../adapters/sqlite/copies/takeUpCopies.ts";
import { Aborted, type Clock, withDeadline } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";
import { type SqlDatabase, StorageError } from "../ports/sql.ts";
import type { SwapStore } from "../ports/swapStore.ts";

const FILE = "open-swaps";
/** A folder of another machine may never answer. */
const FOLDER_MS = 10_000;
const READ_MS = 60_000;

const SAME_DISK = "what is lost with that disk is lost with its copies; if another one is meant to be there, it is not mounted";

export type SwapCopiesPlace = {
  /** `swap_copies` of the configuration. */
  readonly folder: string;
  /** 40 hex digits, as the wallet's folder below `dbdir`. */
  readonly walletId: string;
  /** Where the database is. */
  readonly dbdir: string;
};

type Deps = { readonly db: SqlDatabase; readonly store: SwapStore; readonly clock: Clock; readonly log: Log };

/**
 * Takes up what the copies have and the database lacks, then begins to write copies. A folder that cannot be read or written does not keep the
 * node from starting: its swaps must go on. Rejects with `StorageError` where the database cannot be written.
 */
export async function openSwapCopies({ folder, walletId, dbdir }: SwapCopiesPlace, { db, store, clock, log }: Deps): Promise<SwapCopies> {
  const path = join(folder, walletId, FILE);
  /** Asked of the folder, and not answered in time. */
  let unanswered: Promise<unknown> | null = null;
  const within = async <T>(deadlineMs: number, ask: () => Promise<T>): Promise<T> => {
    const asked = ask();
    try {
      return await withDeadline(clock, deadlineMs, undefined, () => asked);
    } catch (cause) {
      if (cause instanceof Aborted) unanswered = asked;
      throw cause;
    }
  };
  /** @returns whether the database has all of it now */
  const takeUp = async (copy: string): Promise<boolean> => {
    let isWhole = true;
    try {
      const read = await within(READ_MS, () => readCopies(copy));
      for (const { kind, ...note } of await takeUpCopies(db, read)) {
        if (kind === "not_used") isWhole = false;
        log.warn(kind === "taken_up" ? "swap_taken_up_from_copy" : "swap_copy_not_used", { copy, ...note });
      }
    } catch (cause) {
      if (cause instanceof StorageError || cause instanceof Aborted) throw cause;
      isWhole = false;
      log.error("swap_copies_not_read", { copy, error: cause });
    }
    return isWhole;
  };
  let isTakenUp = false;
  const spent: string[] = [];
  try {
    const { dev } = await within(FOLDER_MS, () => stat(folder));
    if (dev === (await stat(dbdir)).dev) log.warn("swap_copies_on_the_same_disk", { folder, dbdir, hint: SAME_DISK });
    const there = await within(FOLDER_MS, () => copiesAt(path));
    isTakenUp = !there.includes(path);
    for (const copy of there) {
      const isWhole = await takeUp(copy);
      // What is wrong with one that is kept already is no reason to keep another.
      if (copy === path) isTakenUp = isWhole;
      else if (isWhole) spent.push(copy);
    }
  } catch (cause) {
    if (cause instanceof StorageError) throw cause;
    log.error("swap_copies_not_read", { folder, error: cause });
  }
  const copies = new SwapCopies({ path, isTakenUp, spent, unanswered, store, clock, log });
  await copies.open();
  return copies;
}

/**
 * Closes the copies. Where their folder does not answer, the process ends by force when it ends: a thread that waits for the folder would
 * keep it, and with it its lock on the data folder, until the folder answers.
 */
export async function closeSwapCopies(copies: SwapCopies): Promise<void> {
  await copies.close();
  if (copies.isUnanswered) process.once("exit", () => process.kill(process.pid, "SIGKILL"));
}
