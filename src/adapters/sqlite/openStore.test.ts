import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { firstStore, recordedLogs } from "../../../test/vectors/eventLogs/eventLogs.ts";
import { parseOrderRecord } from "../../app/orders/orderRecord.ts";
import { StorageError } from "../../ports/sql.ts";
import { acceptDatabase } from "./acceptDatabase.ts";
import { checkDatabase } from "./checkDatabase.ts";
import { openInlineDatabase } from "./inlineDatabase.ts";
import type { ComponentSchema } from "./migrations.ts";
import { openStore, refuseDamaged } from "./openStore.ts";
import { createOrderStore } from "./orderStore.ts";
import { SCHEMA } from "./schema.ts";
import { SqliteEngine } from "./sqliteEngine.ts";
import { createSwapStore } from "./swapStore.ts";

let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "swapnode-store-"));
  path = join(dir, "x.db");
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const OPEN_TAKER = recordedLogs.find((l) => l.name === "unfinished: the taker paid" && l.role === "taker");
const notes = (...later: string[]): ComponentSchema => ({
  component: "notes",
  migrations: ["CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT) STRICT", ...later].map((sql, i) => ({
    version: i + 1,
    name: `step ${i + 1}`,
    sql: [sql],
  })),
});
const write = async (schema: readonly ComponentSchema[], ...bodies: string[]): Promise<void> => {
  const db = openInlineDatabase(path, schema);
  for (const body of bodies) await db.write([{ sql: "INSERT INTO notes (body) VALUES (?)", params: [body] }]);
  await db.close();
};
const makeFirstStore = (): void => {
  const db = new DatabaseSync(path);
  db.exec(`PRAGMA journal_mode=WAL; ${firstStore}`);
  db.close();
};
const bytesOfAll = (): Record<string, string> =>
  Object.fromEntries(
    readdirSync(dir)
      // SQLite makes an empty log and its index to read a file; they hold nothing.
      .filter((name) => !name.endsWith("-shm") && statSync(join(dir, name)).size > 0)
      .map((name) => [name, readFileSync(join(dir, name)).toString("base64")]),
  );
function refusal(schema: readonly ComponentSchema[] = SCHEMA): StorageError {
  try {
    void openInlineDatabase(path, schema).close();
  } catch (error) {
    if (error instanceof StorageError) return error;
    throw error;
  }
  throw new Error("it was opened");
}

test("a database of the first version is brought forward with everything in it, and a whole copy of it is kept", async () => {
  makeFirstStore();
  const db = openInlineDatabase(path, SCHEMA);
  const swaps = createSwapStore(db);
  expect((await swaps.allUuids()).length).toBe(4);
  expect(await swaps.log(OPEN_TAKER?.summary.uuid ?? "")).toEqual(OPEN_TAKER?.events.map((text) => JSON.parse(text)));
  expect((await createOrderStore(db).live()).map((order) => parseOrderRecord(order).kind)).toEqual(["Maker"]);
  const [version] = await db.read("PRAGMA user_version");
  expect(version).toEqual({ user_version: SCHEMA.reduce((n, s) => n + s.migrations.length, 0) });
  await db.close();
  const copy = `${path}.before-migration-3`;
  expect(statSync(copy).mode & 0o777).toBe(0o600);
  const old = new DatabaseSync(copy, { readOnly: true });
  expect(old.prepare("SELECT count(*) AS n FROM swap_events").get()).toEqual({ n: OPEN_TAKER === undefined ? 0 : 69 });
  expect(old.prepare("SELECT name FROM sqlite_schema WHERE name = 'store_mark'").all()).toEqual([]);
  old.close();
  expect(checkDatabase(path, SCHEMA, parseOrderRecord)).toMatchObject({ problems: [], swaps: 4, openSwaps: 2 });
});

test("copies of three versions are kept, the oldest goes, and nothing is copied when nothing is missing", async () => {
  const later: string[] = [];
  for (let step = 1; step <= 6; step++) {
    later.push(`ALTER TABLE notes ADD COLUMN c${step} TEXT`);
    await write([notes(...later)], `with ${step + 1} steps`);
    await write([notes(...later)]);
  }
  expect(
    readdirSync(dir)
      .filter((name) => name.includes("before"))
      .sort(),
  ).toEqual([4, 5, 6].map((n) => `x.db.before-migration-${n}`));
});

test("missing steps of several components are made in one transaction or not at all", async () => {
  await write([notes()], "kept");
  const bad: ComponentSchema = {
    component: "other",
    migrations: [{ version: 1, name: "bad", sql: ["CREATE TABLE half (x)", "INSERT INTO nowhere VALUES (1)"] }],
  };
  const error = refusal([notes("ALTER TABLE notes ADD COLUMN c TEXT"), bad]);
  expect(error.message).toContain("from version 1 to 3 (notes 2, other 1) failed, nothing was changed");
  const db = new DatabaseSync(path, { readOnly: true });
  expect(db.prepare("SELECT * FROM notes").all()).toEqual([{ id: 1, body: "kept" }]);
  expect(db.prepare("SELECT name FROM sqlite_schema WHERE name = 'half'").all()).toEqual([]);
  db.close();
});

test.each([
  [
    "a step this program does not know",
    () => write([...SCHEMA, notes("ALTER TABLE notes ADD COLUMN c TEXT")], "new"),
    [...SCHEMA, notes()],
  ],
  ["a component this program does not know", () => write([...SCHEMA, notes()], "new"), SCHEMA],
  [
    "only a higher version number",
    async () => {
      const db = openInlineDatabase(path, SCHEMA);
      await db.write([{ sql: "PRAGMA user_version = 999" }]);
      await db.close();
    },
    SCHEMA,
  ],
])("a newer database, by %s, is refused and stays byte for byte as it was, its log too", async (_what, make, schema) => {
  await make();
  // As a crash leaves it: with a log.
  const db = new DatabaseSync(path);
  db.exec("CREATE TABLE later (x); INSERT INTO later VALUES (1)");
  for (const end of ["", "-wal"]) copyFileSync(path + end, `${path}.crashed${end}`);
  db.close();
  for (const end of ["", "-wal"]) copyFileSync(`${path}.crashed${end}`, path + end);
  const before = bytesOfAll();
  const error = refusal(schema);
  expect(error.kind).toBe("Newer");
  expect(error.message).toMatch(
    /was written by a newer swapnode: it is of version \d+.*knows up to \d+\. Nothing was changed\. Start the newer swapnode/,
  );
  expect(bytesOfAll()).toEqual(before);
});

const MARKED = [...SCHEMA, notes()];
const copyTo = (name: string): void => {
  const db = new DatabaseSync(path, { readOnly: true });
  db.exec(`VACUUM INTO '${join(dir, name)}'`);
  db.close();
};
const putBack = (name: string): void => {
  for (const end of ["-wal", "-shm"]) rmSync(path + end, { force: true });
  copyFileSync(join(dir, name), path);
};

test("an old copy put back is refused and stays as it is; accepted, it opens, and the newer one does not take its place again", async () => {
  await write(MARKED, "a", "b");
  copyTo("old");
  await write(MARKED, "c");
  copyTo("new");
  putBack("old");
  const before = bytesOfAll();
  const error = refusal(MARKED);
  expect(error.kind).toBe("Older");
  expect(error.message).toContain("is older than the one last used here: it lacks the last 1 of");
  expect(error.message).toContain("swapnode data accept");
  expect(bytesOfAll()).toEqual(before);
  putBack("new");
  await write(MARKED);
  putBack("old");
  expect(acceptDatabase(path, MARKED)).toEqual([]);
  await write(MARKED, "d");
  putBack("new");
  expect(refusal(MARKED).message).toContain("is not the one last used here");
});

test("a log that is lost with the last transactions in it is noticed, as SQLite alone would not", async () => {
  const db = openInlineDatabase(path, MARKED);
  await db.write([{ sql: "INSERT INTO notes (body) VALUES ('in the main file')" }]);
  await db.read("PRAGMA wal_checkpoint(TRUNCATE)");
  await db.write([{ sql: "INSERT INTO notes (body) VALUES ('in the log')" }]);
  for (const end of ["", "-wal", ".mark"]) copyFileSync(path + end, join(dir, `crashed${end}`));
  await db.close();
  for (const end of ["", ".mark"]) copyFileSync(join(dir, `crashed${end}`), path + end);
  expect(refusal(MARKED).message).toContain("it lacks the last 1 of");
  copyFileSync(join(dir, "crashed-wal"), `${path}-wal`);
  await write(MARKED);
});

test("a database that is gone from a folder that was used is not quietly begun anew", async () => {
  await write(MARKED, "a");
  rmSync(path);
  expect(refusal(MARKED).message).toContain("is missing, although this folder has been used");
  expect(existsSync(path)).toBe(false);
  expect(acceptDatabase(path, MARKED)).toEqual([]);
  await write(MARKED, "b");
  expect(acceptDatabase(path, MARKED)).toBe(null);
});

test.each([["with its mark"], ["without"]])(
  "one whose log alone is left, %s, is told as gone; accepted, the log is kept aside and meets no other",
  async (mark) => {
    const db = openInlineDatabase(path, MARKED);
    await db.write([{ sql: "INSERT INTO notes (body) VALUES ('in the log')" }]);
    copyFileSync(`${path}-wal`, join(dir, "log"));
    await db.close();
    rmSync(path);
    if (mark === "without") rmSync(`${path}.mark`);
    copyFileSync(join(dir, "log"), `${path}-wal`);
    const before = bytesOfAll();
    expect(refusal(MARKED)).toMatchObject({
      kind: "Older",
      message: expect.stringContaining("is missing, although this folder has been used"),
    });
    expect(bytesOfAll()).toEqual(before);
    expect(acceptDatabase(path, MARKED)).toEqual([]);
    expect(readFileSync(`${path}.damaged-1-wal`)).toEqual(readFileSync(join(dir, "log")));
    await write(MARKED, "new");
    const after = openInlineDatabase(path, MARKED);
    expect(await after.read("SELECT body FROM notes")).toEqual([{ body: "new" }]);
    await after.close();
  },
);

test("a mark that is torn, lost or behind the database raises no alarm", async () => {
  await write(MARKED, "a");
  const file = `${path}.mark`;
  const spoil: readonly ((line: string) => string)[] = [
    (line) => line.replace(/ \d{16} \d{16}$/m, ` ${"1".padStart(16, "0")} ${"1".padStart(16, "0")}`),
    (line) => line.replace(/ \d{16} /, " 0000000000000900 "),
    (line) => line.slice(0, 30),
    () => "",
  ];
  for (const change of spoil) {
    const line = readFileSync(file, "latin1");
    expect(change(line)).not.toBe(line);
    writeFileSync(file, change(line));
    await write(MARKED, "b");
  }
  rmSync(file);
  await write(MARKED, "c");
  expect(statSync(file).mode & 0o777).toBe(0o600);
});

/** A swap of this many events, in a copy that is older than what was used here last. */
async function acceptedCopy(uuid: string, count: number, before: () => void = () => undefined): Promise<readonly string[] | null> {
  makeFirstStore();
  const db = openInlineDatabase(path, SCHEMA);
  const swaps = createSwapStore(db);
  const [first, ...rest] = OPEN_TAKER?.events.map((text) => JSON.parse(text)) ?? [];
  const terms = { ...first.event.terms, uuid };
  const summary = { uuid, role: "taker", myCoin: "BBB", otherCoin: "AAA", startedAt: terms.startedAt, finished: false } as const;
  await swaps.create(summary, { ...first, event: { type: "started", terms } }, []);
  for (const [i, event] of rest.slice(0, count - 1).entries()) await swaps.append(uuid, i + 1, event, []);
  await db.close();
  copyTo("old");
  const later = openInlineDatabase(path, SCHEMA);
  await createSwapStore(later).append(
    uuid,
    count,
    { v: 1, atMs: 1, event: { type: "abandoned", failure: { event: "NegotiateFailed", reason: "x" } } },
    [],
  );
  await later.close();
  putBack("old");
  before();
  return acceptDatabase(path, SCHEMA);
}

test("an open swap that has negotiated is told that its record may lack events when an old copy is accepted, and goes on without paying", async () => {
  const uuid = "00000000-0000-4000-8000-00000000ffff";
  const said = `swap ${uuid} (taker): its record ends before its payment, and later events may be lost. It pays nothing any more; a payment of before is looked for`;
  expect(await acceptedCopy(uuid, 2)).toEqual([expect.stringContaining(said)]);
  const again = openInlineDatabase(path, SCHEMA);
  const log = await createSwapStore(again).log(uuid);
  expect(log.map(({ event }) => event.type)).toEqual(["started", "negotiated", "record_cut"]);
  expect(log.at(-1)?.atMs).toBe(log[1]?.atMs);
  await again.close();
  expect(checkDatabase(path, SCHEMA, parseOrderRecord).problems).toEqual([]);
});

test("one that had not negotiated in the copy is held, for nobody could find its payment; one that has paid goes on", async () => {
  const uuid = "00000000-0000-4000-8000-00000000ffff";
  const said = `swap ${uuid} (taker): its record ends before its payment, and later events may be lost. It is kept; the node will not act on it`;
  expect(await acceptedCopy(uuid, 1)).toEqual([expect.stringContaining(said)]);
  const again = openInlineDatabase(path, SCHEMA);
  await expect(createSwapStore(again).log(uuid)).rejects.toMatchObject({ kind: "Corrupt" });
  expect(await createSwapStore(again).log(OPEN_TAKER?.summary.uuid ?? "")).toHaveLength(14);
  expect((await createSwapStore(again).unsettled()).map((s) => s.uuid)).toContain(uuid);
  await again.close();
  expect(checkDatabase(path, SCHEMA, parseOrderRecord).problems).toEqual([`swap ${uuid}: it is held: its events from 1 on may be lost`]);
});

test("a copy on another machine is told of, for nothing there says how old it is; accepted, its open swaps pay nothing", async () => {
  const uuid = "00000000-0000-4000-8000-00000000ffff";
  expect(await acceptedCopy(uuid, 2, () => rmSync(`${path}.mark`))).toEqual([expect.stringContaining("It pays nothing any more")]);
  const { engine, notes } = openStore(path, SCHEMA);
  engine.close();
  expect(notes).toEqual([{ note: "database_accepted" }]);
  for (const end of ["-wal", "-shm", ".mark"]) rmSync(path + end, { force: true });
  const elsewhere = openStore(path, SCHEMA);
  elsewhere.engine.close();
  expect(elsewhere.notes).toEqual([{ note: "database_not_used_here_before", hint: expect.stringContaining("swapnode data accept") }]);
  expect(acceptDatabase(path, SCHEMA)).toBe(null);
});

test("of a file too large to be looked through at each start, the tables that keep swaps from being forgotten or repeated still are", () => {
  const damaged = (table: string): SqliteEngine => {
    for (const end of ["", "-wal", "-shm", ".mark"]) rmSync(path + end, { force: true });
    makeFirstStore();
    const db = new DatabaseSync(path, { readOnly: true });
    const root = Number(db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = ?").get(table)?.rootpage);
    db.close();
    const bytes = readFileSync(path);
    writeFileSync(path, bytes.fill(0xa5, (root - 1) * 4096, root * 4096));
    return new SqliteEngine(path, "read");
  };
  const HUGE = 10 ** 12;
  for (const table of ["swaps", "swap_marks", "live_orders", "agreed_swaps"]) {
    const db = damaged(table);
    expect(() => refuseDamaged(db, path, HUGE), table).toThrow(/damaged/);
    db.close();
  }
  const db = damaged("chain_output");
  refuseDamaged(db, path, HUGE);
  expect(() => refuseDamaged(db, path, statSync(path).size)).toThrow(/damaged/);
  db.close();
});

test("a database that is new is told of once: its wallet may have been used, on a disk that is not mounted", () => {
  const note = { note: "database_new", path, hint: expect.stringContaining("not mounted") };
  for (const expected of [[note], []]) {
    const { engine, notes } = openStore(path, SCHEMA);
    engine.close();
    expect(notes).toEqual(expected);
  }
});
