import { existsSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { reasonOf } from "../../core/util/reasonOf.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import { makeFolders } from "./makeFolders.ts";

export type LockError =
  | { readonly kind: "AlreadyRunning"; readonly folder: string; readonly pid: number | null; readonly message: string }
  /** The file of the lock itself, which is no database of the node's, is damaged or in the way. */
  | { readonly kind: "Unusable"; readonly folder: string; readonly message: string };

export type ProcessLock = { release(): void };

/** SQLITE_BUSY, https://sqlite.org/rescode.html */
const SQLITE_BUSY = 5;

const isBusy = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "errcode" in error && (Number(error.errcode) & 0xff) === SQLITE_BUSY;

function readPid(file: string): number | null {
  if (!existsSync(file)) return null;
  const pid = Number.parseInt(readFileSync(file, "utf8").slice(0, 20), 10);
  return Number.isSafeInteger(pid) ? pid : null;
}

/**
 * Lets one process use a folder. The lock is the operating system's own, taken through SQLite on a file `.lock`,
 * so it ends with the process, also after `kill -9`, and no stale file ever blocks a start. The process id
 * beside it is only for the message.
 */
export function lockFolder(folder: string): Result<ProcessLock, LockError> {
  makeFolders(folder);
  return lockBy(join(folder, ".lock"), folder);
}

/**
 * The same for a database: for its folder, and for the file it really is. A second folder that has it by a link has another lock, and two nodes
 * would act on the same swaps.
 *
 * @param path of a file that is there or will be; its folder is made
 */
export function lockDatabase(path: string): Result<ProcessLock, LockError> {
  const folder = lockFolder(dirname(path));
  if (!folder.ok) return folder;
  const real = existsSync(path) ? realpathSync(path) : path;
  const file = lockBy(`${real}.lock`, real);
  if (!file.ok) {
    folder.value.release();
    return file;
  }
  return ok({
    release() {
      file.value.release();
      folder.value.release();
    },
  });
}

/** @param folder what the lock is for, for the message */
function lockBy(file: string, folder: string): Result<ProcessLock, LockError> {
  const pidFile = `${file}.pid`;
  let db: DatabaseSync | null = null;
  try {
    db = new DatabaseSync(file, { timeout: 0 });
    db.exec("PRAGMA journal_mode=DELETE; BEGIN EXCLUSIVE");
  } catch (error) {
    db?.close();
    if (!isBusy(error)) {
      const message = `${file} cannot be used: ${reasonOf(error)}. It holds nothing: if no node is running in this folder, remove it`;
      return err({ kind: "Unusable", folder, message });
    }
    const pid = readPid(pidFile);
    const who = pid === null ? "another swapnode process" : `another swapnode process (pid ${pid})`;
    return err({
      kind: "AlreadyRunning",
      folder,
      pid,
      message: `${who} is using ${folder}: stop it first, or give this node another dbdir`,
    });
  }
  try {
    writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o600 });
  } catch {
    // The lock is held all the same: a node whose disk is full has swaps to see to their end.
  }
  let held = true;
  return ok({
    release() {
      if (!held) return;
      held = false;
      rmSync(pidFile, { force: true });
      db.exec("ROLLBACK");
      db.close();
    },
  });
}
