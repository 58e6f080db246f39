import type { SqlDatabase, SqlStatement, SqlValue } from "../../src/ports/sql.ts";

/** Every row of a database, to put back later. */
export type Backup = readonly {
  readonly table: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly SqlValue[])[];
}[];

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

export async function makeBackup(db: SqlDatabase): Promise<Backup> {
  const tables = await db.read("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name");
  const backup: { table: string; columns: string[]; rows: SqlValue[][] }[] = [];
  for (const { name } of tables) {
    const table = String(name);
    const rows = await db.read(`SELECT * FROM ${quoted(table)}`);
    backup.push({ table, columns: Object.keys(rows[0] ?? {}), rows: rows.map((r) => Object.values(r)) });
  }
  return backup;
}

/** Makes the database what it was, in one transaction. */
export async function restoreBackup(db: SqlDatabase, backup: Backup): Promise<void> {
  const cleared = backup.map(({ table }): SqlStatement => ({ sql: `DELETE FROM ${quoted(table)}` }));
  const filled = backup.flatMap(({ table, columns, rows }) =>
    rows.map((row): SqlStatement => {
      const sql = `INSERT INTO ${quoted(table)} (${columns.map(quoted).join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
      return { sql, params: row };
    }),
  );
  await db.write([{ sql: "PRAGMA defer_foreign_keys = ON" }, ...cleared, ...filled]);
}
