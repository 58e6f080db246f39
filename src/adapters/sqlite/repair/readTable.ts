import { type SqlRow, type SqlValue, StorageError } from "../../../ports/sql.ts";
import type { SqliteEngine } from "../sqliteEngine.ts";

const PAGE_ROWS = 500;

/** Columns a table is ordered by: its primary key, or the rowid where rows have one. */
export function keysOf(db: SqliteEngine, table: string): readonly string[] {
  const hasRowid = db.read("SELECT wr FROM pragma_table_list WHERE name = ?", [table])[0]?.wr === 0;
  if (hasRowid) return ["rowid"];
  return db.read("SELECT name FROM pragma_table_info(?) WHERE pk > 0 ORDER BY pk", [table]).map((row) => String(row.name));
}

/**
 * All rows of a table that SQLite can reach: from the front up to the first damage, then from the back down to it.
 * Each row has its key columns also as `key0`, `key1` ….
 *
 * @returns why it stopped before the end, or null when every row was read
 */
export function* readTable(db: SqliteEngine, table: string, keys: readonly string[]): Generator<SqlRow, string | null> {
  const columns = keys.join(", ");
  const places = keys.map(() => "?").join(", ");
  const shown = keys.map((key, i) => `${key} AS key${i}`).join(", ");
  const keyOf = (row: SqlRow): SqlValue[] => keys.map((_, i) => row[`key${i}`] ?? null);
  /** Rows beyond `from` in one direction, not reaching `until`. */
  function* walk(direction: "ASC" | "DESC", until: readonly SqlValue[] | null): Generator<SqlRow, StorageError | null> {
    let from: readonly SqlValue[] | null = null;
    let limit = PAGE_ROWS;
    const beyond = direction === "ASC" ? ">" : "<";
    const before = direction === "ASC" ? "<" : ">";
    for (;;) {
      const limits: string[] = [
        ...(from ? [`(${columns}) ${beyond} (${places})`] : []),
        ...(until ? [`(${columns}) ${before} (${places})`] : []),
      ];
      const where = limits.length > 0 ? `WHERE ${limits.join(" AND ")}` : "";
      const order = keys.map((key) => `${key} ${direction}`).join(", ");
      let rows: SqlRow[];
      try {
        rows = db.read(`SELECT ${shown}, * FROM ${table} ${where} ORDER BY ${order} LIMIT ${limit}`, [...(from ?? []), ...(until ?? [])]);
      } catch (error) {
        if (!(error instanceof StorageError)) throw error;
        if (limit === 1) return error;
        // One by one up to the damage.
        limit = 1;
        continue;
      }
      yield* rows;
      const last = rows.at(-1);
      if (last === undefined || rows.length < limit) return null;
      from = keyOf(last);
    }
  }
  let reached: readonly SqlValue[] | null = null;
  const forward = walk("ASC", null);
  for (;;) {
    const { done, value } = forward.next();
    if (done) {
      if (value === null) return null;
      yield* walk("DESC", reached);
      return value.message;
    }
    reached = keyOf(value);
    yield value;
  }
}
