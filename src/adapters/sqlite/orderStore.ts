import { div, mul, ONE, type Rational, toDecimalString } from "../../core/money/rational.ts";
import { assertNever } from "../../core/util/result.ts";
import type { HistoryFilter, HistoryRow, OrderChange, OrderRecord, OrderStore, StoredOrder } from "../../ports/orderStore.ts";
import { type SqlDatabase, type SqlRow, type SqlStatement, type SqlValue, StorageError } from "../../ports/sql.ts";
import type { ComponentSchema } from "./migrations.ts";

/**
 * `my_orders` has KDF's columns and meanings, for tools that read KDF's database (reference rpc.md 6.8). The other
 * tables are ours: live orders, last states of ended ones, and every taker uuid a swap was agreed under.
 */
export const ORDER_SCHEMA: ComponentSchema = {
  component: "orders",
  migrations: [
    {
      version: 1,
      name: "orders, their history and agreed swaps",
      sql: [
        `CREATE TABLE my_orders (
          id INTEGER NOT NULL PRIMARY KEY,
          uuid VARCHAR(255) NOT NULL UNIQUE,
          type VARCHAR(255) NOT NULL,
          initial_action VARCHAR(255) NOT NULL,
          base VARCHAR(255) NOT NULL,
          rel VARCHAR(255) NOT NULL,
          price DECIMAL NOT NULL,
          volume DECIMAL NOT NULL,
          created_at INTEGER NOT NULL,
          last_updated INTEGER NOT NULL,
          was_taker INTEGER NOT NULL,
          status VARCHAR(255) NOT NULL
        )`,
        `CREATE TABLE live_orders (
          id INTEGER NOT NULL PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, record TEXT NOT NULL
        ) STRICT`,
        "CREATE TABLE ended_orders (uuid TEXT NOT NULL PRIMARY KEY, kind TEXT NOT NULL, record TEXT NOT NULL) STRICT, WITHOUT ROWID",
        `CREATE TABLE agreed_swaps (
          taker_uuid TEXT NOT NULL PRIMARY KEY, maker_uuid TEXT NOT NULL, agreed_at INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID`,
      ],
    },
    {
      version: 2,
      name: "the history by time, coin and status",
      sql: [
        "CREATE INDEX my_orders_created ON my_orders (created_at)",
        "CREATE INDEX my_orders_base ON my_orders (base, created_at)",
        "CREATE INDEX my_orders_rel ON my_orders (rel, created_at)",
        "CREATE INDEX my_orders_status ON my_orders (status, created_at)",
      ],
    },
    {
      version: 3,
      name: "orders that began elsewhere",
      sql: ["CREATE TABLE orders_from_elsewhere (uuid TEXT NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID"],
    },
  ],
};

function toStatement(c: OrderChange): SqlStatement {
  switch (c.change) {
    case "put":
      return {
        sql: `INSERT INTO live_orders (uuid, kind, record) VALUES (?, ?, ?)
          ON CONFLICT (uuid) DO UPDATE SET kind = excluded.kind, record = excluded.record`,
        params: [c.order.uuid, c.order.kind, c.order.record],
      };
    case "remove":
      return { sql: "DELETE FROM live_orders WHERE uuid = ?", params: [c.uuid] };
    case "historyRow": {
      const { uuid, kind, initialAction, base, rel, price, volume, createdAtMs } = c.row;
      return {
        sql: `INSERT INTO my_orders
          (uuid, type, initial_action, base, rel, price, volume, created_at, last_updated, was_taker, status)
          VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 'Created')`,
        params: [uuid, kind, initialAction, base, rel, toDecimalString(price), toDecimalString(volume), createdAtMs, createdAtMs],
      };
    }
    case "status":
      return { sql: "UPDATE my_orders SET status = ?, last_updated = ? WHERE uuid = ?", params: [c.status, c.atMs, c.uuid] };
    case "updatedTerms": {
      // A row keeps the coins as they were first asked for: that of a buy has the maker order's the other way round.
      const numbers = [div(ONE, c.price), c.price, mul(c.volume, c.price), c.volume];
      return {
        sql: `UPDATE my_orders SET price = iif(initial_action = 'Buy', ?, ?), volume = iif(initial_action = 'Buy', ?, ?),
          status = 'Updated', last_updated = ? WHERE uuid = ?`,
        params: [...numbers.map(toDecimalString), c.atMs, c.uuid],
      };
    }
    case "becameMaker":
      return { sql: "UPDATE my_orders SET type = 'Maker', was_taker = 1, last_updated = ? WHERE uuid = ?", params: [c.atMs, c.uuid] };
    case "ended":
      return {
        sql: `INSERT INTO ended_orders (uuid, kind, record) VALUES (?, ?, ?)
          ON CONFLICT (uuid) DO UPDATE SET kind = excluded.kind, record = excluded.record`,
        params: [c.order.uuid, c.order.kind, c.order.record],
      };
    case "swapAgreed":
      return {
        sql: "INSERT INTO agreed_swaps (taker_uuid, maker_uuid, agreed_at) VALUES (?, ?, ?)",
        params: [c.takerUuid, c.makerUuid, c.atMs],
      };
    default:
      return assertNever(c);
  }
}

/** A row of KDF's own history of orders, as KDF has it: its numbers are kept as they are. One that is there stays. */
export type KdfOrderRow = {
  readonly uuid: string;
  readonly type: string;
  readonly initialAction: string;
  readonly base: string;
  readonly rel: string;
  readonly price: SqlValue;
  readonly volume: SqlValue;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly wasTaker: number;
  readonly status: string;
};

/** Statements that store orders of KDF: rows of its history, ended ones and open ones. What is there already stays. */
export function kdfOrderStatements(
  rows: readonly KdfOrderRow[],
  ended: readonly OrderRecord[],
  open: readonly OrderRecord[],
): readonly SqlStatement[] {
  const record =
    (table: string) =>
    (o: OrderRecord): SqlStatement => ({
      sql: `INSERT OR IGNORE INTO ${table} (uuid, kind, record) VALUES (?, ?, ?)`,
      params: [o.uuid, o.kind, o.record],
    });
  return [
    ...rows.map((r) => ({
      sql: `INSERT OR IGNORE INTO my_orders
        (uuid, type, initial_action, base, rel, price, volume, created_at, last_updated, was_taker, status)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      params: [
        ...[r.uuid, r.type, r.initialAction, r.base, r.rel, r.price, r.volume],
        ...[r.createdAtMs, r.updatedAtMs, r.wasTaker, r.status],
      ],
    })),
    ...ended.map(record("ended_orders")),
    ...open.map(record("live_orders")),
    // Known for ever: one that leaves no row in the history must not come back when it has ended here.
    ...open.map(({ uuid }) => ({ sql: "INSERT OR IGNORE INTO orders_from_elsewhere (uuid) VALUES (?)", params: [uuid] })),
  ];
}

function text(row: SqlRow, column: string): string {
  const value = row[column];
  if (typeof value === "string") return value;
  throw new StorageError("Corrupt", `orders: ${column} is not text`);
}

const toStored = (row: SqlRow): StoredOrder => ({ uuid: text(row, "uuid"), kind: text(row, "kind"), record: text(row, "record") });

/** A filter as conditions; bounds are compared as the numbers the columns hold. */
function conditionsOf(f: HistoryFilter): { readonly where: string; readonly params: readonly SqlValue[] } {
  const bound = (sql: string, value: SqlValue | undefined) => (value === undefined ? [] : [{ sql, value }]);
  const amount = (value: Rational | undefined): string | undefined => value && toDecimalString(value);
  const conditions = [
    ...bound("base = ?", f.base),
    ...bound("rel = ?", f.rel),
    ...bound("status = ?", f.status),
    ...bound("type = ?", f.kind),
    ...bound("initial_action = ?", f.initialAction),
    ...bound("was_taker = ?", f.wasTaker === undefined ? undefined : Number(f.wasTaker)),
    ...bound("price >= ?", amount(f.fromPrice)),
    ...bound("price <= ?", amount(f.toPrice)),
    ...bound("volume >= ?", amount(f.fromVolume)),
    ...bound("volume <= ?", amount(f.toVolume)),
    ...bound("created_at >= ?", f.fromMs),
    ...bound("created_at <= ?", f.toMs),
  ];
  return {
    where: conditions.length > 0 ? `WHERE ${conditions.map(({ sql }) => sql).join(" AND ")}` : "",
    params: conditions.map(({ value }) => value),
  };
}

/** Rows come as one text: ten thousand objects take longer to hand over between threads than to find. */
const HISTORY_COLUMNS = "uuid, type, initial_action, base, rel, price, volume, created_at, last_updated, was_taker, status";
type HistoryTuple = readonly [string, string, string, string, string, number, number, number, number, number, string];

function toHistoryRow(t: HistoryTuple): HistoryRow {
  const [uuid, kind, initialAction, base, rel, price, volume, createdAtMs, updatedAtMs, wasTaker, status] = t;
  return { uuid, kind, initialAction, base, rel, price, volume, createdAtMs, updatedAtMs, wasTaker: wasTaker !== 0, status };
}

/** The columns' declared types and NOT NULL vouch for the tuples. */
const toHistoryRows = (rows: string): readonly HistoryRow[] => (JSON.parse(rows) as readonly HistoryTuple[]).map(toHistoryRow);

/** A swap that is agreed on is refused itself where there is no room for new things. */
const isNew = (c: OrderChange): boolean => c.change === "swapAgreed" || (c.change === "put" && c.isNew === true);

export function createOrderStore(db: SqlDatabase): OrderStore {
  return {
    apply: (changes) => db.write(changes.map(toStatement), { isNew: changes.some(isNew) }),
    async live() {
      const rows = await db.read("SELECT uuid, kind, record FROM live_orders ORDER BY id");
      return rows.map(toStored);
    },
    async ended(uuid) {
      const [row] = await db.read(
        "SELECT e.uuid, e.kind, e.record, m.status FROM ended_orders e JOIN my_orders m ON m.uuid = e.uuid WHERE e.uuid = ?",
        [uuid],
      );
      return row ? { order: toStored(row), status: text(row, "status") } : null;
    },
    async history(filter, limit) {
      const { where, params } = conditionsOf(filter);
      const rows = `SELECT * FROM my_orders ${where} ORDER BY created_at DESC, id DESC LIMIT ?`;
      const [row] = await db.read(`SELECT json_group_array(json_array(${HISTORY_COLUMNS})) AS rows FROM (${rows})`, [...params, limit]);
      return row ? toHistoryRows(text(row, "rows")) : [];
    },
    async endedOrders(uuids) {
      const sql = "SELECT uuid, kind, record FROM ended_orders WHERE uuid IN (SELECT value FROM json_each(?))";
      return (await db.read(sql, [JSON.stringify(uuids)])).map(toStored);
    },
    async swapAgreed(takerUuid) {
      const rows = await db.read("SELECT 1 FROM agreed_swaps WHERE taker_uuid = ?", [takerUuid]);
      return rows.length > 0;
    },
  };
}
