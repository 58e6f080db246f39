import { existsSync, rmSync } from "node:fs";
import { StorageError } from "../../ports/sql.ts";
import { copyAside } from "./durableFiles.ts";
import { type ComponentSchema, refuseNewer } from "./migrations.ts";
import { SqliteEngine } from "./sqliteEngine.ts";
import { isUnmarked, markAccepted, refuseOlder } from "./storeMark.ts";
import { couldPayAgain, cutRecord, cutSentence, findLog, foundSwaps } from "./swapLogs.ts";

/** Whether the node would refuse what is there as not last used here, or cannot know. */
function isDoubtful(path: string, schema: readonly ComponentSchema[]): boolean {
  const db = existsSync(path) ? new SqliteEngine(path, "read") : null;
  try {
    if (db) refuseNewer(db, path, schema);
    refuseOlder(db, path);
    return db !== null && isUnmarked(db, path);
  } catch (error) {
    if (error instanceof StorageError && error.kind === "Older") return true;
    throw error;
  } finally {
    db?.close();
  }
}

/**
 * Goes on with a database that is or may be older than the one last used, or with none, by the operator's word. Open swaps that could
 * pay a second time are kept from it first. Nobody else may have the database open.
 *
 * @returns these swaps, one sentence each; null when there was nothing to accept
 */
export function acceptDatabase(path: string, schema: readonly ComponentSchema[]): readonly string[] | null {
  if (!isDoubtful(path, schema)) return null;
  const cut: string[] = [];
  if (existsSync(path)) {
    const db = new SqliteEngine(path);
    try {
      for (const uuid of [...foundSwaps(db)]) {
        const log = findLog(db, uuid);
        if (!log.whole || !couldPayAgain(log.state)) continue;
        const [failure] = db.writeGroup([[cutRecord(uuid, log)]]);
        if (failure) throw failure;
        cut.push(cutSentence(uuid, log.state));
      }
    } finally {
      db.close();
    }
  } else if (existsSync(`${path}-wal`)) {
    copyAside(path);
    // A log of the old file must never meet the new one.
    for (const end of ["-wal", "-shm"]) rmSync(path + end, { force: true });
  }
  markAccepted(path);
  return cut;
}
