import { fork } from "node:child_process";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { tempFolder } from "../../../test/fakes/tempFolder.ts";
import { openInlineDatabase } from "./inlineDatabase.ts";
import type { ComponentSchema } from "./migrations.ts";
import { openWorkerDatabase } from "./workerDatabase.ts";

const notes: ComponentSchema = {
  component: "notes",
  migrations: [{ version: 1, name: "create", sql: ["CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT"] }],
};
const insert = (id: number, body: string | null) => ({ sql: "INSERT INTO notes (id, body) VALUES (?, ?)", params: [id, body] });

test("many writes at once: each batch has its own fate, and a read sees what was issued before it", async () => {
  const path = join(tempFolder(), "x.db");
  const db = await openWorkerDatabase(path, [notes]);
  const writes = Array.from({ length: 5_000 }, (_, i) =>
    db.write(i % 10 === 3 ? [insert(i, "undone"), insert(i, null)] : [insert(i, `b${i}`)]),
  );
  const settled = await Promise.allSettled(writes);
  settled.forEach((s, i) => {
    expect(s.status, `batch ${i}`).toBe(i % 10 === 3 ? "rejected" : "fulfilled");
    if (s.status === "rejected") expect(s.reason).toMatchObject({ name: "StorageError", kind: "Constraint", cause: expect.any(Error) });
  });
  expect(await db.read("SELECT count(*) AS n FROM notes")).toEqual([{ n: 4_500 }]);
  for (const end of ["", "-wal", "-shm"]) expect(statSync(path + end).mode & 0o777).toBe(0o600);
  await db.close();
});

test("close waits for everything issued before it and refuses what comes after", async () => {
  const path = join(tempFolder(), "x.db");
  const db = await openWorkerDatabase(path, [notes]);
  const writes = Array.from({ length: 3_000 }, (_, i) => db.write([insert(i, "x")]));
  const closed = db.close();
  await expect(db.write([insert(9_999, "late")])).rejects.toMatchObject({ kind: "Closed" });
  await Promise.all([...writes, closed]);
  await db.close();
  const again = openInlineDatabase(path, [notes]);
  expect(await again.read("SELECT count(*) AS n FROM notes")).toEqual([{ n: 3_000 }]);
  await again.close();
});

test("more waiting requests than the bound are refused, and the accepted ones are all stored", async () => {
  const db = await openWorkerDatabase(join(tempFolder(), "x.db"), [notes]);
  const settled = await Promise.allSettled(Array.from({ length: 20_000 }, (_, i) => db.write([insert(i, "x")])));
  const refused = settled.filter((s) => s.status === "rejected");
  expect(refused).toHaveLength(20_000 - 1_024 - 16_384);
  expect(refused[0]).toMatchObject({ reason: { kind: "Limit" } });
  expect(await db.read("SELECT count(*) AS n FROM notes")).toEqual([{ n: 1_024 + 16_384 }]);
  await db.close();
});

test("a file that cannot be opened rejects with the reason", async () => {
  const path = join(tempFolder(), "x.db");
  writeFileSync(path, "no database at all ".repeat(300));
  await expect(openWorkerDatabase(path, [notes])).rejects.toMatchObject({ kind: "Corrupt" });
  await expect(openWorkerDatabase(join(path, "below", "x.db"))).rejects.toMatchObject({ name: "StorageError" });
});

test("a thread that does not start says why: what an operator reads of a refused start is that one sentence", async () => {
  const gone = new URL("./gone.mjs", import.meta.url);
  await expect(openWorkerDatabase(":memory:", [], gone)).rejects.toThrow(/did not start: Cannot find module .*gone\.mjs/);
});

test("a thread that ends unasked is told of once, with all who wait; one that is closed is not", async () => {
  const dying = join(tempFolder(), "dying.mjs");
  writeFileSync(
    dying,
    `import { parentPort } from "node:worker_threads";
     parentPort.once("message", () => { throw new Error("out of memory"); });
     parentPort.postMessage({ op: "ready", notes: [] });`,
  );
  const died: string[] = [];
  const onDied = (error: Error): void => void died.push(`${error.message}: ${String(error.cause)}`);
  const db = await openWorkerDatabase(":memory:", [], pathToFileURL(dying), undefined, onDied);
  await expect(db.write([insert(1, "x")])).rejects.toMatchObject({ kind: "Io" });
  await expect(db.read("SELECT 1")).rejects.toMatchObject({ kind: "Io" });
  expect(died).toEqual(["the thread that writes the database failed: Error: out of memory"]);
  const sound = await openWorkerDatabase(join(tempFolder(), "x.db"), [notes], undefined, undefined, onDied);
  await sound.close();
  expect(died).toHaveLength(1);
});

/** A process that stores 1, 2, 3 … and tells each number once it is acknowledged. */
const WRITER = `
const { openWorkerDatabase } = await import(process.argv[2]);
const db = await openWorkerDatabase(process.argv[3], [{ component: "notes", migrations: [{ version: 1, name: "create",
  sql: ["CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT NOT NULL) STRICT"] }] }]);
for (let id = 1; ; id++) {
  const run = Array.from({ length: 20 }, (_, i) => db.write([{ sql: "INSERT INTO notes (id, body) VALUES (?, ?)", params: [id * 20 + i, "x".repeat(300)] }])
    .then(() => process.send(id * 20 + i)));
  await Promise.all(run);
}`;

test("kill -9 in the middle of writing loses nothing that was acknowledged", { timeout: 60_000 }, async () => {
  const dir = tempFolder();
  const script = join(dir, "writer.mjs");
  writeFileSync(script, WRITER);
  const path = join(dir, "x.db");
  for (const killAfter of [1, 50, 700]) {
    const acknowledged: number[] = [];
    const file = `${path}.${killAfter}`;
    const child = fork(script, [new URL("./workerDatabase.ts", import.meta.url).href, file], { execArgv: [] });
    await new Promise<void>((resolve) => {
      child.on("message", (id) => {
        acknowledged.push(Number(id));
        if (acknowledged.length === killAfter) child.kill("SIGKILL");
      });
      child.on("close", () => resolve());
    });
    expect(acknowledged.length).toBeGreaterThanOrEqual(killAfter);
    const db = openInlineDatabase(file, [notes]);
    const stored = new Set((await db.read("SELECT id FROM notes")).map((row) => row.id));
    expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
    expect(await db.read("PRAGMA integrity_check")).toEqual([{ integrity_check: "ok" }]);
    await db.close();
  }
});
