import { join } from "node:path";
import { openInlineDatabase } from "../adapters/sqlite/inlineDatabase.ts";
import type { StoreNote } from "../adapters/sqlite/openStore.ts";
import { SCHEMA } from "../adapters/sqlite/schema.ts";
import { openWorkerDatabase } from "../adapters/sqlite/workerDatabase.ts";
import { openDataDir } from "../adapters/system/dataDir.ts";
import { lockDatabase } from "../adapters/system/processLock.ts";
import { rmd160Hex } from "../core/keys/dbIds.ts";
import { toHex } from "../core/util/bytes.ts";
import { Secret } from "../core/util/secret.ts";
import type { Log } from "../ports/log.ts";
import type { Rng } from "../ports/rng.ts";
import { type SqlDatabase, StorageError } from "../ports/sql.ts";
import type { Method } from "../rpc/define.ts";
import { keylessMethods } from "../rpc/keylessMethods.ts";
import { METHODS } from "../rpc/table.ts";
import { createFileExports, type FileExports } from "./fileExports.ts";
import { type NodeKeys, nodeKeys } from "./nodeKeys.ts";
import { StartRefused } from "./runningNode.ts";

/** Whose node it is: keys, where their orders and swaps are kept, and what the RPC can do with them. */
export type Account = {
  readonly keys: NodeKeys;
  /** Compressed node key, 66 hex; null when the keys are nobody's. */
  readonly publicKey: string | null;
  /** Name of the wallet's folder, 40 hex; null when the keys are nobody's. */
  readonly walletId: string | null;
  readonly methods: readonly Method[];
  readonly db: SqlDatabase;
  readonly files: FileExports;
  close(): Promise<void>;
};

/** The account of a passphrase, with its folder below `dbdir`, held against other processes. Rejects with `StartRefused`. */
export async function openAccount(passphrase: Secret<string>, enableHd: boolean, dbdir: string, log: Log): Promise<Account> {
  const keys = nodeKeys(passphrase, enableHd);
  const walletId = rmd160Hex(keys.node.publicKey);
  const dir = openDataDir(dbdir, walletId);
  if (!dir.ok) throw new StartRefused(dir.error.message);
  const database = join(dir.value.root, "swapnode.db");
  const lock = lockDatabase(database);
  if (!lock.ok) throw new StartRefused(lock.error.message);
  const onNote = ({ note, ...fields }: StoreNote): void => log.warn(note, fields);
  // A node that stores nothing would look on while its swaps run into their limits: what starts it again must see that it ended.
  const onDied = (error: StorageError): never => {
    throw error;
  };
  const db = await openWorkerDatabase(database, SCHEMA, undefined, onNote, onDied, true).catch((cause: unknown) => {
    lock.value.release();
    if (cause instanceof StorageError) log.error("database_refused", { kind: cause.kind, error: cause });
    throw cause instanceof StorageError ? new StartRefused(cause.message, { cause }) : cause;
  });
  const files = createFileExports(dir.value, log);
  return {
    keys,
    publicKey: toHex(keys.node.publicKey),
    walletId,
    methods: METHODS,
    db,
    files,
    async close() {
      try {
        await files.close();
        await db.close();
      } finally {
        lock.value.release();
      }
    },
  };
}

/**
 * The account of nobody: KDF's "no login" mode (reference rpc.md 2.2). A key nobody keeps speaks to the network, nothing is
 * written anywhere, and methods that need a key say so.
 */
export function noAccount(rng: Rng): Account {
  const db = openInlineDatabase(":memory:", SCHEMA);
  return {
    keys: nodeKeys(new Secret(`0x${toHex(rng.bytes(32))}`), false),
    publicKey: null,
    walletId: null,
    methods: keylessMethods(METHODS),
    db,
    files: { onSwapEvent: () => undefined },
    close: () => db.close(),
  };
}
