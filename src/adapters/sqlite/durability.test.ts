import { once } from "node:events";
import { closeSync, fstatSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { MessageChannel } from "node:worker_threads";
import { afterEach, describe, expect, test, vi } from "vitest";
import { tempFolder } from "../../../test/fakes/tempFolder.ts";
import { StorageError } from "../../ports/sql.ts";
import { openStore } from "./openStore.ts";
import { serveDatabase } from "./serveDatabase.ts";
import { SqliteEngine } from "./sqliteEngine.ts";
import { STORE_SCHEMA } from "./storeMark.ts";
import type { WorkerReply } from "./workerProtocol.ts";

afterEach(() => vi.restoreAllMocks());

/** https://sqlite.org/rescode.html */
const SQLITE_IOERR_FSYNC = 1034;

const insert = (id: number) => ({ sql: "INSERT INTO notes (id) VALUES (?)", params: [id] });
function aStore(): SqliteEngine {
  const engine = new SqliteEngine(":memory:");
  expect(engine.writeGroup([[{ sql: "CREATE TABLE notes (id INTEGER PRIMARY KEY) STRICT" }]])).toEqual([null]);
  return engine;
}

test("every connection waits for the disk before a commit returns", () => {
  // 2 = FULL, https://sqlite.org/pragma.html#pragma_synchronous
  expect(aStore().read("PRAGMA synchronous")).toEqual([{ synchronous: 2 }]);
});

/** From here on no commit reaches the disk. @returns ends that */
function failFsyncs(): () => void {
  const exec = DatabaseSync.prototype.exec;
  const failing = vi.spyOn(DatabaseSync.prototype, "exec").mockImplementation(function (this: DatabaseSync, sql: string) {
    if (sql.endsWith("COMMIT")) throw Object.assign(new Error("disk I/O error"), { code: "ERR_SQLITE_ERROR", errcode: SQLITE_IOERR_FSYNC });
    exec.call(this, sql);
  });
  return () => failing.mockRestore();
}

test("after a failed fsync nothing is acknowledged any more: what the disk holds is not known", () => {
  const engine = aStore();
  const heal = failFsyncs();
  expect(engine.writeGroup([[insert(1)], [insert(2)]]).map((o) => o?.kind)).toEqual(["Io", "Io"]);
  heal();
  expect(engine.writeGroup([[insert(3)]]).map((o) => o?.kind)).toEqual(["Io"]);
  expect(engine.read("SELECT id FROM notes")).toEqual([]);
});

/** Has every use of an open file fail, as where a network drive is gone. */
function loseFile(path: string): void {
  const { ino } = statSync(path);
  const isIt = (fd: number): boolean => {
    try {
      return fstatSync(fd).ino === ino;
    } catch {
      return false;
    }
  };
  const open = Array.from({ length: 1_000 }, (_, fd) => fd).filter(isIt);
  expect(open).toHaveLength(1);
  for (const fd of open) closeSync(fd);
}

test("what is stored is acknowledged also where the mark beside it can be neither written nor closed", () => {
  const path = join(tempFolder(), "x.db");
  const schema = [
    STORE_SCHEMA,
    { component: "notes", migrations: [{ version: 1, name: "n", sql: ["CREATE TABLE notes (id INTEGER PRIMARY KEY) STRICT"] }] },
  ];
  const { engine } = openStore(path, schema);
  loseFile(`${path}.mark`);
  expect([engine.writeGroup([[insert(1)]]), engine.writeGroup([[insert(2)], [insert(3)]])]).toEqual([[null], [null, null]]);
  expect(engine.read("SELECT count(*) AS n FROM notes")).toEqual([{ n: 3 }]);
  engine.close();
});

describe("a disk that is well again after a failed fsync", () => {
  const broken = (): SqliteEngine => {
    const engine = aStore();
    const heal = failFsyncs();
    engine.writeGroup([[insert(1)]]);
    heal();
    return engine;
  };

  test("takes writes once a transaction has reached it and what is stored was looked through; what failed never counts", () => {
    const engine = broken();
    const looked = vi.fn();
    expect(engine.fault?.kind).toBe("Io");
    expect(engine.recover(looked)).toBe(true);
    expect(looked).toHaveBeenCalledOnce();
    expect([engine.fault, engine.writeGroup([[insert(2)]])]).toEqual([null, [null]]);
    expect(engine.read("SELECT id FROM notes")).toEqual([{ id: 2 }]);
  });

  test("takes none while its fsyncs go on failing", () => {
    const engine = broken();
    const heal = failFsyncs();
    const looked = vi.fn();
    expect(engine.recover(looked)).toBe(false);
    expect(looked).not.toHaveBeenCalled();
    heal();
    expect(engine.writeGroup([[insert(2)]]).map((o) => o?.kind)).toEqual(["Io"]);
    expect(engine.recover(() => undefined)).toBe(true);
  });

  test("takes none for good when what is stored is damaged", () => {
    const engine = broken();
    const damaged = (): never => {
      throw new StorageError("Corrupt", "damaged");
    };
    expect(engine.recover(damaged)).toBe(false);
    expect(engine.recover(() => undefined)).toBe(false);
    expect(engine.writeGroup([[insert(2)]]).map((o) => o?.kind)).toEqual(["Corrupt"]);
  });
});

test("the thread that writes tries a disk again whose fsync failed at each write, and goes on when it is well", async () => {
  const { port1: client, port2: server } = new MessageChannel();
  const replies: WorkerReply[] = [];
  client.on("message", (reply: WorkerReply) => replies.push(reply));
  const schema = [
    { component: "notes", migrations: [{ version: 1, name: "n", sql: ["CREATE TABLE notes (id INTEGER PRIMARY KEY) STRICT"] }] },
  ];
  serveDatabase(server, { path: join(tempFolder(), "x.db"), schema });
  const write = async (id: number): Promise<string> => {
    client.postMessage({ op: "write", id, batch: [insert(id)] });
    await vi.waitFor(() => expect(replies.at(-1)).toMatchObject({ id }));
    const reply = replies.at(-1);
    return reply?.op === "error" ? reply.error.kind : (reply?.op ?? "");
  };
  expect(await write(1)).toBe("done");
  const heal = failFsyncs();
  expect(await write(2)).toBe("Io");
  expect([await write(3), await write(4)]).toEqual(["Io", "Io"]);
  heal();
  expect([await write(6), await write(7)]).toEqual(["done", "done"]);
  client.postMessage({ op: "read", id: 8, sql: "SELECT id FROM notes ORDER BY id", params: [] });
  await vi.waitFor(() => expect(replies.at(-1)).toMatchObject({ id: 8, rows: [{ id: 1 }, { id: 6 }, { id: 7 }] }));
  client.postMessage({ op: "close", id: 9 });
  await once(client, "close");
});
