import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Replaces a file so that every reader, also after a power cut, sees the old content or the new, never a mixture:
 * temporary file with mode 0600, fsync, rename, fsync of the folder. One writer per path at a time.
 */
export function writeFileAtomic(path: string, content: string | Uint8Array): void {
  const temporary = `${path}.tmp`;
  rmSync(temporary, { force: true });
  const file = openSync(temporary, "wx", 0o600);
  try {
    writeFileSync(file, content);
    fsyncSync(file);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
  const folder = openSync(dirname(path), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
