import { hash } from "node:crypto";
import type { KeptSwap } from "../../core/swap/kdfStatus.ts";
import { ShownSwap } from "../../core/swap/shownSwap.ts";
import type { SqlDatabase } from "../../ports/sql.ts";
import type { SwapView, SwapViews } from "../../ports/swapViews.ts";
import type { ComponentSchema } from "./migrations.ts";

/** Nothing here is of any worth by itself: a repair leaves it behind, and any row may be deleted. */
export const SWAP_VIEW_SCHEMA: ComponentSchema = {
  component: "swap_views",
  migrations: [
    {
      version: 1,
      name: "statuses of settled swaps",
      sql: [
        "CREATE TABLE swap_views (uuid TEXT NOT NULL PRIMARY KEY, made_by TEXT NOT NULL, log_end TEXT NOT NULL, status TEXT NOT NULL, sum TEXT NOT NULL) STRICT",
      ],
    },
  ],
};

/** Tells one log from what it was before: number and check sum of its last event. The sum is 16 characters before `"}`. */
const LOG_END = "seq || ':' || substr(event, -18, 16)";

const READ = `SELECT asked.value AS uuid, v.status, v.sum, e.swap AS kept FROM json_each(?1) asked
  LEFT JOIN swap_views v ON v.uuid = asked.value AND v.made_by = ?2
    AND v.log_end = (SELECT ${LOG_END} FROM swap_events WHERE uuid = asked.value ORDER BY seq DESC LIMIT 1)
  LEFT JOIN ended_elsewhere e ON e.uuid = asked.value`;

/** Reads no status: the columns it compares stand in front of that. */
const MISSING = `SELECT s.uuid, s.settled = 1 AND s.log_end IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM swap_views v WHERE v.uuid = s.uuid AND v.made_by = ?3 AND v.log_end = s.log_end) AS missing
  FROM (SELECT uuid, settled, (SELECT ${LOG_END} FROM swap_events WHERE uuid = swaps.uuid ORDER BY seq DESC LIMIT 1) AS log_end
    FROM swaps ORDER BY started_at DESC, id DESC LIMIT ?2 OFFSET ?1) s`;

const KEEP = `INSERT OR REPLACE INTO swap_views (uuid, made_by, log_end, status, sum)
  SELECT uuid, ?2, ${LOG_END}, ?3, ?4 FROM swap_events WHERE uuid = ?1 AND seq = ?5`;

const sumOf = (status: string): string => hash("sha256", status, "hex");

function viewOf(uuid: string, status: unknown, sum: unknown): SwapView | null {
  if (typeof status !== "string" || sumOf(status) !== sum) return null;
  const shown = ShownSwap.ofKept(uuid, status);
  return shown && { status: shown };
}

/**
 * @param madeBy program and form of the statuses: what another one made is not shown, and is replaced when it is asked for
 */
export function createSwapViews(db: SqlDatabase, madeBy: string): SwapViews {
  return {
    async read(uuids) {
      const found = new Map<string, SwapView>();
      if (uuids.length === 0) return found;
      for (const row of await db.read(READ, [JSON.stringify(uuids), madeBy])) {
        const uuid = String(row.uuid);
        const view = typeof row.kept === "string" ? { kept: JSON.parse(row.kept) as KeptSwap } : viewOf(uuid, row.status, row.sum);
        if (view) found.set(uuid, view);
      }
      return found;
    },
    async missing(skip, limit) {
      const rows = await db.read(MISSING, [skip, limit, madeBy]);
      return { looked: rows.length, uuids: rows.flatMap((row) => (row.missing === 1 ? [String(row.uuid)] : [])) };
    },
    keep: (made) =>
      db.write(
        made.flatMap(({ uuid, events, status }) => {
          const text = status.toKept(uuid);
          return text === null ? [] : [{ sql: KEEP, params: [uuid, madeBy, text, sumOf(text), events - 1] }];
        }),
        // They can be made anew: the room that is kept for what has begun is not for them.
        { isNew: true },
      ),
  };
}
