import { DatabaseSync } from "node:sqlite";
import { afterEach, expect, test, vi } from "vitest";
import { SqliteEngine } from "./sqliteEngine.ts";

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

test("after a failed fsync nothing is acknowledged any more: what the disk holds is not known", () => {
  const engine = aStore();
  const exec = DatabaseSync.prototype.exec;
  const failing = vi.spyOn(DatabaseSync.prototype, "exec").mockImplementation(function (this: DatabaseSync, sql: string) {
    if (sql === "COMMIT") throw Object.assign(new Error("disk I/O error"), { code: "ERR_SQLITE_ERROR", errcode: SQLITE_IOERR_FSYNC });
    exec.call(this, sql);
  });
  expect(engine.writeGroup([[insert(1)], [insert(2)]]).map((o) => o?.kind)).toEqual(["Io", "Io"]);
  failing.mockRestore();
  expect(engine.writeGroup([[insert(3)]]).map((o) => o?.kind)).toEqual(["Io"]);
  expect(engine.read("SELECT id FROM notes")).toEqual([]);
});
