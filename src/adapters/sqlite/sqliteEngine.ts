import { chmodSync, closeSync, existsSync, openSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { type SqlRow, type SqlStatement, type SqlValue, StorageError } from "../../ports/sql.ts";
import { StatementCache } from "./statementCache.ts";
import { REFUSED_WRITES, sqliteCode, toStorageError } from "./storageErrors.ts";
import type { StoreMark } from "./storeMark.ts";

/** Rows one query may answer. Longer lists are read in pages. */
const MAX_ROWS = 200_000;
/** How long SQLite waits for another process's lock. */
const BUSY_TIMEOUT_MS = 5_000;
/** Primary codes after which the content of the disk is not known: IOERR (such as a failed fsync), CORRUPT, NOTADB. */
const FATAL_AT_COMMIT: readonly number[] = [10, 11, 26];

/** Whether the content of the disk is unknown after this failure of a commit. A write that was refused changed nothing. */
const isFatal = (code: number): boolean => FATAL_AT_COMMIT.includes(code & 0xff) && !REFUSED_WRITES.includes(code);

/** Files 0600, also `-wal` and `-shm`, which SQLite creates with the mode of the main file. */
function makePrivate(path: string): void {
  closeSync(openSync(path, "a", 0o600));
  for (const file of [path, `${path}-wal`, `${path}-shm`]) if (existsSync(file)) chmodSync(file, 0o600);
}

/** Whole numbers are bound as SQLite integers: `node:sqlite` would bind every number as REAL. */
const toBinding = (value: SqlValue): SqlValue => (typeof value === "number" && Number.isSafeInteger(value) ? BigInt(value) : value);

function fromColumn(value: SqlValue): SqlValue {
  if (typeof value !== "bigint") return value;
  const asNumber = Number(value);
  return Number.isSafeInteger(asNumber) ? asNumber : value;
}

/**
 * SQLite, synchronously: one connection in WAL mode with `synchronous=FULL`, so a commit is on the disk when
 * it returns. Used in-process by tests and the simulator and inside the worker by the product.
 */
export class SqliteEngine {
  readonly #db: DatabaseSync;
  readonly #statements: StatementCache;
  /** Set after a failed fsync: what the disk holds is then unknown, so nothing more is acknowledged until `recover`. */
  #broken: StorageError | null = null;
  #mark: StoreMark | null = null;

  /**
   * @param path a file, created with mode 0600, or `:memory:`
   * @param mode "read": the file must be there, and no byte of it or of its log changes
   */
  constructor(path: string, mode: "write" | "read" = "write") {
    const readOnly = mode === "read";
    try {
      if (path !== ":memory:" && !readOnly) makePrivate(path);
      this.#db = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS, readOnly });
    } catch (error) {
      throw toStorageError(error, `cannot open ${path}`);
    }
    try {
      // fullfsync: macOS keeps what was fsynced in the drive's cache without it; elsewhere it means nothing.
      if (!readOnly) this.#db.exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA fullfsync=ON; PRAGMA checkpoint_fullfsync=ON");
      this.#db.exec("PRAGMA foreign_keys=ON; PRAGMA trusted_schema=OFF");
      this.#db.prepare("SELECT count(*) FROM sqlite_schema").get();
    } catch (error) {
      this.#db.close();
      throw toStorageError(error, `cannot open ${path}`);
    }
    this.#statements = new StatementCache(this.#db);
  }

  /**
   * Stores many batches with one fsync. Each batch is atomic by itself: one that fails is undone and the others
   * stay. Answers, in order, null for a stored batch or its error.
   */
  writeGroup(batches: readonly (readonly SqlStatement[])[]): (StorageError | null)[] {
    const broken = this.#broken;
    if (broken !== null) return batches.map(() => broken);
    const outcome = this.#tryGroup(batches);
    if (outcome !== undefined) return outcome;
    // The transaction as a whole was lost, usually to a full disk: find out which batches fit on their own.
    return batches.flatMap((batch) => {
      if (this.#broken !== null) return [this.#broken];
      return this.#tryGroup([batch]) ?? [new StorageError("Io", "cannot store: the transaction was lost")];
    });
  }

  /** Undefined: nothing was stored and a smaller group may succeed. */
  #tryGroup(batches: readonly (readonly SqlStatement[])[]): (StorageError | null)[] | undefined {
    const outcomes: (StorageError | null)[] = [];
    try {
      this.#db.exec("BEGIN IMMEDIATE");
    } catch (error) {
      const failure = toStorageError(error, "cannot start a transaction");
      return batches.map(() => failure);
    }
    const [only] = batches;
    if (batches.length === 1 && only) {
      // Alone in its transaction, which is undone with it.
      const failure = this.#runOnly(only);
      if (failure) return [failure];
      outcomes.push(null);
    } else {
      for (const batch of batches) {
        const outcome = this.#runBatch(batch);
        if (!this.#db.isTransaction) return undefined;
        outcomes.push(outcome);
      }
    }
    try {
      this.#db.exec(this.#mark === null ? "COMMIT" : `${this.#mark.countSql}; COMMIT`);
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
      const failure = toStorageError(error, "cannot commit");
      if (isFatal(sqliteCode(error) ?? 0)) this.#broken = failure;
      else if (batches.length > 1) return undefined;
      return batches.map((_, i) => outcomes[i] ?? failure);
    }
    this.#mark?.committed();
    return outcomes;
  }

  /** Why nothing is stored any more; null: it is. */
  get fault(): StorageError | null {
    return this.#broken;
  }

  /**
   * After a failed fsync: the disk may be well again. All that is committed is written to the main file anew and fsynced, a transaction
   * must reach the disk, and what is stored is looked through, last because it takes longest. Only then are writes taken again. What
   * failed never counts: the next transaction is written in its place, so that nothing acknowledged stands behind what the system may
   * have dropped.
   *
   * @param check throws a `StorageError` of kind Corrupt when what is stored is damaged: then it stays as it is
   * @returns whether writes are taken
   */
  recover(check: (engine: SqliteEngine) => void): boolean {
    const broken = this.#broken;
    if (broken === null) return true;
    if (broken.kind === "Corrupt") return false;
    try {
      const [copied] = this.read("PRAGMA wal_checkpoint(TRUNCATE)");
      const [refused] = copied?.busy === 0 ? (this.#tryGroup([[]]) ?? [broken]) : [broken];
      if (refused) return false;
      check(this);
      this.#broken = null;
    } catch (error) {
      const failure = toStorageError(error, "cannot take writes again");
      if (failure.kind === "Corrupt") this.#broken = failure;
    }
    return this.#broken === null;
  }

  #runStatements(batch: readonly SqlStatement[]): void {
    for (const { sql, params } of batch) this.#statements.get(sql).run(...(params ?? []).map(toBinding));
  }

  #runOnly(batch: readonly SqlStatement[]): StorageError | null {
    try {
      this.#runStatements(batch);
      return null;
    } catch (error) {
      // SQLite gives up the whole transaction by itself on a full disk and a few others.
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
      return toStorageError(error, "cannot store");
    }
  }

  #runBatch(batch: readonly SqlStatement[]): StorageError | null {
    this.#db.exec("SAVEPOINT batch");
    try {
      this.#runStatements(batch);
      this.#db.exec("RELEASE batch");
      return null;
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK TO batch; RELEASE batch");
      return toStorageError(error, "cannot store");
    }
  }

  read(sql: string, params: readonly SqlValue[] = []): SqlRow[] {
    const rows: SqlRow[] = [];
    try {
      for (const row of this.#statements.get(sql).iterate(...params.map(toBinding))) {
        if (rows.length >= MAX_ROWS) throw new StorageError("Limit", `a query answered more than ${MAX_ROWS} rows`);
        const out: { [column: string]: SqlValue } = {};
        for (const column in row) out[column] = fromColumn(row[column] ?? null);
        rows.push(out);
      }
    } catch (error) {
      throw toStorageError(error, "cannot read");
    }
    return rows;
  }

  /** From here on every transaction is counted in the mark. */
  keepMark(mark: StoreMark): void {
    this.#mark = mark;
  }

  /** Bytes of pages that are in the file and hold nothing. */
  freeBytes(): number {
    const [free] = this.read("PRAGMA freelist_count");
    return Number(free?.freelist_count) * this.#pageSize();
  }

  /**
   * Makes so many bytes of free pages. They are on the disk when it returns, and SQLite's log is as long as they are together: both are
   * written over from then on. Not for `:memory:`.
   * @returns whether the disk has the room
   */
  makeRoom(bytes: number): boolean {
    if (this.#broken !== null) return false;
    try {
      // First what the log has: it would grow behind that, and the main file by both at once.
      this.#db.exec("PRAGMA wal_checkpoint; BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS disk_reserve (room BLOB)");
      this.#db.exec(`DELETE FROM disk_reserve; INSERT INTO disk_reserve VALUES (zeroblob(${bytes})); COMMIT`);
      this.#db.exec("PRAGMA wal_checkpoint; DROP TABLE disk_reserve; PRAGMA shrink_memory");
      return true;
    } catch (error) {
      if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
      const failure = toStorageError(error, "cannot make room");
      // What cannot be read looks damaged, too. Whether it is, is looked into after a failed write; who is told so here would take no writes ever again.
      if (isFatal(sqliteCode(error) ?? 0) && failure.kind !== "Corrupt") this.#broken = failure;
      return false;
    }
  }

  #pageSize(): number {
    const [size] = this.read("PRAGMA page_size");
    return Number(size?.page_size);
  }

  /** For migrations: text of several statements, outside a transaction unless it opens one. */
  exec(sql: string): void {
    this.#db.exec(sql);
  }

  close(): void {
    this.#db.close();
    this.#mark?.close();
    this.#mark = null;
  }
}
