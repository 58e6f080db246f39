import type { SqlRow, SqlStatement, SqlValue, StorageErrorKind } from "../../ports/sql.ts";
import type { ComponentSchema } from "./migrations.ts";
import type { StoreNote } from "./openStore.ts";

/** What the store's worker is started with. `keepsRoom`: for what has begun, see `DiskReserve`. */
export type WorkerSetup = { readonly path: string; readonly schema: readonly ComponentSchema[]; readonly keepsRoom?: boolean };

export type WorkerRequest =
  | { readonly op: "write"; readonly id: number; readonly batch: readonly SqlStatement[]; readonly isNew: boolean }
  | { readonly op: "read"; readonly id: number; readonly sql: string; readonly params: readonly SqlValue[] }
  | { readonly op: "close"; readonly id: number };

/** An error as it crosses the thread border. */
export type WireError = { readonly kind: StorageErrorKind; readonly message: string; readonly cause: string };

export type WorkerReply =
  | { readonly op: "ready"; readonly notes: readonly StoreNote[] }
  | { readonly op: "failed"; readonly error: WireError }
  | { readonly op: "done"; readonly id: number; readonly rows: readonly SqlRow[] }
  | { readonly op: "error"; readonly id: number; readonly error: WireError };
