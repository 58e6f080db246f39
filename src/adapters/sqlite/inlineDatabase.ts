import { type SqlDatabase, type SqlRow, type SqlStatement, type SqlValue, StorageError } from "../../ports/sql.ts";
import { type ComponentSchema, migrate } from "./migrations.ts";
import { SqliteEngine } from "./sqliteEngine.ts";

/**
 * The store in this thread: every call is done when it returns, so runs repeat exactly. For tests and the
 * simulator; a commit to a real disk would block the event loop.
 *
 * @param path a file or `:memory:`
 * @param schema tables to bring up to date first
 */
export function openInlineDatabase(path: string, schema: readonly ComponentSchema[] = []): SqlDatabase {
  const engine = new SqliteEngine(path);
  let closed = false;
  const closedError = (): StorageError => new StorageError("Closed", "the database is closed");
  try {
    migrate(engine, path, schema);
  } catch (error) {
    engine.close();
    throw error;
  }
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
