import { spawnSync } from "node:child_process";
import { closeSync, openSync, statSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/fakes/tempFolder.ts";
import { StorageError } from "../../ports/sql.ts";
import { openInlineDatabase } from "./inlineDatabase.ts";
import { type ComponentSchema, migrate } from "./migrations.ts";
import { SqliteEngine } from "./sqliteEngine.ts";

const notes: ComponentSchema = {
  component: "notes",
  migrations: [{ version: 1, name: "create", sql: ["CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT"] }],
};
const insert = (id: number | bigint, body: string | null) => ({ sql: "INSERT INTO notes (id, body) VALUES (?, ?)", params: [id, body] });

function failure(run: () => unknown): StorageError {
  try {
    run();
  } catch (error) {
    if (error instanceof StorageError) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

test("a batch is stored whole or not at all", async () => {
  const db = openInlineDatabase(":memory:", [notes]);
  await expect(db.write([insert(1, "a"), insert(2, null)])).rejects.toMatchObject({ kind: "Constraint" });
  expect(await db.read("SELECT * FROM notes")).toEqual([]);
  await db.write([insert(1, "a"), insert(2, "b")]);
  expect(await db.read("SELECT id, body FROM notes ORDER BY id")).toEqual([
    { id: 1, body: "a" },
    { id: 2, body: "b" },
  ]);
  await db.close();
  await expect(db.read("SELECT 1")).rejects.toMatchObject({ kind: "Closed" });
});

test("a failing batch in a group is undone alone", () => {
  const engine = new SqliteEngine(":memory:");
  migrate(engine, ":memory:", [notes]);
  const outcomes = engine.writeGroup([[insert(1, "a")], [insert(2, "b"), insert(1, "again")], [insert(3, "c")]]);
  expect(outcomes.map((o) => o?.kind ?? "stored")).toEqual(["stored", "Constraint", "stored"]);
  expect(engine.read("SELECT id FROM notes ORDER BY id")).toEqual([{ id: 1 }, { id: 3 }]);
});

test("integers beyond 2^53 come back as bigint, others as number, blobs as bytes", () => {
  const engine = new SqliteEngine(":memory:");
  const [row] = engine.read("SELECT ? AS big, ? AS small, ? AS half, ? AS bytes, ? AS empty, typeof(?) AS type", [
    9_223_372_036_854_775_807n,
    7,
    0.5,
    Uint8Array.of(0, 255),
    null,
    7,
  ]);
  expect(row).toEqual({
    big: 9_223_372_036_854_775_807n,
    small: 7,
    half: 0.5,
    bytes: Uint8Array.of(0, 255),
    empty: null,
    type: "integer",
  });
});

test("the database and its -wal and -shm files are readable by the owner only, whatever the umask and the past mode", () => {
  const path = join(tempFolder(), "x.db");
  writeFileSync(path, "", { mode: 0o644 });
  const before = process.umask(0o022);
  try {
    const engine = new SqliteEngine(path);
    migrate(engine, path, [notes]);
    for (const end of ["", "-wal", "-shm"]) expect(statSync(path + end).mode & 0o777, end).toBe(0o600);
    engine.close();
  } finally {
    process.umask(before);
  }
});

test("a full disk refuses the batch with a clear error, keeps the others and goes on when there is space", () => {
  const engine = new SqliteEngine(join(tempFolder(), "x.db"));
  migrate(engine, ":memory:", [notes]);
  engine.exec("PRAGMA max_page_count = 12");
  const outcomes = engine.writeGroup([[insert(1, "small")], [insert(2, "x".repeat(200_000))], [insert(3, "small")]]);
  expect(outcomes.map((o) => o?.kind ?? "stored")).toEqual(["stored", "DiskFull", "stored"]);
  expect(outcomes[1]?.message).toContain("the disk is full");
  engine.exec("PRAGMA max_page_count = 4294967294");
  expect(engine.writeGroup([[insert(2, "x".repeat(200_000))]])).toEqual([null]);
  expect(engine.read("SELECT id FROM notes ORDER BY id")).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }]);
});

const prlimit = (soft: string): boolean => spawnSync("prlimit", ["--pid", String(process.pid), `--fsize=${soft}:unlimited`]).status === 0;

test.skipIf(!prlimit("unlimited"))("a quota or a file size limit is a full disk, and when it is lifted the next write is stored", () => {
  const engine = new SqliteEngine(join(tempFolder(), "x.db"));
  migrate(engine, ":memory:", [notes]);
  prlimit("1");
  const refused = engine.writeGroup([[insert(1, "a")], [insert(2, "b")]]);
  prlimit("unlimited");
  expect(refused.map((o) => o?.kind)).toEqual(["DiskFull", "DiskFull"]);
  expect(engine.writeGroup([[insert(1, "a")], [insert(3, "c")]])).toEqual([null, null]);
  expect(engine.read("SELECT id FROM notes ORDER BY id")).toEqual([{ id: 1 }, { id: 3 }]);
  engine.close();
});

test("a file that is no database is refused with the way out", () => {
  const path = join(tempFolder(), "x.db");
  writeFileSync(path, "this is not a database ".repeat(300));
  const error = failure(() => new SqliteEngine(path));
  expect(error.kind).toBe("Corrupt");
  expect(error.message).toContain(path);
  expect(error.cause).toBeInstanceOf(Error);
});

test("a database whose pages are damaged says so when it is read", () => {
  const path = join(tempFolder(), "x.db");
  const engine = new SqliteEngine(path);
  migrate(engine, path, [notes]);
  for (let i = 0; i < 200; i++) engine.writeGroup([[insert(i, "y".repeat(500))]]);
  engine.close();
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(8 * 4096, 0xa5), 0, 8 * 4096, 4096);
  closeSync(file);
  const damaged = new SqliteEngine(path);
  expect(failure(() => damaged.read("SELECT * FROM notes")).kind).toBe("Corrupt");
  damaged.close();
});

test("a query with more rows than the bound is refused", () => {
  const engine = new SqliteEngine(":memory:");
  const error = failure(() => engine.read("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"));
  expect(error.kind).toBe("Limit");
});

test("migrations run once, in order, and a snapshot is kept before a database with data changes", () => {
  const path = join(tempFolder(), "x.db");
  const first = new SqliteEngine(path);
  migrate(first, path, [notes]);
  first.writeGroup([[insert(1, "kept")]]);
  first.close();
  const next: ComponentSchema = {
    component: "notes",
    migrations: [...notes.migrations, { version: 2, name: "colour", sql: ["ALTER TABLE notes ADD COLUMN colour TEXT"] }],
  };
  const second = new SqliteEngine(path);
  migrate(second, path, [next]);
  migrate(second, path, [next]);
  expect(second.read("SELECT id, body, colour FROM notes")).toEqual([{ id: 1, body: "kept", colour: null }]);
  second.close();
  const copy = new SqliteEngine(`${path}.before-migration-1`);
  expect(copy.read("SELECT * FROM notes")).toEqual([{ id: 1, body: "kept" }]);
  expect(statSync(`${path}.before-migration-1`).mode & 0o777).toBe(0o600);
  copy.close();
});

test("a migration that fails leaves the database as it was and names the step", () => {
  const path = join(tempFolder(), "x.db");
  const bad: ComponentSchema = {
    component: "notes",
    migrations: [...notes.migrations, { version: 2, name: "bad", sql: ["CREATE TABLE half (x)", "INSERT INTO nowhere VALUES (1)"] }],
  };
  const engine = new SqliteEngine(path);
  const error = failure(() => migrate(engine, path, [bad]));
  expect(error.message).toContain("notes 2");
  expect(engine.read("SELECT name FROM sqlite_schema WHERE name = 'half'")).toEqual([]);
});

test("a database of a newer version is not touched", () => {
  const engine = new SqliteEngine(":memory:");
  migrate(engine, ":memory:", [notes]);
  const error = failure(() => migrate(engine, ":memory:", [{ component: "notes", migrations: [] }]));
  expect(error.kind).toBe("Newer");
});
