import { statfsSync } from "node:fs";
import { dirname } from "node:path";
import type { SqliteEngine } from "./sqliteEngine.ts";

/** Room in the database for what has begun: some two thousand events of swaps. Bytes. */
const RESERVE_BYTES = 4 * 1024 * 1024;

/** Whether the disk has room for the reserve twice: in the log of SQLite, too. Who cannot tell is believed. */
function hasSpace(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize > 2 * RESERVE_BYTES;
  } catch {
    return true;
  }
}

/**
 * Free pages inside the database, which a full disk cannot take away: a swap that has begun is stored in them to its end, its claim and its
 * refund included. What begins something new is refused while they cannot be filled up.
 */
export class DiskReserve {
  readonly #engine: SqliteEngine;
  readonly #folder: string;
  #isLow: boolean;

  /** @param path the file of the database */
  constructor(engine: SqliteEngine, path: string) {
    this.#engine = engine;
    this.#folder = dirname(path);
    this.#isLow = !this.#fill();
  }

  /** Whether only the reserve is left. A disk that was full is asked anew. */
  isLow(): boolean {
    if (this.#isLow) this.#isLow = !this.#fill();
    return this.#isLow;
  }

  /** To be called after each transaction: it may have used of the reserve. */
  stored(): void {
    if (!this.#isLow && this.#engine.freeBytes() < RESERVE_BYTES / 2) this.#isLow = !this.#fill();
  }

  #fill(): boolean {
    return hasSpace(this.#folder) && this.#engine.makeRoom(RESERVE_BYTES);
  }
}
