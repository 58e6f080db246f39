import { renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { StorageError } from "../../../ports/sql.ts";
import { orderProblem, type ReadOrder } from "../checkDatabase.ts";
import { copyAside, fsyncPath } from "../durableFiles.ts";
import { type ComponentSchema, migrate, refuseNewer, stepsMade } from "../migrations.ts";
import { SqliteEngine } from "../sqliteEngine.ts";
import { markAccepted, refuseOlder } from "../storeMark.ts";
import { couldPayAgain, cutRecord, cutSentence, findLog, foundSwaps, listFromLog } from "../swapLogs.ts";
import { readPageFile } from "./pageFile.ts";
import { addFromPages, copyTable, putAside, store, type TableReport } from "./recoverRows.ts";

/** What the node finds on the chains again when the coins are enabled, and what it makes anew from the swaps' logs. */
const DERIVED_TABLES = ["chain_meta", "chain_header", "chain_tx", "chain_output", "chain_spend", "chain_told", "swap_views"];
/** What later versions know of a watch is as for a new one. */
const UNREAD_WATCHES = `INSERT OR REPLACE INTO chain_watch (ticker, kind, key, from_height, next_height)
  SELECT ticker, kind, key, from_height, from_height FROM chain_watch`;
/** Tables that belong to the new file itself. */
const OWN_TABLES = ["schema_migrations", "store_mark"];

export type RepairReport = {
  /** The files as they were, beside the database. */
  readonly copies: readonly string[];
  readonly tables: readonly TableReport[];
  /** Swaps whose record is not whole, which the node will not act on, and those that may lack their end, which pay nothing any more. One sentence each. */
  readonly cut: readonly string[];
  /** Whatever else was lost or put aside, one sentence each. */
  readonly lost: readonly string[];
};

/** The damaged database for reading; null when SQLite cannot open it at all. */
function openDamaged(path: string, schema: readonly ComponentSchema[]): SqliteEngine | null {
  try {
    const source = new SqliteEngine(path, "read");
    refuseNewer(source, path, schema);
    return source;
  } catch (error) {
    if (error instanceof StorageError && error.kind === "Corrupt") return null;
    throw error;
  }
}

/** Whether the end of some swap's record may be missing without a gap that shows it. */
function mayLackEnds(source: SqliteEngine | null, path: string, reports: readonly TableReport[]): boolean {
  if (source === null || reports.some((r) => r.table === "swap_events" && r.stopped !== null)) return true;
  try {
    refuseOlder(source, path);
    return source.read("PRAGMA quick_check('swap_events')").some((row) => row.quick_check !== "ok");
  } catch (error) {
    if (error instanceof StorageError) return true;
    throw error;
  }
}

/** Puts the list of swaps right by the records, and keeps those from paying that could do it a second time. */
function settleSwaps(target: SqliteEngine, lackEnds: boolean): string[] {
  const cut: string[] = [];
  for (const uuid of [...foundSwaps(target)]) {
    const log = findLog(target, uuid);
    if (!log.whole) {
      cut.push(`swap ${uuid}: ${log.detail}. What is there is kept; the node will not act on it`);
      continue;
    }
    store(target, listFromLog(uuid, log.events, log.state.finished !== null));
    if (!lackEnds || !couldPayAgain(log.state)) continue;
    store(target, [cutRecord(uuid, log)]);
    cut.push(cutSentence(uuid, log.state));
  }
  return cut;
}

function dropUnreadableOrders(target: SqliteEngine, readOrder: ReadOrder): string[] {
  const lost: string[] = [];
  for (const row of target.read("SELECT id, uuid, kind, record FROM live_orders ORDER BY id")) {
    const problem = orderProblem(row.uuid, row.kind, row.record, readOrder);
    if (problem === null) continue;
    store(target, [putAside("live_orders", row), { sql: "DELETE FROM live_orders WHERE id = ?", params: [row.id ?? null] }]);
    lost.push(`${problem}; it is put aside and not on offer any more`);
  }
  return lost;
}

/** A database of the same version as the damaged one, filled with what can be read of it. */
function rebuild(path: string, partial: string, schema: readonly ComponentSchema[], readOrder: ReadOrder): Omit<RepairReport, "copies"> {
  const source = openDamaged(path, schema);
  const target = new SqliteEngine(partial);
  // It counts only when it is whole, and is fsynced then.
  target.exec("PRAGMA synchronous=OFF");
  try {
    let made: ReadonlyMap<string, number> = new Map();
    try {
      if (source) made = stepsMade(source);
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
    }
    // Rows go into tables of their own version first; what that version cannot be told of is taken for the newest.
    const old = schema.map((s) => ({ ...s, migrations: made.size > 0 ? s.migrations.slice(0, made.get(s.component) ?? 0) : s.migrations }));
    migrate(target, ":memory:", old);
    store(target, [
      { sql: "CREATE TABLE IF NOT EXISTS salvaged_rows (id INTEGER PRIMARY KEY, origin TEXT NOT NULL, row TEXT NOT NULL) STRICT" },
    ]);
    const names = target
      .read("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
      .map((row) => String(row.name))
      .filter((name) => !DERIVED_TABLES.includes(name) && !OWN_TABLES.includes(name));
    const tables = names.map((table) =>
      source ? copyTable(source, target, table) : { table, kept: 0, aside: 0, fromPages: 0, stopped: "SQLite cannot open the file" },
    );
    const pages = readPageFile(path);
    const lost = tables.flatMap((t) => (t.stopped === null ? [] : [`table ${t.table} could not be read to its end: ${t.stopped}`]));
    if (pages !== null) addFromPages(pages, target, tables);
    else lost.push("the file is too large to be looked through page by page");
    store(target, [{ sql: UNREAD_WATCHES }]);
    lost.push(...dropUnreadableOrders(target, readOrder));
    const cut = settleSwaps(target, mayLackEnds(source, path, tables));
    return { tables, cut, lost };
  } finally {
    source?.close();
    target.close();
  }
}

/**
 * Makes a new database of what can be read of a damaged one and puts it in its place. The old files are copied first and
 * stay. Records of swaps are never thrown away: one that is not whole stays as far as it is there, and the node leaves it
 * alone. What is known of the chains is left out; the node finds it again when the coins are enabled.
 *
 * Nobody else may have the database open.
 */
export function repairDatabase(path: string, schema: readonly ComponentSchema[], readOrder: ReadOrder): RepairReport {
  const copies = copyAside(path);
  const partial = `${path}.repaired`;
  for (const end of ["", "-wal", "-shm"]) rmSync(partial + end, { force: true });
  const report = rebuild(path, partial, schema, readOrder);
  fsyncPath(partial);
  // A log of the old file must never meet the new one; from here to the rename the copies are what counts.
  for (const end of ["-wal", "-shm"]) rmSync(path + end, { force: true });
  renameSync(partial, path);
  fsyncPath(dirname(path));
  markAccepted(path);
  return { copies, ...report };
}
