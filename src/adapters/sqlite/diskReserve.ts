import { rmSync, statfsSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import type { SqliteEngine } from "./sqliteEngine.ts";

/** Room in the database for what has begun: some two thousand events of swaps. Bytes. */
const RESERVE_BYTES = 4 * 1024 * 1024;

/**
 * So much must be there before the reserve is filled up: it takes half of this, in SQLite's log, too, and whatever else grows on the disk meanwhile
 * must leave it that. A log that cannot be copied into the main file to its end is never written over, and then nothing more is stored.
 */
const SPACE_BYTES = 4 * RESERVE_BYTES;

/** Whether the disk says that it has so much space. Who cannot tell is believed. */
function saysSpace(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize > SPACE_BYTES;
  } catch {
    return true;
  }
}

/** Whether this node is given so much space: quotas are in no answer. */
function givesSpace(probe: string): boolean {
  try {
    writeFileSync(probe, Buffer.alloc(SPACE_BYTES), { mode: 0o600 });
    return true;
  } catch {
    return false;
  } finally {
    rmSync(probe, { force: true });
  }
}

/**
 * Free pages inside the database, which a full disk cannot take away: a swap that has begun is stored in them to its end, its claim and its
 * refund included. What begins something new is refused while they cannot be filled up.
 */
export class DiskReserve {
  readonly #engine: SqliteEngine;
  readonly #path: string;
  #isLow: boolean;

  /** @param path the file of the database */
  constructor(engine: SqliteEngine, path: string) {
    this.#engine = engine;
    this.#path = path;
    this.#isLow = !this.#fill();
  }

  /** Whether only the reserve is left. A disk that was full is asked anew. */
  isLow(): boolean {
    if (this.#isLow) this.#isLow = !this.#fill();
    return this.#isLow;
  }

  /** To be called after each transaction: it may have used of the reserve. */
  stored(): void {
    if (!this.#isLow && this.#isHalfUsed()) this.#isLow = !this.#fill();
  }

  /** A disk that fails for a moment does not tell, and must not end the thread that writes: it is asked again after the next transaction. */
  #isHalfUsed(): boolean {
    try {
      return this.#engine.freeBytes() < RESERVE_BYTES / 2;
    } catch {
      return false;
    }
  }

  #fill(): boolean {
    const hasSpace = saysSpace(dirname(this.#path)) && givesSpace(`${this.#path}-space`);
    return hasSpace && this.#engine.makeRoom(RESERVE_BYTES);
  }
}
