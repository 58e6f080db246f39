export type SqlValue = null | number | bigint | string | Uint8Array;
export type SqlRow = { readonly [column: string]: SqlValue };
export type SqlStatement = { readonly sql: string; readonly params?: readonly SqlValue[] };

/** `isNew`: the batch begins something; refused as DiskFull where there is room left only for what has begun. */
export type WriteOptions = { readonly isNew?: boolean };

/**
 * The one store of the node (design D9): SQLite behind a port. Repositories in `adapters/sqlite` are written over it;
 * nothing else contains SQL. The product runs it in a worker with group commit; tests and the simulator run it
 * in-process on `:memory:`.
 */
export interface SqlDatabase {
  /** All statements in one transaction. When the promise resolves the data is fsynced; when it rejects nothing of the batch is stored. */
  write(batch: readonly SqlStatement[], options?: WriteOptions): Promise<void>;
  /** Rows of one query; sees every batch acknowledged before the call. Integers outside the safe range come as bigint. */
  read(sql: string, params?: readonly SqlValue[]): Promise<readonly SqlRow[]>;
  close(): Promise<void>;
}

export type StorageErrorKind =
  /** No space left, or a quota or file size limit. Writing works again when there is space. */
  | "DiskFull"
  /** The file is damaged or is not a database. */
  | "Corrupt"
  /** Another process holds the database. */
  | "Busy"
  /** A UNIQUE, NOT NULL, CHECK or foreign-key rule refused the batch. */
  | "Constraint"
  /** Reading or writing failed below SQLite; after a failed fsync nothing is accepted until the disk has proven itself. */
  | "Io"
  | "ReadOnly"
  /** Too much waits to be written, or a query answers more rows than the bound. */
  | "Limit"
  | "Closed"
  /** A later version of the program wrote the data. */
  | "Newer"
  /** The data is not what was last used here: an old copy, or a part of it is lost. */
  | "Older"
  /** A statement of our own is wrong. */
  | "Sql";

/** What every rejection of `SqlDatabase` is. `cause` holds SQLite's own error. */
export class StorageError extends Error {
  override readonly name = "StorageError";
  readonly kind: StorageErrorKind;
  constructor(kind: StorageErrorKind, message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.kind = kind;
  }
}
