import { closeSync, openSync, readdirSync, renameSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { fsyncPath } from "./durableFiles.ts";
import { SqliteEngine } from "./sqliteEngine.ts";
import { sqliteCode, toStorageError } from "./storageErrors.ts";

/** Copies kept, of the newest versions. Each is as large as the database was. */
const KEPT = 3;

const mark = (path: string): string => `${basename(path)}.before-migration-`;

/** Versions of which a copy is kept beside the database, oldest first. */
function kept(path: string): number[] {
  const start = mark(path);
  return readdirSync(dirname(path))
    .filter((name) => name.startsWith(start) && /^\d{1,9}$/.test(name.slice(start.length)))
    .map((name) => Number(name.slice(start.length)))
    .sort((a, b) => a - b);
}

/** One whole, consistent copy as a file of mode 0600, on the disk when this returns. `target` is complete or absent, never half. */
function copyWhole(engine: SqliteEngine, target: string): void {
  const partial = `${target}.partial`;
  rmSync(partial, { force: true });
  // SQLite writes into an empty file that is there, so the copy is never readable by others.
  closeSync(openSync(partial, "wx", 0o600));
  try {
    engine.exec(`VACUUM INTO '${partial.replaceAll("'", "''")}'`);
    fsyncPath(partial);
    renameSync(partial, target);
  } catch (cause) {
    // On a full disk the half copy would take what is left.
    rmSync(partial, { force: true });
    throw cause;
  }
  fsyncPath(dirname(target));
}

/**
 * Keeps the database as it is before another program's data is taken into it, as `<path>.before-import`; the last time counts.
 * Throws a `StorageError` or the system's error when there is no copy.
 */
export function keepBeforeImport(path: string): string {
  const target = `${path}.before-import`;
  const engine = new SqliteEngine(path, "read");
  try {
    copyWhole(engine, target);
  } catch (error) {
    throw sqliteCode(error) === undefined ? error : toStorageError(error, `cannot copy ${path} to ${target}`);
  } finally {
    engine.close();
  }
  return target;
}

/**
 * Keeps the database as it is before a migration, as `<path>.before-migration-<version>`, and drops the oldest copies
 * beyond three. A copy of the same version is replaced: the newer one knows more.
 *
 * @returns the file
 */
export function keepSnapshot(engine: SqliteEngine, path: string, version: number): string {
  const target = `${path}.before-migration-${version}`;
  copyWhole(engine, target);
  for (const old of kept(path).slice(0, -KEPT)) rmSync(join(dirname(path), `${mark(path)}${old}`), { force: true });
  return target;
}
