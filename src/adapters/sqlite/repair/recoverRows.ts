import { type SqlRow, type SqlStatement, type SqlValue, StorageError } from "../../../ports/sql.ts";
import type { SqliteEngine } from "../sqliteEngine.ts";
import { parseEventText } from "../storedEvent.ts";
import { leafRecords } from "./leafRecords.ts";
import type { PageFile } from "./pageFile.ts";
import { keysOf, readTable } from "./readTable.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;
/** Rows in one transaction. */
const BATCH_ROWS = 500;

/** What became of one table: rows taken over, rows put aside, and why reading stopped. */
export type TableReport = { readonly table: string; kept: number; aside: number; fromPages: number; stopped: string | null };

const asJson = (row: SqlRow): string =>
  JSON.stringify(row, (_key, value: unknown) =>
    typeof value === "bigint" ? value.toString() : value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value,
  );

/** A row that has no place: kept as it was read, in the table for such rows. */
export const putAside = (origin: string, row: SqlRow): SqlStatement => ({
  sql: "INSERT INTO salvaged_rows (origin, row) VALUES (?, ?)",
  params: [origin, asJson(row)],
});

/** Takes over what SQLite can read of a table. A row the new table refuses is put aside. */
export function copyTable(source: SqliteEngine, target: SqliteEngine, table: string): TableReport {
  const report: TableReport = { table, kept: 0, aside: 0, fromPages: 0, stopped: null };
  const columns = target.read("SELECT name FROM pragma_table_info(?) ORDER BY cid", [table]).map((row) => String(row.name));
  // A file that does not say its version may be older than the new table: what its rows lack is as for new ones.
  const insert = (row: SqlRow): SqlStatement => {
    const known = columns.filter((c) => c in row);
    const sql = `INSERT INTO ${table} (${known.join(", ")}) VALUES (${known.map(() => "?").join(", ")})`;
    return { sql, params: known.map((c): SqlValue => row[c] ?? null) };
  };
  let rows: SqlRow[] = [];
  const flush = (): void => {
    const outcomes = target.writeGroup(rows.map((row) => [insert(row)]));
    const refused = rows.filter((_, i) => outcomes[i] !== null);
    for (const failure of outcomes) if (failure && failure.kind !== "Constraint") throw failure;
    report.kept += rows.length - refused.length;
    report.aside += refused.length;
    store(
      target,
      refused.map((row) => putAside(table, row)),
    );
    rows = [];
  };
  try {
    const reading = readTable(source, table, keysOf(target, table));
    for (let next = reading.next(); ; next = reading.next()) {
      if (next.done) {
        report.stopped = next.value;
        break;
      }
      rows.push(next.value);
      if (rows.length >= BATCH_ROWS) flush();
    }
  } catch (error) {
    if (!(error instanceof StorageError) || (error.kind !== "Corrupt" && error.kind !== "Sql")) throw error;
    report.stopped = error.message;
  }
  flush();
  return report;
}

/** Stores statements whole or throws. */
export function store(target: SqliteEngine, batch: readonly SqlStatement[]): void {
  if (batch.length === 0) return;
  const [failure] = target.writeGroup([batch]);
  if (failure) throw failure;
}

const isUuid = (value: SqlValue | undefined): value is string => typeof value === "string" && UUID.test(value);

/** An event SQLite could not reach, or could reach only in a damaged form. */
function eventStatement(target: SqliteEngine, [uuid, seq, text]: readonly SqlValue[]): SqlStatement | null {
  if (!isUuid(uuid) || typeof seq !== "number" || typeof text !== "string" || !parseEventText(text).ok) return null;
  const [there] = target.read("SELECT event FROM swap_events WHERE uuid = ? AND seq = ?", [uuid, seq]);
  if (there && parseEventText(String(there.event)).ok) return null;
  return { sql: "INSERT OR REPLACE INTO swap_events (uuid, seq, event) VALUES (?, ?, ?)", params: [uuid, seq, text] };
}

function markStatement(target: SqliteEngine, [kind, value, uuid]: readonly SqlValue[]): SqlStatement | null {
  if ((kind !== "secret_hash" && kind !== "fee_tx") || typeof value !== "string" || !/^[0-9a-f]{40,64}$/.test(value) || !isUuid(uuid))
    return null;
  if (target.read("SELECT 1 FROM swap_marks WHERE kind = ? AND value = ?", [kind, value]).length > 0) return null;
  return { sql: "INSERT INTO swap_marks (kind, value, uuid) VALUES (?, ?, ?)", params: [kind, value, uuid] };
}

function agreedStatement(target: SqliteEngine, [taker, maker, atMs]: readonly SqlValue[]): SqlStatement | null {
  if (!isUuid(taker) || !isUuid(maker) || typeof atMs !== "number") return null;
  if (target.read("SELECT 1 FROM agreed_swaps WHERE taker_uuid = ?", [taker]).length > 0) return null;
  return { sql: "INSERT INTO agreed_swaps (taker_uuid, maker_uuid, agreed_at) VALUES (?, ?, ?)", params: [taker, maker, atMs] };
}

const RECOGNISED = [
  ["swap_events", eventStatement],
  ["swap_marks", markStatement],
  ["agreed_swaps", agreedStatement],
] as const;

/**
 * Adds rows found on single pages, beyond what SQLite can reach. Only of tables of which no row is ever changed or deleted:
 * a free page may hold rows of the past, and an order that was cancelled must not come back.
 */
export function addFromPages(file: PageFile, target: SqliteEngine, reports: readonly TableReport[]): void {
  for (const { rowid, values } of leafRecords(file)) {
    if (rowid !== null || values.length !== 3) continue;
    for (const [table, toStatement] of RECOGNISED) {
      const statement = toStatement(target, values);
      if (statement === null) continue;
      store(target, [statement]);
      for (const report of reports) if (report.table === table) report.fromPages++;
      break;
    }
  }
}
