import type { SqlRow, SqlStatement, SqlValue } from "../../ports/sql.ts";
import { StorageError } from "../../ports/sql.ts";
import { keepSnapshot } from "./snapshot.ts";
import type { SqliteEngine } from "./sqliteEngine.ts";
import { toStorageError } from "./storageErrors.ts";

/** One step forward of one component's tables. Never edited once released. */
export type Migration = {
  /** 1, 2, 3 … without gaps within a component. */
  readonly version: number;
  readonly name: string;
  /** Statements run in order. */
  readonly sql: readonly string[];
};

/** The tables one repository owns. Each repository file exports its own; `schema.ts` lists them. */
export type ComponentSchema = { readonly component: string; readonly migrations: readonly Migration[] };

/** What a migration did. `from` and `to` are versions of the whole database: the number of steps it has made. */
export type Migrated = { readonly from: number; readonly to: number; readonly snapshot: string | null };

type Reader = { read(sql: string, params?: readonly SqlValue[]): SqlRow[] };

const TABLE = `CREATE TABLE IF NOT EXISTS schema_migrations (
  component TEXT NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY (component, version)
) STRICT`;

/** Steps a component knows. Throws when they are not numbered one after the other. */
function stepsOf({ component, migrations }: ComponentSchema): readonly Migration[] {
  migrations.forEach((migration, i) => {
    if (migration.version !== i + 1) throw new Error(`migrations of ${component} are not numbered 1, 2, 3 …`);
  });
  return migrations;
}

/** Steps made, by component. Empty for a database without tables of ours. */
export function stepsMade(db: Reader): ReadonlyMap<string, number> {
  const known = db.read("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations'").length > 0;
  const rows = known
    ? db.read("SELECT component, max(version) AS version FROM schema_migrations GROUP BY component ORDER BY component")
    : [];
  return new Map(rows.map((row) => [String(row.component), Number(row.version)]));
}

const sum = (numbers: Iterable<number>): number => [...numbers].reduce((total, n) => total + n, 0);

/** Version of the whole database: the steps made. `user_version` says the same since the tables of `store` are there. */
const versionOf = (db: Reader): number =>
  Math.max(sum(stepsMade(db).values()), Number(db.read("PRAGMA user_version")[0]?.user_version ?? 0));

/** Throws a `StorageError` of kind Newer when a later version of the program wrote the database. Reads only. */
export function refuseNewer(db: Reader, path: string, schema: readonly ComponentSchema[]): void {
  const known = new Map(schema.map((s) => [s.component, stepsOf(s).length]));
  const tooNew = [...stepsMade(db)].filter(([component, version]) => version > (known.get(component) ?? 0));
  const [has, knows] = [versionOf(db), sum(known.values())];
  if (tooNew.length === 0 && has <= knows) return;
  const which = tooNew.map(([component, version]) => `${component} ${version}, known: ${known.get(component) ?? "none"}`);
  throw new StorageError(
    "Newer",
    `the database ${path} was written by a newer swapnode: it is of version ${has}${which.length > 0 ? ` (${which.join("; ")})` : ""}, ` +
      `this program knows up to ${knows}. Nothing was changed. Start the newer swapnode, or go back as docs/operations/upgrade.md says`,
  );
}

/**
 * Brings the tables up to `schema`, all missing steps in one transaction: a crash leaves the old version or the new one.
 * Before a database that holds data changes, a whole copy is kept beside it.
 *
 * @returns what was done; null when nothing was missing or the database was new
 */
export function migrate(engine: SqliteEngine, path: string, schema: readonly ComponentSchema[]): Migrated | null {
  try {
    refuseNewer(engine, path, schema);
    const made = stepsMade(engine);
    const from = sum(made.values());
    const missing = schema.flatMap((s) =>
      stepsOf(s)
        .slice(made.get(s.component) ?? 0)
        .map((step) => ({ component: s.component, ...step })),
    );
    const to = from + missing.length;
    if (missing.length === 0) return null;
    const snapshot = from > 0 && path !== ":memory:" ? keepSnapshot(engine, path, from) : null;
    const batch: SqlStatement[] = [{ sql: TABLE }];
    for (const { component, version, name, sql } of missing) {
      batch.push(...sql.map((text) => ({ sql: text })));
      batch.push({ sql: "INSERT INTO schema_migrations (component, version, name) VALUES (?, ?, ?)", params: [component, version, name] });
    }
    batch.push({ sql: `PRAGMA user_version = ${to}` });
    const [failure] = engine.writeGroup([batch]);
    if (failure) {
      const steps = missing.map((step) => `${step.component} ${step.version}`).join(", ");
      throw new StorageError(
        failure.kind,
        `bringing ${path} from version ${from} to ${to} (${steps}) failed, nothing was changed: ${failure.message}`,
        {
          cause: failure,
        },
      );
    }
    return from > 0 ? { from, to, snapshot } : null;
  } catch (error) {
    throw toStorageError(error, `cannot bring ${path} up to date`);
  }
}
