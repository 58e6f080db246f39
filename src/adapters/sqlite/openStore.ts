import { existsSync, statSync } from "node:fs";
import { StorageError } from "../../ports/sql.ts";
import { type ComponentSchema, migrate, refuseNewer } from "./migrations.ts";
import { SqliteEngine } from "./sqliteEngine.ts";
import { isUnmarked, refuseOlder, STORE_SCHEMA, StoreMark, wasAccepted } from "./storeMark.ts";

/** Something the operator should know of how the database was opened; for the log. */
export type StoreNote =
  | { readonly note: "database_migrated"; readonly from: number; readonly to: number; readonly snapshot: string | null }
  /** Too large to be looked through whole at each start. */
  | { readonly note: "database_check_partial"; readonly bytes: number }
  /** There was none: at a first start, or where the right one is not to be seen. */
  | { readonly note: "database_new"; readonly path: string; readonly hint: string }
  /** The operator accepted data that is not what was last used here. */
  | { readonly note: "database_accepted" }
  /** As a copy on another machine: nobody can tell whether it is an old one. */
  | { readonly note: "database_not_used_here_before"; readonly hint: string };

const NEW =
  "right for the first start of this wallet. If it was used before, its disk is not mounted, or dbdir or passphrase is another: stop the node and mend that, for open swaps have deadlines";
const UNMARKED =
  "if it may be an older copy and swaps were open, stop the node and run swapnode data accept: what they have paid since is then looked for (docs/operations/backup.md)";

/** Up to here the whole file is looked through at each start: about a second from memory, some seconds from a slow disk. */
const WHOLE_CHECK_MAX_BYTES = 512 * 1024 * 1024;
/** What is looked through of a larger one: what keeps a swap from being forgotten or repeated, without the large tables. */
const SMALL_TABLES = ["swaps", "swap_marks", "live_orders", "agreed_swaps"] as const;

/** Problems `quick_check` names at most. */
const MAX_PROBLEMS = 3;

/** Throws a `StorageError` of kind Corrupt that names the damage. @param bytes size of the file: a large one is looked through in part */
export function refuseDamaged(db: SqliteEngine, path: string, bytes: number): void {
  const all = bytes <= WHOLE_CHECK_MAX_BYTES;
  const present = new Set(db.read("SELECT name FROM sqlite_schema WHERE type = 'table'").map((row) => row.name));
  const pragmas = all
    ? [`PRAGMA quick_check(${MAX_PROBLEMS})`]
    : SMALL_TABLES.filter((t) => present.has(t)).map((t) => `PRAGMA quick_check(${t})`);
  const found = pragmas.flatMap((sql) => db.read(sql).map((row) => String(row.quick_check)));
  const problems = found.filter((line) => line !== "ok").slice(0, MAX_PROBLEMS);
  if (problems.length === 0) return;
  throw new StorageError(
    "Corrupt",
    `the database ${path} is damaged (${problems.join("; ").replaceAll("\n", " ")}). Nothing was changed. Run: swapnode data check, then ` +
      "swapnode data repair (docs/operations/recovery.md)",
  );
}

/** Reads before anything is written: a refused database stays byte for byte as it was. */
function look(path: string, schema: readonly ComponentSchema[], marked: boolean): StoreNote[] {
  const isGone = !existsSync(path);
  const bytes = isGone ? 0 : statSync(path).size;
  // A database whose first transaction never reached the main file is empty, with everything in its -wal file.
  if (isGone || (bytes === 0 && !existsSync(`${path}-wal`))) {
    if (!marked) return [];
    refuseOlder(null, path);
    return [{ note: "database_new", path, hint: NEW }];
  }
  const db = new SqliteEngine(path, "read");
  try {
    refuseNewer(db, path, schema);
    if (marked) refuseOlder(db, path);
    refuseDamaged(db, path, bytes);
    return [
      ...(bytes > WHOLE_CHECK_MAX_BYTES ? [{ note: "database_check_partial", bytes } as const] : []),
      ...(marked && isUnmarked(db, path) ? [{ note: "database_not_used_here_before", hint: UNMARKED } as const] : []),
    ];
  } finally {
    db.close();
  }
}

/**
 * Opens a database for the node: looked at first (a newer, an older and a damaged one are refused and stay as they are), then
 * brought up to date. Throws a `StorageError` that says what to do.
 *
 * @param path a file or `:memory:`
 * @param openEngine another engine than the real one imitates a bad disk
 */
export function openStore(
  path: string,
  schema: readonly ComponentSchema[],
  openEngine: (path: string) => SqliteEngine = (file) => new SqliteEngine(file),
): { readonly engine: SqliteEngine; readonly notes: readonly StoreNote[] } {
  const isFile = path !== ":memory:";
  const marked = isFile && schema.some((s) => s.component === STORE_SCHEMA.component);
  const notes = isFile ? look(path, schema, marked) : [];
  if (marked && wasAccepted(path)) notes.push({ note: "database_accepted" });
  const engine = openEngine(path);
  try {
    const migrated = migrate(engine, path, schema);
    if (migrated) notes.push({ note: "database_migrated", ...migrated });
    if (marked) engine.keepMark(new StoreMark(engine, path));
  } catch (error) {
    engine.close();
    throw error;
  }
  return { engine, notes };
}
