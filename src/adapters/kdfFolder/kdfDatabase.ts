import { chmodSync, copyFileSync, existsSync, lstatSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

const KDF_DATABASE = "MM2.db";
/** Rows of one table that are taken, the newest. */
const MAX_ROWS = 2_000_000;

export type KdfSwapRow = {
  readonly uuid: string;
  readonly myCoin: string;
  readonly otherCoin: string;
  /** unix seconds */
  readonly startedAt: number;
  readonly isFinished: boolean;
  /** 0: the protocol this node speaks; 1 and 2: KDF's newer one, as maker and taker. */
  readonly swapType: number;
};
/** Columns of reference rpc.md 6.8; `price` and `volume` as SQLite has them. */
export type KdfHistoryRow = {
  readonly uuid: string;
  readonly type: string;
  readonly initialAction: string;
  readonly base: string;
  readonly rel: string;
  readonly price: number | string;
  readonly volume: number | string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly wasTaker: number;
  readonly status: string;
};
export type KdfTables = {
  readonly swaps: readonly KdfSwapRow[];
  readonly orders: readonly KdfHistoryRow[];
  /** Rows that were not as KDF writes them, and why the rest could not be read. */
  readonly faults: readonly string[];
};

/** Whether KDF has used this wallet's folder. */
export const hasKdfDatabase = (root: string): boolean =>
  existsSync(join(root, KDF_DATABASE)) && lstatSync(join(root, KDF_DATABASE)).isFile();

/**
 * What KDF's database knows of swaps and orders. A copy is read, in a folder of its own: SQLite makes files beside the database
 * it opens, and finishes in it what a crash has left open.
 */
export function readKdfDatabase(root: string, maxRows = MAX_ROWS): KdfTables {
  const folder = mkdtempSync(join(tmpdir(), "swapnode-kdf-"));
  const faults: string[] = [];
  try {
    for (const end of ["", "-wal", "-journal"]) {
      const file = join(root, KDF_DATABASE + end);
      if (!existsSync(file) || !lstatSync(file).isFile()) continue;
      copyFileSync(file, join(folder, KDF_DATABASE + end));
      // SQLite may have to finish what a crash has left open, also where KDF's file is for reading only.
      chmodSync(join(folder, KDF_DATABASE + end), 0o600);
    }
    const db = new DatabaseSync(join(folder, KDF_DATABASE));
    try {
      db.prepare("SELECT count(*) FROM sqlite_schema").get();
      return { swaps: rowsOf(db, "my_swaps", toSwap, maxRows, faults), orders: rowsOf(db, "my_orders", toOrder, maxRows, faults), faults };
    } finally {
      db.close();
    }
  } catch (error) {
    faults.push(`it cannot be read: ${messageOf(error)}`);
    return { swaps: [], orders: [], faults };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : "unknown reason");

type Row = { readonly [column: string]: unknown };

/** What can be read of a table: one that is damaged must not hide what the other knows. */
function rowsOf<T>(db: DatabaseSync, table: string, read: (row: Row) => T | null, maxRows: number, faults: string[]): T[] {
  const rows: T[] = [];
  let unread = 0;
  let leftOut = 0;
  try {
    const found = db.prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?").get(table);
    if (!found) return [];
    const all = db.prepare(`SELECT * FROM ${table} ORDER BY id`);
    // Otherwise a whole number beyond 2^53 ends the reading of all rows.
    all.setReadBigInts(true);
    for (const row of all.iterate()) {
      const value = read(withNumbers(row));
      if (value === null) unread++;
      else if (rows.length < maxRows) rows.push(value);
      // The oldest gives way: what is unfinished is among the newest.
      else rows[leftOut++ % maxRows] = value;
    }
  } catch (error) {
    faults.push(`${table} cannot be read${rows.length > 0 ? ` after ${rows.length} rows` : ""}: ${messageOf(error)}`);
  }
  if (unread > 0) faults.push(`${unread} rows of ${table} are not as KDF writes them`);
  if (leftOut === 0) return rows;
  faults.push(`the ${leftOut} oldest rows of ${table} are left out: no more than ${maxRows} are taken`);
  const oldest = leftOut % maxRows;
  return [...rows.slice(oldest), ...rows.slice(0, oldest)];
}

/** Whole numbers as such where they are exact; the others stay what no column is taken for. */
const withNumbers = (row: Row): Row =>
  Object.fromEntries(
    Object.entries(row).map(([column, value]) => [
      column,
      typeof value === "bigint" && Number.isSafeInteger(Number(value)) ? Number(value) : value,
    ]),
  );

const isText = (value: unknown, pattern = /^[\x20-\x7e]{1,200}$/): value is string => typeof value === "string" && pattern.test(value);
const isUuid = (value: unknown): value is string => isText(value, /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
const isTime = (value: unknown): value is number => typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
const isDecimal = (value: unknown): value is number | string =>
  typeof value === "number" ? Number.isFinite(value) : isText(value, /^\d{1,200}(\.\d{1,200})?$/);

function toSwap({ uuid, my_coin, other_coin, started_at, is_finished, swap_type = 0 }: Row): KdfSwapRow | null {
  if (!isUuid(uuid) || !isText(my_coin) || !isText(other_coin) || !isTime(started_at) || !isTime(swap_type)) return null;
  return { uuid, myCoin: my_coin, otherCoin: other_coin, startedAt: started_at, isFinished: is_finished === 1, swapType: swap_type };
}

function toOrder(row: Row): KdfHistoryRow | null {
  const { uuid, type, initial_action, base, rel, price, volume, created_at, last_updated, was_taker, status } = row;
  if (!isUuid(uuid) || !isText(type) || !isText(initial_action) || !isText(base) || !isText(rel) || !isText(status)) return null;
  if (!isDecimal(price) || !isDecimal(volume) || !isTime(created_at) || !isTime(last_updated)) return null;
  return {
    ...{ uuid, type, initialAction: initial_action, base, rel, price, volume },
    ...{ createdAtMs: created_at, updatedAtMs: last_updated, wasTaker: was_taker === 1 ? 1 : 0, status },
  };
}
