import { chmodSync, closeSync, copyFileSync, existsSync, fsyncSync, openSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Puts what was written to a file on the disk, or, for a folder, the names in it. */
export function fsyncPath(path: string): void {
  const file = openSync(path, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Replaces a small file of mode 0600 as a whole; it is on the disk when this returns. */
export function replaceDurably(path: string, text: string): void {
  const partial = `${path}.partial`;
  writeFileSync(partial, text, { mode: 0o600, flush: true });
  renameSync(partial, path);
  fsyncPath(dirname(path));
}

/** What there is of a database beside its `-shm` file, which holds nothing. */
const PARTS = ["", "-wal", ".mark"];

/** Copies the database with its log, mode 0600, on the disk when this returns. */
export function copyAside(path: string): string[] {
  let n = 1;
  while (PARTS.some((end) => existsSync(`${path}.damaged-${n}${end}`))) n++;
  const copies: string[] = [];
  for (const end of PARTS) {
    if (!existsSync(path + end)) continue;
    const target = `${path}.damaged-${n}${end}`;
    copyFileSync(path + end, target);
    chmodSync(target, 0o600);
    fsyncPath(target);
    copies.push(target);
  }
  fsyncPath(dirname(path));
  return copies;
}
