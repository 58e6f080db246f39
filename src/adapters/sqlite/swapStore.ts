import type { StoredEvent } from "../../core/swap/events.ts";
import type { KeptSwap } from "../../core/swap/kdfStatus.ts";
import { type SqlDatabase, type SqlRow, type SqlStatement, type SqlValue, StorageError } from "../../ports/sql.ts";
import type { EndedElsewhere, ListedSwap, SwapStore, SwapSummary, UniqueMark } from "../../ports/swapStore.ts";
import type { ComponentSchema } from "./migrations.ts";
import { eventToText, parseEventText } from "./storedEvent.ts";
import { SwapIndex } from "./swapIndex.ts";

/** Tables of the swap log. `swap_events.event` is the text of a `StoredEvent`; the log decides, the columns of `swaps` only find it. */
export const SWAP_SCHEMA: ComponentSchema = {
  component: "swaps",
  migrations: [
    {
      version: 1,
      name: "swap log",
      sql: [
        `CREATE TABLE swaps (
          id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, role TEXT NOT NULL, my_coin TEXT NOT NULL, other_coin TEXT NOT NULL,
          started_at INTEGER NOT NULL, finished INTEGER NOT NULL DEFAULT 0, settled INTEGER NOT NULL DEFAULT 0
        ) STRICT`,
        "CREATE INDEX swaps_by_start ON swaps (started_at DESC, id DESC)",
        "CREATE INDEX swaps_unsettled ON swaps (settled) WHERE settled = 0",
        "CREATE TABLE swap_events (uuid TEXT NOT NULL, seq INTEGER NOT NULL, event TEXT NOT NULL, PRIMARY KEY (uuid, seq)) STRICT, WITHOUT ROWID",
        "CREATE TABLE swap_marks (kind TEXT NOT NULL, value TEXT NOT NULL, uuid TEXT NOT NULL, PRIMARY KEY (kind, value)) STRICT, WITHOUT ROWID",
      ],
    },
    {
      version: 2,
      name: "swaps that ended elsewhere",
      sql: ["CREATE TABLE ended_elsewhere (uuid TEXT NOT NULL PRIMARY KEY, swap TEXT NOT NULL) STRICT, WITHOUT ROWID"],
    },
  ],
};

function insertEvent(uuid: string, seq: number, event: StoredEvent): SqlStatement {
  return { sql: "INSERT INTO swap_events (uuid, seq, event) VALUES (?, ?, ?)", params: [uuid, seq, eventToText(event)] };
}

/** A swap that nobody could take up again must not begin: money would be locked in it. What others asked for is in its first event. */
function refuseUnreadable(uuid: string, first: StoredEvent): void {
  const read = parseEventText(eventToText(first));
  if (!read.ok) throw new StorageError("Limit", `swap ${uuid} cannot be recorded: ${read.error.detail}`);
}

/** Statements that fail where another swap has the mark; the swap's own stays as it is. */
function insertMarks(uuid: string, marks: readonly UniqueMark[]): readonly SqlStatement[] {
  return marks.map((m) => ({
    sql: "INSERT INTO swap_marks (kind, value, uuid) SELECT ?1, ?2, ?3 WHERE NOT EXISTS (SELECT 1 FROM swap_marks WHERE kind = ?1 AND value = ?2 AND uuid = ?3)",
    params: [m.kind, m.value, uuid],
  }));
}

/** A swap that comes from elsewhere, at the end of its story or not. Its marks may be taken: what KDF has done is done. */
function takenOver(s: SwapSummary, marks: readonly UniqueMark[]): readonly SqlStatement[] {
  return [
    {
      sql: "INSERT INTO swaps (uuid, role, my_coin, other_coin, started_at, finished, settled) VALUES (?, ?, ?, ?, ?, ?, ?)",
      params: [s.uuid, s.role, s.myCoin, s.otherCoin, s.startedAt, Number(s.finished), Number(s.finished)],
    },
    ...marks.map((m) => ({
      sql: "INSERT OR IGNORE INTO swap_marks (kind, value, uuid) VALUES (?, ?, ?)",
      params: [m.kind, m.value, s.uuid],
    })),
  ];
}

/** Statements that store a swap that ended elsewhere. */
export const endedStatements = ({ summary, kept, marks }: EndedElsewhere): readonly SqlStatement[] => [
  ...takenOver({ ...summary, finished: true }, marks),
  { sql: "INSERT INTO ended_elsewhere (uuid, swap) VALUES (?, ?)", params: [summary.uuid, JSON.stringify(kept)] },
];

/** Statements that store a swap another program began, to be taken up at the next start. */
export const takenOverStatements = (s: SwapSummary, log: readonly StoredEvent[], marks: readonly UniqueMark[]): readonly SqlStatement[] => [
  ...takenOver({ ...s, finished: false }, marks),
  ...log.map((event, seq) => insertEvent(s.uuid, seq, event)),
];

/**
 * Statements that put the log of an open swap in the place of what was stored when it was taken for one that is over. Not while a node
 * runs: it reads what lists and filters ask for once.
 */
export const reopenedStatements = (s: SwapSummary, log: readonly StoredEvent[], marks: readonly UniqueMark[]): readonly SqlStatement[] => [
  { sql: "DELETE FROM ended_elsewhere WHERE uuid = ?", params: [s.uuid] },
  { sql: "DELETE FROM swaps WHERE uuid = ?", params: [s.uuid] },
  ...takenOverStatements(s, log, marks),
];

const text = (v: SqlValue | undefined): string => {
  if (typeof v !== "string") throw new StorageError("Corrupt", "swap store: a text column holds something else");
  return v;
};

function rowToListed(row: SqlRow): ListedSwap {
  return {
    uuid: text(row.uuid),
    myCoin: text(row.my_coin),
    otherCoin: text(row.other_coin),
    startedAt: Number(row.started_at),
    finished: Number(row.finished) === 1,
  };
}

/** The events of one swap, none missing and none changed: what cannot be trusted stops here instead of being folded wrongly. */
function rowsToLog(uuid: string, rows: readonly SqlRow[]): StoredEvent[] {
  const damaged = (seq: number, detail: string): StorageError =>
    new StorageError("Corrupt", `the stored record of swap ${uuid} is damaged at event ${seq}: ${detail}`);
  return rows.map((row, seq) => {
    if (row.seq !== seq) throw damaged(seq, "it is missing");
    const parsed = parseEventText(text(row.event));
    if (!parsed.ok) throw damaged(seq, parsed.error.detail);
    const { event } = parsed.value;
    if ("terms" in event && event.terms.uuid !== uuid) throw damaged(seq, `it is of swap ${event.terms.uuid}`);
    return parsed.value;
  });
}

/** Rows of `swaps` read at a time: swaps never leave, and one answer of the database is bounded. */
const PAGE_ROWS = 20_000;

/** Rows of `swaps` under a condition, oldest first, however many there are. @param columns with `id` */
async function readSwaps(db: SqlDatabase, columns: string, condition = "true"): Promise<readonly SqlRow[]> {
  const pages: (readonly SqlRow[])[] = [];
  const sql = `SELECT ${columns} FROM swaps WHERE id > ? AND (${condition}) ORDER BY id LIMIT ?`;
  for (let after: SqlValue = 0; ; ) {
    const page: readonly SqlRow[] = await db.read(sql, [after, PAGE_ROWS]);
    pages.push(page);
    if (page.length < PAGE_ROWS) return pages.flat();
    after = page.at(-1)?.id ?? null;
  }
}

/** The swap log over SQLite. One write = one transaction. */
export function createSwapStore(db: SqlDatabase): SwapStore {
  const index = new SwapIndex(db);
  /** A failure may have stored them all the same. */
  const addSwaps = (batch: readonly SqlStatement[]): Promise<void> => db.write(batch, { isNew: true }).finally(() => index.rowsAdded());
  return {
    async create(s, first, marks) {
      refuseUnreadable(s.uuid, first);
      await addSwaps([
        {
          sql: "INSERT INTO swaps (uuid, role, my_coin, other_coin, started_at) VALUES (?, ?, ?, ?, ?)",
          params: [s.uuid, s.role, s.myCoin, s.otherCoin, s.startedAt],
        },
        insertEvent(s.uuid, 0, first),
        ...insertMarks(s.uuid, marks),
      ]);
    },
    append: (uuid, seq, event, marks) =>
      db.write([
        insertEvent(uuid, seq, event),
        ...insertMarks(uuid, marks),
        ...(event.event.type === "finished" ? [{ sql: "UPDATE swaps SET finished = 1 WHERE uuid = ?", params: [uuid] }] : []),
      ]),
    markSettled: (uuid) => db.write([{ sql: "UPDATE swaps SET settled = 1 WHERE uuid = ?", params: [uuid] }]),
    addEnded: (swaps) => addSwaps(swaps.flatMap(endedStatements)),
    async endedElsewhere(uuid) {
      const [row] = await db.read("SELECT swap FROM ended_elsewhere WHERE uuid = ?", [uuid]);
      // Our own text, of what was checked before it was stored.
      return row ? (JSON.parse(text(row.swap)) as KeptSwap) : null;
    },
    log: async (uuid) => rowsToLog(uuid, await db.read("SELECT seq, event FROM swap_events WHERE uuid = ? ORDER BY seq", [uuid])),
    has: async (uuid) => (await db.read("SELECT 1 FROM swaps WHERE uuid = ?", [uuid])).length > 0,
    allUuids: async () => (await readSwaps(db, "id, uuid")).map((r) => text(r.uuid)),
    isMarked: async (mark) => (await db.read("SELECT 1 FROM swap_marks WHERE kind = ? AND value = ?", [mark.kind, mark.value])).length > 0,
    // Both marks, so that one of them damaged hides no swap that is open.
    unsettled: async () => (await readSwaps(db, "*", "settled <> 1 OR finished <> 1")).map(rowToListed),
    page: (filter, start, limit) => index.page(filter, start, limit),
  };
}
