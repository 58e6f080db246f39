import { accessSync, chmodSync, constants, existsSync } from "node:fs";
import { join } from "node:path";
import { err, ok, type Result } from "../../core/util/result.ts";
import { makeFolders } from "./makeFolders.ts";

/** Subfolders of a wallet's folder, as KDF names them (reference rpc.md 2.5); `TRANSACTIONS` and the like are not used. */
const SUBFOLDERS = [
  "SWAPS/MY",
  "SWAPS/STATS/MAKER",
  "SWAPS/STATS/TAKER",
  "ORDERS/MY/MAKER",
  "ORDERS/MY/TAKER",
  "ORDERS/MY/HISTORY",
] as const;

/** Where the files of one wallet are. All paths absolute when `dbdir` is. */
export type DataDir = {
  /** `<dbdir>/<rmd160>` */
  readonly root: string;
  readonly mySwaps: string;
  /** Swaps that ended, by the side we had in them. */
  readonly makerStatistics: string;
  readonly takerStatistics: string;
  readonly makerOrders: string;
  readonly takerOrders: string;
  readonly orderHistory: string;
};

export type DataDirError = { readonly kind: "NotWritable"; readonly folder: string; readonly message: string };

/** Sets the umask under which every file of the node is made: nothing for group and others. Returns the old one. */
export function setPrivateUmask(): number {
  return process.umask(0o077);
}

function makeFolder(path: string, name: string): Result<void, DataDirError> {
  try {
    const created = !existsSync(path);
    makeFolders(path);
    if (created) chmodSync(path, 0o700);
    accessSync(path, constants.R_OK | constants.W_OK | constants.X_OK);
    return ok(undefined);
  } catch {
    // Whatever the reason (owner, read-only disk, a file in the way), what the operator must know is which folder.
    return err({ kind: "NotWritable", folder: path, message: `${name} db dir is not writable: ${path}` });
  }
}

/**
 * Makes KDF's folder layout for one wallet, folders with mode 0700.
 *
 * @param dbdir the data folder of the node (`dbdir` of the configuration)
 * @param walletId RIPEMD160(SHA256(compressed public key)), 40 hex digits
 */
export function openDataDir(dbdir: string, walletId: string): Result<DataDir, DataDirError> {
  if (!/^[0-9a-f]{40}$/.test(walletId)) throw new Error("openDataDir: the wallet id is not 40 hex digits");
  const root = join(dbdir, walletId);
  const made = makeFolder(root, walletId);
  if (!made.ok) return made;
  for (const name of SUBFOLDERS) {
    const sub = makeFolder(join(root, name), name);
    if (!sub.ok) return sub;
  }
  return ok({
    root,
    mySwaps: join(root, "SWAPS/MY"),
    makerStatistics: join(root, "SWAPS/STATS/MAKER"),
    takerStatistics: join(root, "SWAPS/STATS/TAKER"),
    makerOrders: join(root, "ORDERS/MY/MAKER"),
    takerOrders: join(root, "ORDERS/MY/TAKER"),
    orderHistory: join(root, "ORDERS/MY/HISTORY"),
  });
}
