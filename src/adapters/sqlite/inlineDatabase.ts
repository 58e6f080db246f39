import { type SqlDatabase, type SqlRow, type SqlStatement, type SqlValue, StorageError } from "../../ports/sql.ts";
import type { ComponentSchema } from "./migrations.ts";
import { openStore } from "./openStore.ts";

/**
 * The store in this thread: every call is done when it returns, so runs repeat exactly. For tests, the simulator, and a
 * node that keeps nothing; a commit to a real disk would block the event loop.
 *
 * @param path a file or `:memory:`
 * @param schema tables to bring up to date first
 */
export function openInlineDatabase(path: string, schema: readonly ComponentSchema[] = []): SqlDatabase {
  const { engine } = openStore(path, schema);
  let closed = false;
  const closedError = (): StorageError => new StorageError("Closed", "the database is closed");
  return {
    async write(batch: readonly SqlStatement[]): Promise<void> {
      if (closed) throw closedError();
      const [failure] = engine.writeGroup([batch]);
      if (failure) throw failure;
    },
    async read(sql: string, params?: readonly SqlValue[]): Promise<readonly SqlRow[]> {
      if (closed) throw closedError();
      return engine.read(sql, params);
    },
    async close(): Promise<void> {
      if (closed) return;
      closed = true;
      engine.close();
    },
  };
}
