import { parentPort, workerData } from "node:worker_threads";
import { serveDatabase } from "../../src/adapters/sqlite/serveDatabase.ts";
import { SqliteEngine } from "../../src/adapters/sqlite/sqliteEngine.ts";

// The database's thread over a disk on which every fsync takes 20 ms longer.

const FSYNC_MS = 20;
const pause = new Int32Array(new SharedArrayBuffer(4));

class SlowDisk extends SqliteEngine {
  override writeGroup(batches: Parameters<SqliteEngine["writeGroup"]>[0]): ReturnType<SqliteEngine["writeGroup"]> {
    const outcome = super.writeGroup(batches);
    if (batches.length > 0) Atomics.wait(pause, 0, 0, FSYNC_MS);
    return outcome;
  }
}

if (parentPort === null) throw new Error("slowDiskWorker runs only as a worker thread");
serveDatabase(parentPort, workerData, (path) => new SlowDisk(path));
