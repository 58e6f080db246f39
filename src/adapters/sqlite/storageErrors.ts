import { reasonOf } from "../../core/util/reasonOf.ts";
import { StorageError, type StorageErrorKind } from "../../ports/sql.ts";

/** Primary result codes of SQLite (https://sqlite.org/rescode.html); the low byte of an extended code. */
const PRIMARY: { readonly [code: number]: StorageErrorKind } = {
  5: "Busy",
  6: "Busy",
  8: "ReadOnly",
  10: "Io",
  11: "Corrupt",
  13: "DiskFull",
  14: "Io",
  19: "Constraint",
  20: "Sql",
  26: "Corrupt",
};

/**
 * Extended codes of a write the system refused before anything changed: IOERR_WRITE (a quota or a file size limit; a disk
 * without space is FULL) and IOERR_SHMSIZE. The transaction is undone, and the next may succeed.
 */
export const REFUSED_WRITES: readonly number[] = [778, 4874];

const SENTENCES: { readonly [K in StorageErrorKind]?: string } = {
  DiskFull:
    "the disk is full, or a quota or size limit is reached: nothing of this batch was stored. Free some space; the node goes on by itself",
  Corrupt:
    "the database file is damaged or is not a database: stop the node, then run swapnode data check and swapnode data repair (docs/operations/recovery.md)",
  Busy: "another process holds the database",
  Io: "the disk refused to read or write the database",
  ReadOnly: "the database cannot be written: check the owner and the mode of the file and its folder",
};

/** Why nothing new is begun while there is room only for what has begun. */
export const fullDisk = (): StorageError => new StorageError("DiskFull", `cannot store: ${SENTENCES.DiskFull}`);

/** SQLite's numeric result code, or undefined for any other error. */
export function sqliteCode(error: unknown): number | undefined {
  if (typeof error !== "object" || error === null || !("errcode" in error)) return undefined;
  return typeof error.errcode === "number" ? error.errcode : undefined;
}

/** Gives an error of `node:sqlite` its kind and a sentence that says what to do. */
export function toStorageError(error: unknown, what: string): StorageError {
  if (error instanceof StorageError) return error;
  const code = sqliteCode(error);
  const kind = code === undefined ? "Sql" : REFUSED_WRITES.includes(code) ? "DiskFull" : (PRIMARY[code & 0xff] ?? "Sql");
  const detail = reasonOf(error);
  const sentence = SENTENCES[kind];
  return new StorageError(kind, sentence === undefined ? `${what}: ${detail}` : `${what}: ${sentence} (${detail})`, { cause: error });
}
