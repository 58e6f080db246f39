import { join } from "node:path";
import { namesIn, readSmall, shownName } from "./kdfFiles.ts";

/** KDF writes the time into the lock of a running swap every 30 s; one this old belongs to nobody (reference swap-protocol.md 6.5). */
const STALE_AFTER_SEC = 40;
const FOLDER = "SWAPS/MY";

/**
 * A lock of KDF that is fresh: KDF runs this swap now. Null: none is. One of a later time than now is fresh, for two clocks differ;
 * one that is not a time is KDF's own idea of a stale one.
 * @param nowSec unix seconds
 */
export function freshLock(root: string, nowSec: number): { readonly name: string; readonly ageSec: number } | null {
  for (const name of namesIn(join(root, FOLDER))) {
    if (!name.endsWith(".lock")) continue;
    const read = readSmall(join(root, FOLDER, name), 100);
    const text = "text" in read ? read.text.trim() : "";
    if (!/^\d{1,12}$/.test(text)) continue;
    const ageSec = nowSec - Number(text);
    if (ageSec < STALE_AFTER_SEC) return { name: `${FOLDER}/${shownName(name)}`, ageSec };
  }
  return null;
}
