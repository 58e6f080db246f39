import { spawnSync } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { MessageChannel } from "node:worker_threads";
import { afterEach, expect, test, vi } from "vitest";
import { tempFolder } from "../../../test/fakes/tempFolder.ts";
import { DiskReserve } from "./diskReserve.ts";
import { openStore } from "./openStore.ts";
import { serveDatabase } from "./serveDatabase.ts";
import { SqliteEngine } from "./sqliteEngine.ts";
import { STORE_SCHEMA } from "./storeMark.ts";
import type { WorkerReply } from "./workerProtocol.ts";

const KILOBYTES = 1_024;
const RESERVE = 4_096 * KILOBYTES;
/** https://sqlite.org/rescode.html */
const [SQLITE_IOERR_READ, SQLITE_CORRUPT] = [266, 11];
const CREATE = "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT";
/** One fills a page: each is a commit that waits for the disk. */
const NOTE = 3 * KILOBYTES;
const insert = (id: number, size = NOTE) => ({ sql: "INSERT INTO notes (id, body) VALUES (?, ?)", params: [id, "x".repeat(size)] });

/** No file of this process may grow past so many bytes: a disk without space. */
const prlimit = (soft: number | "unlimited"): boolean =>
  spawnSync("prlimit", ["--pid", String(process.pid), `--fsize=${soft}:unlimited`]).status === 0;
const skipped = prlimit("unlimited") ? "" : " (skipped: prlimit is not there)";
afterEach(() => {
  vi.restoreAllMocks();
  prlimit("unlimited");
});

/** From here on the files of a database may be written over, and not grow. */
const fill = (path: string): boolean => prlimit(Math.max(statSync(path).size, statSync(`${path}-wal`).size));

test.skipIf(skipped !== "")(`on a full disk half of the reserve is for new things, the other half for what has begun${skipped}`, () => {
  const path = join(tempFolder(), "x.db");
  const engine = new SqliteEngine(path);
  engine.exec(CREATE);
  const reserve = new DiskReserve(engine, path);
  expect([reserve.isLow(), engine.freeBytes() >= RESERVE]).toEqual([false, true]);
  fill(path);
  let stored = 0;
  const store = (): boolean => {
    const [failure] = engine.writeGroup([[insert(stored + 1)]]);
    if (failure) return false;
    stored++;
    reserve.stored();
    return true;
  };
  while (!reserve.isLow() && store());
  const begun = stored;
  expect(begun * NOTE).toBeGreaterThan(RESERVE / 4);
  while (store());
  expect((stored - begun) * NOTE).toBeGreaterThan(RESERVE / 4);
  expect(reserve.isLow()).toBe(true);
  prlimit("unlimited");
  expect([reserve.isLow(), engine.freeBytes() >= RESERVE, store()]).toEqual([false, true, true]);
  expect(engine.read("SELECT count(*) AS n FROM notes")).toEqual([{ n: stored }]);
  engine.close();
});

test("a reserve that was used is filled up while the disk has room, and again after a start", () => {
  const path = join(tempFolder(), "x.db");
  let engine = new SqliteEngine(path);
  engine.exec(CREATE);
  const reserve = new DiskReserve(engine, path);
  for (let id = 0; id < 100; id++) {
    engine.writeGroup([[insert(id, 100 * KILOBYTES)]]);
    reserve.stored();
    expect(engine.freeBytes()).toBeGreaterThan(RESERVE / 4);
  }
  engine.close();
  engine = new SqliteEngine(path);
  new DiskReserve(engine, path);
  expect([engine.freeBytes() >= RESERVE, statSync(`${path}-wal`).size > RESERVE]).toEqual([true, true]);
  engine.close();
});

test.skipIf(skipped !== "")(`where the disk has no room for a whole reserve, none of it is taken from what has begun${skipped}`, () => {
  const path = join(tempFolder(), "x.db");
  let engine = new SqliteEngine(path);
  engine.exec(CREATE);
  let id = 0;
  while (id < 200) engine.writeGroup([[insert(++id)]]);
  // SQLite's log of the reserve has room, the file it is copied into has not.
  prlimit(RESERVE + 256 * KILOBYTES);
  const goesOn = (): boolean => {
    const until = id + 100;
    const reserve = new DiskReserve(engine, path);
    while (id < until && engine.writeGroup([[insert(id + 1)]])[0] === null) id++;
    return reserve.isLow() && id === until;
  };
  expect(goesOn()).toBe(true);
  engine.close();
  engine = new SqliteEngine(path);
  expect([goesOn(), engine.read("SELECT count(*) AS n FROM notes")]).toEqual([true, [{ n: id }]]);
  engine.close();
});

test.skipIf(skipped !== "")(`a node that was killed on a full disk starts again, and goes on storing what has begun${skipped}`, () => {
  const path = join(tempFolder(), "x.db");
  const schema = [STORE_SCHEMA, { component: "notes", migrations: [{ version: 1, name: "n", sql: [CREATE] }] }];
  const open = (): SqliteEngine => openStore(path, schema).engine;
  const killed = open();
  new DiskReserve(killed, path);
  expect(killed.writeGroup([[insert(1)]])).toEqual([null]);
  // Nothing can be written.
  prlimit(1);
  const again = open();
  fill(path);
  expect([new DiskReserve(again, path).isLow(), again.writeGroup([[insert(2)]])]).toEqual([true, [null]]);
  prlimit("unlimited");
  for (const engine of [again, killed]) engine.close();
  expect(openStore(path, schema).engine.read("SELECT count(*) AS n FROM notes")).toEqual([{ n: 2 }]);
});

test("a disk that fails for a moment ends nothing that the reserve is for, and nothing is taken for damaged", () => {
  const path = join(tempFolder(), "x.db");
  const engine = new SqliteEngine(path);
  engine.exec(CREATE);
  const reserve = new DiskReserve(engine, path);
  const failing = (method: "prepare" | "exec", errcode: number) =>
    vi.spyOn(DatabaseSync.prototype, method).mockImplementation(() => {
      throw Object.assign(new Error("the disk fails"), { code: "ERR_SQLITE_ERROR", errcode });
    });
  failing("prepare", SQLITE_IOERR_READ);
  expect(() => reserve.stored()).not.toThrow();
  vi.restoreAllMocks();
  // SQLite says so of what it cannot read.
  failing("exec", SQLITE_CORRUPT);
  expect([engine.makeRoom(RESERVE), engine.fault]).toEqual([false, null]);
  vi.restoreAllMocks();
  reserve.stored();
  expect([reserve.isLow(), engine.writeGroup([[insert(1)]])]).toEqual([false, [null]]);
  engine.close();
});

test.skipIf(skipped !== "")(`the thread that writes refuses what is new, and stores what has begun${skipped}`, async () => {
  const { port1: client, port2: server } = new MessageChannel();
  const replies: WorkerReply[] = [];
  client.on("message", (reply: WorkerReply) => replies.push(reply));
  const path = join(tempFolder(), "x.db");
  serveDatabase(server, {
    path,
    keepsRoom: true,
    schema: [{ component: "notes", migrations: [{ version: 1, name: "n", sql: [CREATE] }] }],
  });
  const write = async (id: number, isNew: boolean): Promise<string> => {
    client.postMessage({ op: "write", id, batch: [insert(id, 100 * KILOBYTES)], isNew });
    await vi.waitFor(() => expect(replies.at(-1)).toMatchObject({ id }));
    const reply = replies.at(-1);
    return reply?.op === "error" ? `${reply.error.kind}: ${reply.error.message}` : (reply?.op ?? "");
  };
  let id = 0;
  expect(await write(++id, true)).toBe("done");
  fill(path);
  let answer = "done";
  while (answer === "done" && id < 100) answer = await write(++id, true);
  expect(answer).toMatch(/^DiskFull: cannot store: the disk is full/);
  expect(await write(++id, false)).toBe("done");
  prlimit("unlimited");
  expect(await write(++id, true)).toBe("done");
  client.close();
});
