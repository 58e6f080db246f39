import type { Clock } from "../../src/ports/clock.ts";
import { type Rng, randomBelow } from "../../src/ports/rng.ts";
import { type SqlDatabase, type SqlStatement, StorageError } from "../../src/ports/sql.ts";
import { type Life, never } from "./life.ts";

/** What happens when a batch is to be written. `refuse`: a full disk. `crash_*`: the process dies around the write. */
export type WriteFault = "refuse" | "crash_before" | "crash_after" | undefined;

type Pending = { readonly batch: readonly SqlStatement[]; readonly done: () => void; readonly failed: (cause: unknown) => void };

export type SimDiskDeps = {
  readonly clock: Clock;
  readonly rng: Rng;
  readonly db: SqlDatabase;
  /** Asked for each batch. */
  readonly fault: (batch: readonly SqlStatement[]) => WriteFault;
  readonly isFull: () => boolean;
  /** Virtual time from the call to the fsync's end; 0: done when the call returns. */
  readonly fsyncMs: () => number;
  readonly crash: () => void;
  /** A batch is on the disk, acknowledged or not. */
  readonly onStored: (batch: readonly SqlStatement[]) => void;
};

/**
 * The disk under one node's store, by what SQLite promises in WAL mode with `synchronous=FULL`: a batch is there whole or
 * not at all; an acknowledged one stays; batches reach the disk in order. So a power cut in the middle of a group commit
 * leaves the first k of the waiting batches, for any k: that is all a torn write can be.
 */
export class SimDisk {
  readonly #deps: SimDiskDeps;
  #pending: Pending[] = [];
  #flushing = false;
  /** Power cuts that lost some of the batches under way and kept others, or kept some nobody had an answer for. */
  torn = 0;

  constructor(deps: SimDiskDeps) {
    this.#deps = deps;
  }

  /** The database as one life of the node's process sees it. */
  view(life: Life): SqlDatabase {
    return {
      write: (batch) => life.guard(() => this.#write(batch, life)),
      read: (sql, params) => life.guard(() => this.#deps.db.read(sql, params)),
      close: async () => undefined,
    };
  }

  async #write(batch: readonly SqlStatement[], life: Life): Promise<void> {
    const { fault, isFull, crash, fsyncMs, clock } = this.#deps;
    const fate = fault(batch);
    if (fate === "crash_before") crash();
    if (!life.isAlive) return never();
    if (fate === "refuse" || isFull()) throw new StorageError("DiskFull", "cannot store: the disk is full");
    const ms = fsyncMs();
    if (ms === 0 || fate === "crash_after") {
      // What waits before it reaches the disk before it.
      await this.#flush();
      await this.#store(batch);
      if (fate === "crash_after") crash();
      return;
    }
    return new Promise((done, failed) => {
      this.#pending.push({ batch, done, failed });
      if (this.#flushing) return;
      this.#flushing = true;
      clock.after(ms, () => void this.#flush());
    });
  }

  async #flush(): Promise<void> {
    const group = this.#pending;
    this.#pending = [];
    this.#flushing = false;
    for (const { batch, done, failed } of group) await this.#store(batch).then(done, failed);
  }

  async #store(batch: readonly SqlStatement[]): Promise<void> {
    await this.#deps.db.write(batch);
    this.#deps.onStored(batch);
  }

  /** The power goes: of what waits for the fsync a first part is on the disk, the rest is not, and nobody has an answer. */
  powerCut(): void {
    const group = this.#pending;
    this.#pending = [];
    this.#flushing = false;
    if (group.length === 0) return;
    const kept = randomBelow(this.#deps.rng, group.length + 1);
    this.torn++;
    for (const { batch } of group.slice(0, kept)) {
      this.#deps.db.write(batch).then(
        () => undefined,
        () => undefined,
      );
      this.#deps.onStored(batch);
    }
  }
}
