import { type ImportCoins, importCoinOf } from "../app/kdf/importCoin.ts";
import type { CoinEntry } from "../core/coin/coinEntry.ts";
import type { SafetyRules } from "../core/swap/safety.ts";
import { toHex } from "../core/util/bytes.ts";
import type { SqlDatabase, SqlStatement } from "../ports/sql.ts";
import type { NodeKeys } from "./nodeKeys.ts";

/** What of the history is stored together: some megabytes, and not so little that each order waits for the disk. */
const CHARS_AT_ONCE = 4_000_000;
const STATEMENTS_AT_ONCE = 5_000;

export type ImportOptions = {
  readonly keys: NodeKeys;
  readonly coins: ReadonlyMap<string, CoinEntry>;
  readonly safety: SafetyRules;
  /** Of this node and of KDF; absolute, the same as a rule. */
  readonly dbdir: string;
  readonly kdfDbdir: string;
  readonly nowMs: () => number;
  /** Why nothing is taken over: KDF, or this node, answers calls. */
  readonly whoListens: () => Promise<string | null>;
  /** Nothing is written. */
  readonly dryRun: boolean;
};

/** One thing of KDF's and what is to be said of it. */
export type ImportLine = { readonly what: string; readonly why: string };

/** The store as an import uses it. `write` is absent when nothing may be written. */
export type Store = Pick<SqlDatabase, "read"> & Partial<Pick<SqlDatabase, "write">> & { readonly copy: string | null };

/** What is known of the store: of one that is not there, nothing. */
type Known = {
  swap(uuid: string): Promise<boolean>;
  /** A swap that was over when it was taken over. */
  endedElsewhere(uuid: string): Promise<boolean>;
  order(uuid: string): Promise<boolean>;
  row(uuid: string): Promise<boolean>;
};

function knownIn(db: Store | null): Known {
  const has = async (table: string, uuid: string): Promise<boolean> => {
    if (db === null) return false;
    // A database of an earlier version, which is only looked at, lacks the newest tables.
    const [made] = await db.read("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?", [table]);
    return made !== undefined && (await db.read(`SELECT 1 FROM ${table} WHERE uuid = ?`, [uuid])).length > 0;
  };
  return {
    swap: (uuid) => has("swaps", uuid),
    endedElsewhere: (uuid) => has("ended_elsewhere", uuid),
    order: async (uuid) => (await has("live_orders", uuid)) || (await has("my_orders", uuid)) || has("orders_from_elsewhere", uuid),
    row: (uuid) => has("my_orders", uuid),
  };
}

/** Everything that was decided, and what is to be stored at the end. */
export class Import {
  readonly options: ImportOptions;
  readonly #db: Store | null;
  readonly known: Known;
  knownCount = 0;
  endedSwaps = 0;
  readonly openSwaps: string[] = [];
  readonly openOrders: string[] = [];
  readonly left: ImportLine[] = [];
  readonly leftOrders: ImportLine[] = [];
  readonly broken: ImportLine[] = [];
  readonly notes: ImportLine[] = [];
  readonly coins = new Set<string>();
  /** Stored together with everything that is open. */
  readonly last: SqlStatement[] = [];
  #chunk: SqlStatement[] = [];
  #chars = 0;

  constructor(options: ImportOptions, db: Store | null) {
    this.options = options;
    this.#db = db;
    this.known = knownIn(db);
  }

  /** Stores one swap or order that is over, whole, together with others. */
  async addEnded(statements: readonly SqlStatement[]): Promise<void> {
    for (const statement of statements) {
      this.#chunk.push(statement);
      for (const value of statement.params ?? []) if (typeof value === "string") this.#chars += value.length;
    }
    if (this.#chunk.length >= STATEMENTS_AT_ONCE || this.#chars >= CHARS_AT_ONCE) await this.flush();
  }

  async flush(): Promise<void> {
    await this.write(this.#chunk);
    this.#chunk = [];
    this.#chars = 0;
  }

  async write(statements: readonly SqlStatement[]): Promise<void> {
    if (statements.length > 0) await this.#db?.write?.(statements);
  }
}

/** The coins of the coins file as swaps need them. */
export function importCoins({ coins, keys, safety }: Pick<ImportOptions, "coins" | "keys" | "safety">): ImportCoins {
  return (ticker) => {
    const entry = coins.get(ticker);
    if (!entry) return `${ticker} is not in the coins file`;
    const key = keys.hdKeyOf ? keys.hdKeyOf(entry) : keys.node;
    return key ? importCoinOf(entry, toHex(key.publicKey), safety) : `${ticker} has no derivation_path, which HD mode needs`;
  };
}
