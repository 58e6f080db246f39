export type SqlValue = null | number | bigint | string | Uint8Array;
export type SqlRow = { readonly [column: string]: SqlValue };
export type SqlStatement = { readonly sql: string; readonly params?: readonly SqlValue[] };

/**
 * The one store of the node (design D9): SQLite behind a port. Repositories in `adapters/sqlite` are written over it;
 * nothing else contains SQL. The product runs it in a worker with group commit; tests and the simulator run it
 * in-process on `:memory:`.
 */
export interface SqlDatabase {
  /** All statements in one transaction. When the promise resolves the data is fsynced; when it rejects nothing of the batch is stored. */
  write(batch: readonly SqlStatement[]): Promise<void>;
  /** Rows of one query; sees every batch acknowledged before the call. Integers outside the safe range come as bigint. */
  read(sql: string, params?: readonly SqlValue[]): Promise<readonly SqlRow[]>;
  close(): Promise<void>;
}
