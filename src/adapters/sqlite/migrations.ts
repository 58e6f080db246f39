import { chmodSync, closeSync, fsyncSync, openSync, renameSync, rmSync } from "node:fs";
import { StorageError } from "../../ports/sql.ts";
import type { SqliteEngine } from "./sqliteEngine.ts";
import { toStorageError } from "./storageErrors.ts";

/** One step forward of one component's tables. Never edited once released. */
export type Migration = {
  /** 1, 2, 3 … without gaps within a component. */
  readonly version: number;
  readonly name: string;
  /** Statements run in order in one transaction. */
  readonly sql: readonly string[];
};

/** The tables one repository owns. Each repository file exports its own; `schema.ts` lists them. */
export type ComponentSchema = { readonly component: string; readonly migrations: readonly Migration[] };

const TABLE = `CREATE TABLE IF NOT EXISTS schema_migrations (
  component TEXT NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY (component, version)
) STRICT`;

type Step = { readonly component: string; readonly migration: Migration };

function pendingSteps(engine: SqliteEngine, schema: readonly ComponentSchema[]): Step[] {
  const steps: Step[] = [];
  for (const { component, migrations } of schema) {
    const rows = engine.read("SELECT coalesce(max(version), 0) AS version FROM schema_migrations WHERE component = ?", [component]);
    const reached = Number(rows[0]?.version ?? 0);
    migrations.forEach((migration, i) => {
      if (migration.version !== i + 1) throw new Error(`migrations of ${component} are not numbered 1, 2, 3 …`);
      if (migration.version > reached) steps.push({ component, migration });
    });
    if (reached > migrations.length) {
      throw new StorageError(
        "Sql",
        `the database was written by a newer version of swapnode (${component} is at step ${reached}, this version knows ${migrations.length}): start that version`,
      );
    }
  }
  return steps;
}

/** A whole copy beside the database, complete or absent, never half. */
function snapshot(engine: SqliteEngine, path: string): void {
  const target = `${path}.before-migration`;
  const partial = `${target}.partial`;
  rmSync(partial, { force: true });
  engine.exec(`VACUUM INTO '${partial.replaceAll("'", "''")}'`);
  chmodSync(partial, 0o600);
  const file = openSync(partial, "r");
  fsyncSync(file);
  closeSync(file);
  renameSync(partial, target);
}

/**
 * Brings the tables up to `schema`, each step in its own transaction. Before the first step on a database that
 * already holds data, a snapshot is kept as `<path>.before-migration`. Steps already done are skipped, so a
 * crash in between is repeated from where it stopped.
 */
export function migrate(engine: SqliteEngine, path: string, schema: readonly ComponentSchema[]): void {
  try {
    engine.exec(TABLE);
    const steps = pendingSteps(engine, schema);
    const used = engine.read("SELECT 1 FROM schema_migrations LIMIT 1").length > 0;
    if (steps.length > 0 && used && path !== ":memory:") snapshot(engine, path);
    for (const { component, migration } of steps) {
      const [failure] = engine.writeGroup([
        [
          ...migration.sql.map((sql) => ({ sql })),
          {
            sql: "INSERT INTO schema_migrations (component, version, name) VALUES (?, ?, ?)",
            params: [component, migration.version, migration.name],
          },
        ],
      ]);
      if (failure)
        throw new StorageError(failure.kind, `migration ${component} ${migration.version}: ${failure.message}`, { cause: failure });
    }
  } catch (error) {
    throw toStorageError(error, `cannot bring ${path} up to date`);
  }
}
