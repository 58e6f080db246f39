import { lstatSync } from "node:fs";
import { join } from "node:path";
import { namesIn, readSmall, shownName } from "./kdfFiles.ts";

/** KDF writes the time into the lock of a running swap every 30 s; one this old belongs to nobody (reference swap-protocol.md 6.5). */
const STALE_AFTER_SEC = 40;
const FOLDER = "SWAPS/MY";

/**
 * A lock of KDF that is fresh: KDF runs this swap now. Null: none is. It is as old as the time it names, or as the file when that is
 * younger: it may be read while KDF writes it, or not at all, and clocks differ. One of a later time than now is fresh.
 * @param nowSec unix seconds
 */
export function freshLock(root: string, nowSec: number): { readonly name: string; readonly ageSec: number } | null {
  for (const name of namesIn(join(root, FOLDER))) {
    if (!name.endsWith(".lock")) continue;
    const path = join(root, FOLDER, name);
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) continue;
    const read = readSmall(path, 100);
    const text = "text" in read ? read.text.trim() : "";
    const namedSec = /^\d{1,12}$/.test(text) ? Number(text) : 0;
    const ageSec = nowSec - Math.max(namedSec, Math.floor(found.mtimeMs / 1_000));
    if (ageSec < STALE_AFTER_SEC) return { name: `${FOLDER}/${shownName(name)}`, ageSec };
  }
  return null;
}
