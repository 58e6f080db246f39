import { accessSync, chmodSync, constants, existsSync } from "node:fs";
import { join } from "node:path";
import { err, ok, type Result } from "../../core/util/result.ts";
import { leadsToKdf } from "./kdfsOwn.ts";
import { makeFolders } from "./makeFolders.ts";

/**
 * Our folder inside a wallet's folder. The files that show orders and swaps are always in here, whether KDF has used the
 * wallet's folder or not: in KDF's own places they would be read by KDF as its own (docs/adr/0023).
 */
const OWN = "swapnode";

/** Folders of the shown files: below ours as KDF names them (reference rpc.md 2.5); `TRANSACTIONS` and the like are not used. */
const SUBFOLDERS = [
  `${OWN}/SWAPS/MY`,
  `${OWN}/SWAPS/STATS/MAKER`,
  `${OWN}/SWAPS/STATS/TAKER`,
  `${OWN}/ORDERS/MY/MAKER`,
  `${OWN}/ORDERS/MY/TAKER`,
  `${OWN}/ORDERS/MY/HISTORY`,
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

export type DataDirError = { readonly kind: "NotWritable" | "KdfsOwn"; readonly folder: string; readonly message: string };

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

/** Refuses a wallet's folder in which a name of ours leads to what is KDF's. */
export function refuseKdfsOwn(root: string): Result<void, DataDirError> {
  const found = leadsToKdf(root, OWN);
  if (found === null) return ok(undefined);
  const message = `${found} leads to what belongs to KDF, whose files this node never changes: remove that link`;
  return err({ kind: "KdfsOwn", folder: found, message });
}

/**
 * Makes the folders of one wallet, with mode 0700. What KDF has in the same folder is neither read nor touched.
 *
 * @param dbdir the data folder of the node (`dbdir` of the configuration)
 * @param walletId RIPEMD160(SHA256(compressed public key)), 40 hex digits
 */
export function openDataDir(dbdir: string, walletId: string): Result<DataDir, DataDirError> {
  if (!/^[0-9a-f]{40}$/.test(walletId)) throw new Error("openDataDir: the wallet id is not 40 hex digits");
  const root = join(dbdir, walletId);
  const apart = refuseKdfsOwn(root);
  if (!apart.ok) return apart;
  const made = makeFolder(root, walletId);
  if (!made.ok) return made;
  for (const name of SUBFOLDERS) {
    const sub = makeFolder(join(root, name), name);
    if (!sub.ok) return sub;
  }
  return ok({
    root,
    mySwaps: join(root, OWN, "SWAPS/MY"),
    makerStatistics: join(root, OWN, "SWAPS/STATS/MAKER"),
    takerStatistics: join(root, OWN, "SWAPS/STATS/TAKER"),
    makerOrders: join(root, OWN, "ORDERS/MY/MAKER"),
    takerOrders: join(root, OWN, "ORDERS/MY/TAKER"),
    orderHistory: join(root, OWN, "ORDERS/MY/HISTORY"),
  });
}
