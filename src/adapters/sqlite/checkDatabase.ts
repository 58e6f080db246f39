import { reasonOf } from "../../core/util/reasonOf.ts";
import type { OrderRecord } from "../../ports/orderStore.ts";
import { StorageError } from "../../ports/sql.ts";
import { type ComponentSchema, refuseNewer, stepsMade } from "./migrations.ts";
import { SqliteEngine } from "./sqliteEngine.ts";
import { refuseOlder } from "./storeMark.ts";
import { findLog, foundSwaps } from "./swapLogs.ts";

/** Problems listed at most; a damaged file has thousands. */
const MAX_PROBLEMS = 100;

/** Reads an order as the node does. Throws on what it cannot read. */
export type ReadOrder = (record: OrderRecord) => unknown;

export type CheckReport = {
  /** One sentence each; empty = the node would start with it and read everything. */
  readonly problems: readonly string[];
  /** Steps made by component, as far as it can be read. */
  readonly version: ReadonlyMap<string, number>;
  readonly swaps: number;
  readonly openSwaps: number;
};

function sentenceOf(what: string, error: StorageError): string {
  if (error.kind === "Older") return error.message;
  // Who reads this has run the check already: SQLite's own words say more than the advice to run it.
  const detail = error.kind === "Corrupt" && error.cause instanceof Error ? error.cause.message : error.message;
  return `damaged: the ${what} cannot be read: ${detail}`;
}

/**
 * Looks through a whole database: every page, every index, every stored swap and live order, read as the node reads them.
 * Changes nothing; a running node may go on meanwhile. Throws only when there is no file or a newer version wrote it.
 */
export function checkDatabase(path: string, schema: readonly ComponentSchema[], readOrder: ReadOrder): CheckReport {
  const problems: string[] = [];
  const add = (text: string): void => {
    if (problems.length < MAX_PROBLEMS) problems.push(text.replaceAll("\n", " "));
  };
  let version: ReadonlyMap<string, number> = new Map();
  const [swaps, open] = [{ n: 0 }, { n: 0 }];
  /** One part of the check; that it cannot be done is a problem, too. */
  const part = (what: string, run: (db: SqliteEngine) => void, db: SqliteEngine): void => {
    try {
      run(db);
    } catch (error) {
      if (!(error instanceof StorageError) || error.kind === "Newer") throw error;
      add(sentenceOf(what, error));
    }
  };
  let db: SqliteEngine;
  try {
    db = new SqliteEngine(path, "read");
  } catch (error) {
    if (!(error instanceof StorageError) || error.kind !== "Corrupt") throw error;
    return { problems: [error.message], version, swaps: 0, openSwaps: 0 };
  }
  try {
    part("version", (d) => refuseNewer(d, path, schema), db);
    part("mark", (d) => refuseOlder(d, path), db);
    part(
      "version",
      (d) => {
        version = stepsMade(d);
      },
      db,
    );
    part(
      "pages",
      (d) => {
        for (const row of d.read(`PRAGMA integrity_check(${MAX_PROBLEMS})`))
          if (row.integrity_check !== "ok") add(`damaged: ${String(row.integrity_check)}`);
      },
      db,
    );
    part(
      "swaps",
      (d) => {
        for (const uuid of foundSwaps(d)) {
          swaps.n++;
          const log = findLog(d, uuid);
          if (!log.whole) add(`swap ${uuid}: ${log.detail}`);
          else if (log.state.finished === null) open.n++;
          if (d.read("SELECT 1 FROM swaps WHERE uuid = ?", [uuid]).length === 0) add(`swap ${uuid}: it is not in the list of swaps`);
        }
      },
      db,
    );
    part(
      "orders",
      (d) => {
        for (const row of d.read("SELECT uuid, kind, record FROM live_orders ORDER BY id")) {
          const problem = orderProblem(row.uuid, row.kind, row.record, readOrder);
          if (problem !== null) add(problem);
        }
      },
      db,
    );
  } finally {
    db.close();
  }
  return { problems, version, swaps: swaps.n, openSwaps: open.n };
}

/** Null for an order the node can read. */
export function orderProblem(uuid: unknown, kind: unknown, record: unknown, readOrder: ReadOrder): string | null {
  if (typeof uuid !== "string" || typeof record !== "string" || (kind !== "Maker" && kind !== "Taker"))
    return `order ${String(uuid)}: its row is not one of an order`;
  try {
    readOrder({ uuid, kind, record });
    return null;
  } catch (error) {
    return `order ${uuid}: ${reasonOf(error)}`;
  }
}
