import { closeSync, fsyncSync, openSync, renameSync, writeFileSync } from "node:fs";
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
