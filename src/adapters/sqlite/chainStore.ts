import { fromHex } from "../../core/util/bytes.ts";
import type { BlockRef } from "../../ports/chain.ts";
import type {
  ChainDelta,
  ChainSnapshot,
  ChainStore,
  SpentOutput,
  StoredHeader,
  StoredOutput,
  StoredSpend,
  StoredTx,
  StoredWatch,
} from "../../ports/chainStore.ts";
import type { SqlDatabase, SqlRow, SqlStatement, SqlValue } from "../../ports/sql.ts";
import { deltaToStatements } from "./chainStoreStatements.ts";
import type { ComponentSchema } from "./migrations.ts";

/** Rows read at a time; well below the engine's bound on one answer. */
const PAGE_ROWS = 20_000;

/** Hashes, txids and scripts are lower-case hex text; `value` is base units (below 2^63 on every supported chain). */
export const CHAIN_SCHEMA: ComponentSchema = {
  component: "chain",
  migrations: [
    {
      version: 1,
      name: "block index per coin",
      sql: [
        `CREATE TABLE chain_meta (ticker TEXT NOT NULL PRIMARY KEY, genesis TEXT NOT NULL) STRICT, WITHOUT ROWID`,
        `CREATE TABLE chain_header (
          ticker TEXT NOT NULL, height INTEGER NOT NULL, hash TEXT NOT NULL, prev_hash TEXT NOT NULL, time_sec INTEGER NOT NULL,
          PRIMARY KEY (ticker, height)) STRICT, WITHOUT ROWID`,
        `CREATE TABLE chain_watch (
          ticker TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, from_height INTEGER NOT NULL, next_height INTEGER,
          PRIMARY KEY (ticker, kind, key)) STRICT, WITHOUT ROWID`,
        `CREATE TABLE chain_tx (
          ticker TEXT NOT NULL, txid TEXT NOT NULL, raw BLOB, height INTEGER, block_hash TEXT, seen_at_ms INTEGER NOT NULL,
          PRIMARY KEY (ticker, txid)) STRICT`,
        `CREATE INDEX chain_tx_by_height ON chain_tx (ticker, height)`,
        `CREATE TABLE chain_output (
          ticker TEXT NOT NULL, txid TEXT NOT NULL, vout INTEGER NOT NULL, value INTEGER NOT NULL, script TEXT NOT NULL,
          coinbase INTEGER NOT NULL, PRIMARY KEY (ticker, txid, vout)) STRICT`,
        `CREATE INDEX chain_output_by_script ON chain_output (ticker, script)`,
        `CREATE TABLE chain_spend (
          ticker TEXT NOT NULL, txid TEXT NOT NULL, vout INTEGER NOT NULL, spender TEXT NOT NULL,
          PRIMARY KEY (ticker, txid, vout, spender)) STRICT, WITHOUT ROWID`,
        `CREATE INDEX chain_spend_by_spender ON chain_spend (ticker, spender)`,
      ],
    },
    {
      version: 2,
      name: "indexes that rest on what servers told",
      sql: [
        `CREATE TABLE chain_told (ticker TEXT NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID`,
        // Nobody knows of what is stored who told it.
        `INSERT INTO chain_told (ticker) SELECT DISTINCT ticker FROM chain_watch`,
      ],
    },
    {
      version: 3,
      name: "what is read again that servers told",
      sql: [`ALTER TABLE chain_watch ADD COLUMN was_told INTEGER NOT NULL DEFAULT 0`],
    },
  ],
};

const text = (row: SqlRow, column: string): string => {
  const value = row[column];
  if (typeof value !== "string") throw new Error(`chain store: ${column} is not text`);
  return value;
};

const int = (row: SqlRow, column: string): number => {
  const value = row[column];
  if (typeof value !== "number") throw new Error(`chain store: ${column} is not a safe integer`);
  return value;
};

const intOrNull = (row: SqlRow, column: string): number | null => (row[column] === null ? null : int(row, column));

function blockOf(row: SqlRow): BlockRef | null {
  const height = intOrNull(row, "height");
  return height === null ? null : { height, hash: text(row, "block_hash") };
}

function rowToTx(row: SqlRow): StoredTx {
  const raw = row.raw;
  return {
    txid: text(row, "txid"),
    raw: raw instanceof Uint8Array ? raw : null,
    block: blockOf(row),
    seenAtMs: int(row, "seen_at_ms"),
  };
}

function rowToOutput(row: SqlRow): StoredOutput {
  const value = row.value;
  if (typeof value !== "number" && typeof value !== "bigint") throw new Error("chain store: value is not an integer");
  return {
    txid: text(row, "txid"),
    vout: int(row, "vout"),
    value: BigInt(value),
    script: fromHex(text(row, "script")),
    coinbase: int(row, "coinbase") !== 0,
  };
}

const rowToSpend = (row: SqlRow): StoredSpend => ({ txid: text(row, "txid"), vout: int(row, "vout"), spender: text(row, "spender") });

const rowToHeader = (row: SqlRow): StoredHeader => ({
  height: int(row, "height"),
  hash: text(row, "hash"),
  prevHash: text(row, "prev_hash"),
  timeSec: int(row, "time_sec"),
});

function rowToWatch(row: SqlRow): StoredWatch {
  const kind = text(row, "kind");
  if (kind !== "script" && kind !== "tx") throw new Error(`chain store: unknown kind of watch ${kind}`);
  const watch = { kind, key: text(row, "key"), fromHeight: int(row, "from_height"), nextHeight: intOrNull(row, "next_height") } as const;
  return int(row, "was_told") === 0 ? watch : { ...watch, wasTold: true };
}

/** The first block of a coin's chain, by which it is told from others; null: it was not seen yet. */
export async function firstBlockOf(db: SqlDatabase, ticker: string): Promise<string | null> {
  const [meta] = await db.read("SELECT genesis FROM chain_meta WHERE ticker = ?", [ticker]);
  return meta === undefined ? null : text(meta, "genesis");
}

/** Reads the rows of one coin page by page; `order` lists the key columns of their table. */
async function readAll<T>(db: SqlDatabase, ticker: string, sql: string, order: readonly string[], parse: (row: SqlRow) => T): Promise<T[]> {
  const rows: T[] = [];
  const after = `(${order.join(", ")}) > (${order.map(() => "?").join(", ")})`;
  const tail = `ORDER BY ${order.join(", ")} LIMIT ${PAGE_ROWS}`;
  let page = await db.read(`${sql} ${tail}`, [ticker]);
  while (page.length > 0) {
    for (const row of page) rows.push(parse(row));
    const last = page.at(-1);
    if (page.length < PAGE_ROWS || last === undefined) break;
    page = await db.read(`${sql} AND ${after} ${tail}`, [ticker, ...order.map((column): SqlValue => last[column] ?? null)]);
  }
  return rows;
}

/** What is watched of one coin. */
export const loadWatches = (db: SqlDatabase, ticker: string): Promise<StoredWatch[]> =>
  readAll(
    db,
    ticker,
    "SELECT kind, key, from_height, next_height, was_told FROM chain_watch WHERE ticker = ?",
    ["kind", "key"],
    rowToWatch,
  );

/** The index of one coin in the node's database. Tables: `CHAIN_SCHEMA`, shared by all coins, rows apart by ticker. */
export function openChainStore(db: SqlDatabase, ticker: string): ChainStore {
  const all = <T>(sql: string, order: readonly string[], parse: (row: SqlRow) => T): Promise<T[]> => readAll(db, ticker, sql, order, parse);
  return {
    async load(): Promise<ChainSnapshot> {
      return {
        genesis: await firstBlockOf(db, ticker),
        isTold: (await db.read("SELECT 1 FROM chain_told WHERE ticker = ?", [ticker])).length > 0,
        headers: await all("SELECT height, hash, prev_hash, time_sec FROM chain_header WHERE ticker = ?", ["height"], rowToHeader),
        watches: await loadWatches(db, ticker),
        txs: await all("SELECT txid, raw, height, block_hash, seen_at_ms FROM chain_tx WHERE ticker = ?", ["txid"], rowToTx),
        outputs: await all("SELECT txid, vout, value, script, coinbase FROM chain_output WHERE ticker = ?", ["txid", "vout"], rowToOutput),
        spends: await all("SELECT txid, vout, spender FROM chain_spend WHERE ticker = ?", ["txid", "vout", "spender"], rowToSpend),
      };
    },

    async setGenesis(hash: string): Promise<void> {
      await db.write([{ sql: "INSERT OR REPLACE INTO chain_meta (ticker, genesis) VALUES (?, ?)", params: [ticker, hash] }]);
    },

    async commit(delta: ChainDelta): Promise<void> {
      const batch: SqlStatement[] = deltaToStatements(ticker, delta);
      if (batch.length > 0) await db.write(batch);
    },

    async history(scripts: readonly string[], limit: number): Promise<readonly string[]> {
      const wanted = JSON.stringify(scripts);
      // Unconfirmed transactions sort above every height.
      const rows = await db.read(
        `SELECT t.txid AS txid FROM chain_tx t WHERE t.ticker = ? AND t.raw IS NOT NULL AND t.txid IN (
           SELECT o.txid FROM chain_output o WHERE o.ticker = ? AND o.script IN (SELECT value FROM json_each(?))
           UNION
           SELECT s.spender FROM chain_spend s JOIN chain_output o ON o.ticker = s.ticker AND o.txid = s.txid AND o.vout = s.vout
           WHERE s.ticker = ? AND o.script IN (SELECT value FROM json_each(?)))
         ORDER BY coalesce(t.height, 9007199254740991) DESC, t.txid DESC LIMIT ?`,
        [ticker, ticker, wanted, ticker, wanted, limit],
      );
      return rows.map((row) => text(row, "txid"));
    },

    async storedTxs(txids: readonly string[]): Promise<readonly StoredTx[]> {
      const rows = await db.read(
        `SELECT txid, raw, height, block_hash, seen_at_ms FROM chain_tx WHERE ticker = ? AND txid IN (SELECT value FROM json_each(?))`,
        [ticker, JSON.stringify(txids)],
      );
      return rows.map(rowToTx);
    },

    async spentIn(txids: readonly string[]): Promise<readonly SpentOutput[]> {
      const rows = await db.read(
        `SELECT s.txid AS txid, s.vout AS vout, t.height AS height
         FROM chain_spend s JOIN chain_tx t ON t.ticker = s.ticker AND t.txid = s.spender
         WHERE s.ticker = ? AND s.txid IN (SELECT value FROM json_each(?)) AND t.height IS NOT NULL`,
        [ticker, JSON.stringify(txids)],
      );
      return rows.map((row) => ({ txid: text(row, "txid"), vout: int(row, "vout"), height: int(row, "height") }));
    },

    async spentOutputs(scripts: readonly string[], spenders: readonly string[]): Promise<readonly StoredOutput[]> {
      const rows = await db.read(
        `SELECT o.txid AS txid, o.vout AS vout, o.value AS value, o.script AS script, o.coinbase AS coinbase
         FROM chain_spend s JOIN chain_output o ON o.ticker = s.ticker AND o.txid = s.txid AND o.vout = s.vout
         WHERE s.ticker = ? AND s.spender IN (SELECT value FROM json_each(?)) AND o.script IN (SELECT value FROM json_each(?))`,
        [ticker, JSON.stringify(spenders), JSON.stringify(scripts)],
      );
      return rows.map(rowToOutput);
    },
  };
}
