import { copyFileSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { decimal } from "../../src/core/money/rational.ts";
import { toRationalValue } from "../../src/core/money/rationalValue.ts";
import { MAKER_ERROR_EVENTS, MAKER_SUCCESS_EVENTS, TAKER_ERROR_EVENTS, TAKER_SUCCESS_EVENTS } from "../../src/core/swap/kdfEventNames.ts";
import { fromHex, toHex } from "../../src/core/util/bytes.ts";
import { hash160 } from "../../src/core/utxo/hash.ts";

/** A folder as KDF leaves it, made by hand from reference rpc.md 2.5, 6.8 and 7. */

export const uuidOf = (n: number): string => `aa2e902d-a810-4d81-aecb-${String(n).padStart(12, "0")}`;
const KEY = "024d4b6cd1361032ca9bd2aeb9d900aa4d45d9ead80ac9423374c451a7254d0766";
export const SECRET = "5ec7e7".padEnd(64, "1");

export type KdfSwapOptions = {
  readonly role?: "Maker" | "Taker";
  readonly n?: number;
  readonly coins?: readonly [maker: string, taker: string];
  readonly startedAt?: number;
  /** Names after `Started`; their data is made up. */
  readonly events?: readonly string[];
  /** Own key, 66 hex. */
  readonly key?: string;
};
type Json = { [key: string]: unknown };

/** A swap file; its transactions are made up. */
export function kdfSwap(options: KdfSwapOptions = {}): Json & { uuid: string; events: { timestamp: number; event: Json }[] } {
  const {
    role = "Maker",
    n = 1,
    coins = ["DOC", "MARTY"],
    startedAt = 1_700_000_000,
    key = KEY,
    events = ["NegotiateFailed", "Finished"],
  } = options;
  const uuid = uuidOf(n);
  const tx = { tx_hex: "00", tx_hash: "ab".repeat(32) };
  const maker = role === "Maker";
  const secretHash = toHex(hash160(fromHex(SECRET)));
  const dataOf = (type: string): Json => {
    if (type === "Negotiated")
      return {
        data: {
          ...(maker
            ? { taker_payment_locktime: startedAt + 7_802, taker_pubkey: "0".repeat(66) }
            : { maker_payment_locktime: startedAt + 15_598, maker_pubkey: "0".repeat(66), secret_hash: secretHash }),
          ...{ maker_coin_swap_contract_addr: null, taker_coin_swap_contract_addr: null },
          ...{ maker_coin_htlc_pubkey: KEY, taker_coin_htlc_pubkey: KEY },
        },
      };
    if (type.endsWith("Failed")) return { data: { error: "as it went" } };
    if (/Sent$|Received$|Validated$|Spent$|Refunded$/.test(type) && !type.includes("Instructions"))
      return { data: type === "TakerPaymentSpent" && role === "Taker" ? { transaction: tx, secret: "cd".repeat(32) } : tx };
    if (type.endsWith("InstructionsReceived")) return { data: null };
    return type.endsWith("WaitRefundStarted") ? { data: { wait_until: startedAt + 20_000 } } : {};
  };
  const started = {
    taker_coin: coins[1],
    maker_coin: coins[0],
    ...(maker ? { taker: "77".repeat(32), secret: SECRET, secret_hash: secretHash } : { maker: "77".repeat(32) }),
    my_persistent_pub: key,
    lock_duration: 7_800,
    maker_amount: "2",
    taker_amount: "0.01",
    ...{
      maker_payment_confirmations: 1,
      maker_payment_requires_nota: false,
      taker_payment_confirmations: 1,
      taker_payment_requires_nota: false,
    },
    ...(maker ? { maker_payment_lock: startedAt + 15_600 } : { taker_payment_lock: startedAt + 7_800 }),
    uuid,
    started_at: startedAt,
    ...{
      maker_coin_start_block: 10,
      taker_coin_start_block: 20,
      maker_coin_htlc_pubkey: key,
      taker_coin_htlc_pubkey: key,
      p2p_privkey: null,
    },
  };
  const list = [{ type: "Started", data: started }, ...events.map((type) => ({ type, ...dataOf(type) }))];
  return {
    type: role,
    uuid,
    my_order_uuid: uuidOf(900 + n),
    events: list.map((event, i) => ({ timestamp: startedAt * 1_000 + i * 1_000, event })),
    ...{ maker_amount: "2", maker_coin: coins[0], maker_coin_usd_price: null },
    ...{ taker_amount: "0.01", taker_coin: coins[1], taker_coin_usd_price: "1.5" },
    ...{ gui: "a gui", mm_version: "2.5.1-beta" },
    success_events: maker ? MAKER_SUCCESS_EVENTS : TAKER_SUCCESS_EVENTS,
    error_events: maker ? MAKER_ERROR_EVENTS : TAKER_ERROR_EVENTS,
  };
}

const rat = (text: string) => toRationalValue(decimal(text));
const conf = { base_confs: 1, base_nota: false, rel_confs: 1, rel_nota: false };

/** A maker's order file; `matched`: volumes of matches, connected or not. */
export const kdfMaker = (n: number, change: Json = {}, matched: readonly (readonly [string, boolean])[] = []): Json => ({
  ...{ max_base_vol: rat("10"), min_base_vol: rat("0.5"), price: rat("0.25"), created_at: 1_700_000_000_000, updated_at: null },
  ...{ base: "DOC", rel: "MARTY", started_swaps: [], uuid: uuidOf(n), conf_settings: conf, save_in_history: true },
  matches: Object.fromEntries(
    matched.map(([volume, isConnected], i) => [
      uuidOf(500 + i),
      {
        request: {},
        reserved: { base_amount: rat(volume), rel_amount: rat("1") },
        ...{ connect: isConnected ? {} : null, connected: isConnected ? {} : null, last_updated: 1 },
      },
    ]),
  ),
  ...{ base_orderbook_ticker: null, rel_orderbook_ticker: null, p2p_privkey: null, timeout_in_minutes: null, swap_version: { version: 2 } },
  ...change,
});

/** A taker's order file. */
export const kdfTaker = (n: number, change: Json = {}): Json => ({
  created_at: 1_700_000_000_000,
  request: {
    ...{ base: "DOC", rel: "MARTY", base_amount: rat("1"), rel_amount: rat("0.25"), action: "Buy", uuid: uuidOf(n) },
    ...{ sender_pubkey: "11".repeat(32), dest_pub_key: "00".repeat(32), match_by: { type: "Any" }, conf_settings: conf },
  },
  ...{ matches: {}, min_volume: rat("0.1"), order_type: { type: "GoodTillCancelled" }, timeout: 30, save_in_history: true },
  ...{ base_orderbook_ticker: null, rel_orderbook_ticker: null, p2p_privkey: null },
  ...change,
});

export type KdfFolderContent = {
  readonly swaps?: readonly (Json & { uuid: string })[];
  readonly makers?: readonly Json[];
  readonly takers?: readonly Json[];
  readonly ended?: readonly { readonly type: "Maker" | "Taker"; readonly order: Json }[];
  /** Rows of the index beyond the files. */
  readonly indexed?: readonly { readonly uuid: string; readonly finished: number; readonly type: number }[];
  /** Unix seconds in a swap's lock. */
  readonly lock?: string;
};

const orderUuid = (order: Json): string => String(order.uuid ?? (order.request as Json).uuid);

/** A lock of a swap as KDF would have written it then: at the time it names, or long ago when it names none. */
export function writeLock(path: string, text: string): void {
  writeFileSync(path, text);
  const atSec = Number(text) || 1_700_000_000;
  utimesSync(path, atSec, atSec);
}

export function makeKdfFolder(root: string, content: KdfFolderContent = {}): void {
  const { swaps = [], makers = [], takers = [], ended = [], indexed = [], lock } = content;
  for (const sub of [
    "SWAPS/MY",
    "SWAPS/STATS/MAKER",
    "SWAPS/STATS/TAKER",
    "ORDERS/MY/MAKER",
    "ORDERS/MY/TAKER",
    "ORDERS/MY/HISTORY",
    "TX_CACHE",
  ])
    mkdirSync(join(root, sub), { recursive: true });
  const write = (path: string, json: unknown): void => writeFileSync(join(root, path), JSON.stringify(json));
  writeFileSync(join(root, ".migration"), Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0));
  for (const swap of swaps) write(`SWAPS/MY/${swap.uuid}.json`, swap);
  for (const order of makers) write(`ORDERS/MY/MAKER/${orderUuid(order)}.json`, order);
  for (const order of takers) write(`ORDERS/MY/TAKER/${orderUuid(order)}.json`, order);
  for (const one of ended) write(`ORDERS/MY/HISTORY/${orderUuid(one.order)}.json`, one);
  if (lock !== undefined) writeLock(join(root, "SWAPS/MY", `${uuidOf(1)}.lock`), lock);
  const building = join(root, "building.db");
  const db = new DatabaseSync(building);
  // As a crash leaves it: the newest is beside the file, and whoever opened it in its place would put it in.
  db.exec("PRAGMA journal_mode=WAL");
  db.exec(`CREATE TABLE my_swaps (id INTEGER NOT NULL PRIMARY KEY, my_coin VARCHAR(255) NOT NULL, other_coin VARCHAR(255) NOT NULL,
    uuid VARCHAR(255) NOT NULL UNIQUE, started_at INTEGER NOT NULL, is_finished BOOLEAN NOT NULL DEFAULT 0, swap_type INTEGER NOT NULL DEFAULT 0);
    CREATE TABLE my_orders (id INTEGER NOT NULL PRIMARY KEY, uuid VARCHAR(255) NOT NULL UNIQUE, type VARCHAR(255) NOT NULL,
    initial_action VARCHAR(255) NOT NULL, base VARCHAR(255) NOT NULL, rel VARCHAR(255) NOT NULL, price DECIMAL NOT NULL, volume DECIMAL NOT NULL,
    created_at INTEGER NOT NULL, last_updated INTEGER NOT NULL, was_taker INTEGER NOT NULL, status VARCHAR(255) NOT NULL)`);
  const swapRow = db.prepare(
    "INSERT INTO my_swaps (my_coin, other_coin, uuid, started_at, is_finished, swap_type) VALUES ('DOC', 'MARTY', ?, ?, ?, ?)",
  );
  for (const swap of swaps) {
    const events = swap.events as { event: Json }[];
    swapRow.run(swap.uuid, 1_700_000_000, Number(events.at(-1)?.event.type === "Finished"), 0);
  }
  for (const row of indexed) swapRow.run(row.uuid, 1_700_000_000, row.finished, row.type);
  const orderRow = db.prepare(
    "INSERT INTO my_orders VALUES (NULL, ?, ?, 'Sell', 'DOC', 'MARTY', '0.25', '10', 1700000000000, 1700000001000, 0, ?)",
  );
  for (const order of makers) if (order.save_in_history !== false) orderRow.run(orderUuid(order), "Maker", "Created");
  for (const order of takers) orderRow.run(orderUuid(order), "Taker", "Created");
  for (const one of ended) orderRow.run(orderUuid(one.order), one.type, "Cancelled");
  for (const end of ["", "-wal"]) copyFileSync(building + end, join(root, `MM2.db${end}`));
  db.close();
  rmSync(building);
}

/** Everything below a folder: name, kind, mode, time of change and bytes. `skip`: names at the top that are left out. */
export function factsOf(root: string, skip: readonly string[] = []): readonly string[] {
  const names = (readdirSync(root, { recursive: true }) as string[]).filter((name) => !skip.includes(name.split("/")[0] ?? ""));
  return names.sort().map((name) => {
    const path = join(root, name);
    const { mode, mtimeMs } = lstatSync(path);
    return `${name} ${mode} ${statSync(path).isFile() ? `${mtimeMs} ${readFileSync(path, "latin1")}` : ""}`;
  });
}
/** What is ours in a wallet's folder. */
export const OURS = [
  "swapnode",
  "swapnode.db",
  "swapnode.db-wal",
  "swapnode.db-shm",
  "swapnode.db.mark",
  "swapnode.db.before-import",
  "swapnode.db.lock",
  "swapnode.db.lock.pid",
  "swapnode.db.lock-journal",
  ".lock",
  ".lock.pid",
  ".lock-journal",
];
