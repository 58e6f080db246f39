import { closeSync, existsSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { type SqlRow, StorageError } from "../../ports/sql.ts";
import { replaceDurably } from "./durableFiles.ts";
import type { ComponentSchema } from "./migrations.ts";
import type { SqliteEngine } from "./sqliteEngine.ts";

/**
 * `store_mark` names the database and counts its transactions; `salvaged_rows` holds what `swapnode data repair` could read
 * but not put back in its place: a row as JSON with the table it was of.
 */
export const STORE_SCHEMA: ComponentSchema = {
  component: "store",
  migrations: [
    {
      version: 1,
      name: "mark of the database, salvaged rows",
      sql: [
        "CREATE TABLE store_mark (id INTEGER PRIMARY KEY CHECK (id = 1), lineage TEXT NOT NULL, writes INTEGER NOT NULL) STRICT",
        // A repaired database of an older version has it already.
        "CREATE TABLE IF NOT EXISTS salvaged_rows (id INTEGER PRIMARY KEY, origin TEXT NOT NULL, row TEXT NOT NULL) STRICT",
      ],
    },
  ],
};

/** A database and how far it has come. Another lineage is another database, however alike. */
type Mark = { readonly lineage: string; readonly writes: number };

const ACCEPTED = "accepted\n";
const LINE = /^swapnode-store 1 ([0-9a-f]{32}) (\d{16}) (\d{16})\n$/;
/** Longest content read of the file, bytes. */
const MAX_BYTES = 200;

const fileOf = (path: string): string => `${path}.mark`;
const digits = (n: number): string => String(n).padStart(16, "0");
/** The count stands there twice: a half-written line is seen to be one. */
const lineOf = ({ lineage, writes }: Mark): string => `swapnode-store 1 ${lineage} ${digits(writes)} ${digits(writes)}\n`;

/** Null: there is none, or it cannot be read and says nothing. */
function readMarkFile(path: string): Mark | "accepted" | null {
  const file = fileOf(path);
  if (!existsSync(file)) return null;
  const text = readFileSync(file).subarray(0, MAX_BYTES).toString("latin1");
  if (text === ACCEPTED) return "accepted";
  const [, lineage, writes, again] = LINE.exec(text) ?? [];
  return lineage === undefined || writes !== again ? null : { lineage, writes: Number(writes) };
}

function readMark(db: { read(sql: string): SqlRow[] }): Mark | null {
  if (db.read("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'store_mark'").length === 0) return null;
  const [row] = db.read("SELECT lineage, writes FROM store_mark");
  return row ? { lineage: String(row.lineage), writes: Number(row.writes) } : null;
}

const WAY_OUT =
  "If the right file is still somewhere, put it in place with its -wal file. If not, read docs/operations/recovery.md about lost " +
  "history, then run: swapnode data accept";

/**
 * Throws a `StorageError` of kind Older when the mark beside the database says that this is not the data last used here: an
 * old copy was put back, the `-wal` file was lost, or the file is gone.
 *
 * @param db null: there is no database
 */
export function refuseOlder(db: { read(sql: string): SqlRow[] } | null, path: string): void {
  const last = readMarkFile(path);
  const isMarked = last !== null && last !== "accepted";
  if (db === null) {
    // A log alone may hold all that was stored, and SQLite would delete it.
    if (!isMarked && !existsSync(`${path}-wal`)) return;
    throw new StorageError("Older", `the database ${path} is missing, although this folder has been used. Nothing was changed. ${WAY_OUT}`);
  }
  if (!isMarked) return;
  const here = readMark(db);
  if (here?.lineage === last.lineage && here.writes >= last.writes) return;
  const what =
    here?.lineage === last.lineage
      ? `is older than the one last used here: it lacks the last ${last.writes - here.writes} of ${last.writes} transactions`
      : "is not the one last used here";
  throw new StorageError(
    "Older",
    `the database ${path} ${what}. The node would not know what it has sent since, and could pay twice. Nothing was changed. ${WAY_OUT}`,
  );
}

/** The operator's word that whatever database is there, or none, is the one to go on with. */
export function markAccepted(path: string): void {
  replaceDurably(fileOf(path), ACCEPTED);
}

function closeAnyway(file: number): void {
  try {
    closeSync(file);
  } catch {
    // A disk that is gone says here, too, what it did not write.
  }
}

/**
 * The mark of an open database: a count in the database itself, one more with each transaction, and the same count in a
 * file beside it, written after each commit. The file is not fsynced each time: after a power cut it may be behind the
 * database, which raises no alarm, and is never ahead of it.
 */
export class StoreMark {
  /** Part of each transaction. */
  readonly countSql = "UPDATE store_mark SET writes = writes + 1 WHERE id = 1";
  readonly #lineage: string;
  #writes: number;
  #file: number | null;

  /**
   * Writes the mark of a database that has just passed `refuseOlder`. Without a mark beside it the database gets a new
   * lineage, so that no other copy of it can take its place unnoticed.
   */
  constructor(engine: SqliteEngine, path: string) {
    const last = readMarkFile(path);
    const isMarked = last !== null && last !== "accepted" && readMark(engine) !== null;
    if (!isMarked) {
      const [failure] = engine.writeGroup([
        [
          {
            sql: `INSERT INTO store_mark (id, lineage, writes) VALUES (1, lower(hex(randomblob(16))), 1)
                  ON CONFLICT (id) DO UPDATE SET lineage = excluded.lineage, writes = writes + 1`,
          },
        ],
      ]);
      if (failure) throw failure;
    }
    const mark = readMark(engine);
    if (mark === null) throw new Error("the database has no mark");
    this.#lineage = mark.lineage;
    this.#writes = mark.writes;
    try {
      replaceDurably(fileOf(path), lineOf(mark));
    } catch (cause) {
      // On a full disk there is no room for another file. The one that is there serves: it may be behind, and is written over by the next commit.
      if (!isMarked) throw cause;
    }
    this.#file = openSync(fileOf(path), "r+");
  }

  /** To be called after each commit that ran `countSql`. Never throws: the data itself is stored. */
  committed(): void {
    this.#writes++;
    const file = this.#file;
    if (file === null) return;
    try {
      writeSync(file, lineOf({ lineage: this.#lineage, writes: this.#writes }), 0);
    } catch {
      // A mark that stays behind raises no alarm: it only sees less from here on.
      this.#file = null;
      closeAnyway(file);
    }
  }

  close(): void {
    if (this.#file === null) return;
    fsyncSync(this.#file);
    closeSync(this.#file);
    this.#file = null;
  }
}

/** Whether the operator accepted the database that is there, and no node has started since. */
export const wasAccepted = (path: string): boolean => readMarkFile(path) === "accepted";

/** Whether a database that a node has used is here without its mark, as a copy on another machine: nothing says how old it is. */
export const isUnmarked = (db: { read(sql: string): SqlRow[] }, path: string): boolean =>
  readMarkFile(path) === null && readMark(db) !== null;
