import { spawnSync } from "node:child_process";
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { firstStore } from "../../test/vectors/eventLogs/eventLogs.ts";
import { openInlineDatabase } from "../adapters/sqlite/inlineDatabase.ts";
import { SCHEMA } from "../adapters/sqlite/schema.ts";
import { lockDatabase, lockFolder } from "../adapters/system/processLock.ts";

const CLI = fileURLToPath(new URL("./cli.ts", import.meta.url));
let dir: string;
let path: string;
beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), "swapnode-data-"));
  const wallet = join(dir, "DB", "ab".repeat(20));
  mkdirSync(wallet, { recursive: true });
  path = join(wallet, "swapnode.db");
  const db = new DatabaseSync(path);
  db.exec(`PRAGMA journal_mode=WAL; ${firstStore}`);
  db.close();
  await openInlineDatabase(path, SCHEMA).close();
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function data(...args: string[]) {
  const env = { PATH: process.env.PATH, HOME: dir };
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, "data", ...args], { cwd: dir, env, encoding: "utf8" });
  return { status, stdout, stderr };
}
const below = (): string[] => ["--dbdir", "DB"];

/** Overwrites the page that is the root of a table or an index. */
function wreckRoot(name: string): void {
  const db = new DatabaseSync(path, { readOnly: true });
  const root = Number(db.prepare("SELECT rootpage FROM sqlite_schema WHERE name = ?").get(name)?.rootpage);
  db.close();
  const file = openSync(path, "r+");
  writeSync(file, new Uint8Array(4096).fill(0xa5), 0, 4096, (root - 1) * 4096);
  closeSync(file);
}

test("data check of a sound database says what is in it and changes nothing, also beside a running node", () => {
  const lock = lockFolder(join(path, ".."));
  const { status, stdout } = data("check", ...below());
  if (lock.ok) lock.value.release();
  expect(status).toBe(0);
  expect(stdout).toContain("4 swaps, 2 of them open; version account_txs 1, activations 1, chain 3");
  expect(stdout).toContain("no damage found");
  expect(data("repair", ...below()).stdout).toContain("nothing to repair");
  expect(data("accept", "--db", path).stdout).toContain("there is nothing to accept");
  expect(readdirSync(join(path, "..")).filter((name) => name.includes("damaged"))).toEqual([]);
});

test("a damaged database is found, repaired with a copy kept, and sound afterwards; what was lost is printed", () => {
  wreckRoot("chain_tx");
  const found = data("check", "--db", path);
  expect(found.status).toBe(1);
  expect(found.stdout).toContain("damaged:");
  const { status, stdout, stderr } = data("repair", ...below());
  expect([status, stderr]).toEqual([0, ""]);
  expect(stdout).toContain(`${path}.damaged-1\n`);
  expect(stdout).toContain("swap_events: 69\n");
  expect(stdout).toContain("what was known of the chains is left out");
  expect(stdout).toContain("Start the node.");
  expect(stdout).not.toContain("Swaps the node will not act on");
  expect(data("check", ...below()).status).toBe(0);
});

test("a destroyed swap log is printed table by table, with the swaps the node will not act on", () => {
  wreckRoot("swap_events");
  const { status, stdout } = data("repair", ...below());
  expect(status).toBe(0);
  expect(stdout).toMatch(/swap_events: \d+, \d+ of them from single pages/);
  expect(stdout).toContain("Lost:\n  table swap_events could not be read to its end");
});

test("a repair beside a running node is refused", () => {
  wreckRoot("chain_tx");
  const lock = lockFolder(join(path, ".."));
  const { status, stderr } = data("repair", ...below());
  if (lock.ok) lock.value.release();
  expect(status).toBe(1);
  expect(stderr).toContain("is using");
  expect(existsSync(`${path}.damaged-1`)).toBe(false);
});

test("a link to the database of a running node leads accept and repair to its lock and its mark", () => {
  const link = join(dir, "link.db");
  symlinkSync(path, link);
  const lock = lockFolder(join(path, ".."));
  const refused = [data("accept", "--db", link), data("repair", "--db", link)];
  if (lock.ok) lock.value.release();
  for (const { status, stderr } of refused) expect([status, stderr]).toEqual([1, expect.stringContaining("is using")]);
  expect(data("accept", "--db", link).stdout).toBe(`${path}: it is what was last used here, there is nothing to accept\n`);
});

test("two folders with one database, by a link, have one lock, from whichever side and also for a repair of the file itself", () => {
  const other = join(dir, "OTHER", "swapnode.db");
  mkdirSync(join(dir, "OTHER"));
  symlinkSync(path, other);
  for (const [first, second] of [
    [path, other],
    [other, path],
  ] as const) {
    const lock = lockDatabase(first);
    expect(lock.ok).toBe(true);
    expect(lockDatabase(second)).toMatchObject({ ok: false, error: { kind: "AlreadyRunning", folder: path } });
    expect(data("repair", "--db", second).stderr).toContain("is using");
    if (lock.ok) lock.value.release();
  }
});

test("a missing database of a used folder is named by check and begun anew only after accept", async () => {
  rmSync(path);
  expect(data("check", ...below())).toMatchObject({ status: 1, stdout: `${path}: it is missing\n` });
  expect(() => openInlineDatabase(path, SCHEMA)).toThrow("swapnode data accept");
  expect(data("accept", ...below()).stdout).toContain("The next start goes on with an empty database.");
  await openInlineDatabase(path, SCHEMA).close();
});

test.each([
  [[], 2, "data needs one of check, repair, accept"],
  [["mend"], 2, "usage: swapnode data"],
  [["check", "--file", "x"], 2, "usage: swapnode data"],
  [["check", "--db", "x", "--dbdir", "y"], 2, "usage: swapnode data"],
  [["repair", "--db", "nothing/here.db"], 1, "there is no "],
  [["check", "--dbdir", "empty"], 1, "name the configuration's dbdir with --dbdir, or the file with --db"],
])("data %j is refused with a sentence", (args, status, text) => {
  const refused = data(...args);
  expect(refused.status).toBe(status);
  expect(refused.stderr).toContain(text);
});

test("without a folder the database of the node that starts here is meant", () => {
  mkdirSync(join(dir, ".kdf", "DB", "cd".repeat(20)), { recursive: true });
  copyFileSync(path, join(dir, ".kdf", "DB", "cd".repeat(20), "swapnode.db"));
  renameSync(join(dir, "DB"), join(dir, "data"));
  writeFileSync(join(dir, "MM2.json"), '{"dbdir":"data"}');
  expect(data("check").stdout).toContain(join(dir, "data", "ab".repeat(20), "swapnode.db"));
  writeFileSync(join(dir, "MM2.json"), '{"dbdir":5}');
  expect(data("accept")).toMatchObject({ status: 1, stderr: expect.stringContaining("cannot be read") });
});

test("with two wallets, repair asks which one", () => {
  const other = join(dir, "DB", "cd".repeat(20));
  mkdirSync(other);
  new DatabaseSync(join(other, "swapnode.db")).close();
  const { status, stderr } = data("repair", ...below());
  expect(status).toBe(2);
  expect(stderr).toContain("name one with --db");
});
