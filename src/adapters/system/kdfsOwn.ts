import { existsSync, readdirSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";

/** KDF's databases, of one wallet and of all (reference rpc.md 2.5). */
const DATABASES = ["MM2.db", "MM2-shared.db"];
/** What of ours has a name of KDF's in its folder, and the folders between. */
const FOLDERS = ["", "SWAPS", "SWAPS/MY", "SWAPS/STATS", "SWAPS/STATS/MAKER", "SWAPS/STATS/TAKER"];
const ORDER_FOLDERS = ["ORDERS", "ORDERS/MY", "ORDERS/MY/MAKER", "ORDERS/MY/TAKER", "ORDERS/MY/HISTORY"];

/** What the system tells; null where it tells nothing: what cannot be looked at cannot be written either, and whoever tries says so. */
function told<T>(ask: () => T): T | null {
  try {
    return ask();
  } catch (error) {
    if (error instanceof Error && "syscall" in error) return null;
    throw error;
  }
}

/** Whether both names lead to the same file or folder, through whatever links. */
function isSame(a: string, b: string): boolean {
  const [x, y] = [a, b].map((path) => told(() => statSync(path, { bigint: true })));
  return x != null && y != null && x.dev === y.dev && x.ino === y.ino;
}

/** Whether this file is a database of KDF, by its name, by that of the file a link leads to, or as another name of one beside it. */
export function isKdfDatabase(path: string): boolean {
  const file = told(() => realpathSync(path)) ?? path;
  return DATABASES.some((name) => [path, file].some((at) => basename(at) === name || isSame(at, join(dirname(at), name))));
}

/**
 * A name of ours in a wallet's folder that leads, by a link, to what is KDF's: who wrote there would change KDF's files.
 *
 * @param root `<dbdir>/<rmd160>`
 * @param own our folder in it
 */
export function leadsToKdf(root: string, own: string): string | null {
  const database = join(root, "swapnode.db");
  if (isKdfDatabase(database)) return database;
  const folder = [...FOLDERS, ...ORDER_FOLDERS].find((name) => isSame(join(root, own, name), join(root, name)));
  return folder === undefined ? null : join(root, own, folder);
}

/** Whether KDF has a wallet in this data folder. */
export const isUsedByKdf = (dbdir: string): boolean =>
  (told(() => readdirSync(dbdir)) ?? []).some((name) => /^[0-9a-f]{40}$/.test(name) && existsSync(join(dbdir, name, "MM2.db")));
