import { closeSync, existsSync, fsyncSync, mkdirSync, openSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Makes a folder, and those above it that are missing, with mode 0700. One step at a time, because Node's recursion
 * never ends where a folder cannot be made although its parent is there (`/proc`). Their names are on the disk when this
 * returns. Throws the system's error.
 */
export function makeFolders(path: string): void {
  if (existsSync(path)) return;
  makeFolders(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process was faster.
    if (!(error instanceof Error && "code" in error && error.code === "EEXIST")) throw error;
  }
  const parent = openSync(dirname(path), "r");
  fsyncSync(parent);
  closeSync(parent);
}
