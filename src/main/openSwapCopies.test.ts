import { execFileSync, spawnSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { noStrace, parseCalls, recordCalls, traced } from "../../test/e2e/support/strace.ts";
import { SilentLog } from "../../test/fakes/silentLog.ts";
import { tempFolder } from "../../test/fakes/tempFolder.ts";
import { type RecordedLog, recordedLogs } from "../../test/vectors/eventLogs/eventLogs.ts";
import { COPY_HEADER, eventLine } from "../adapters/sqlite/copies/copyText.ts";
import { openInlineDatabase } from "../adapters/sqlite/inlineDatabase.ts";
import { createSwapStore, SWAP_SCHEMA } from "../adapters/sqlite/swapStore.ts";
import { VirtualClock } from "../adapters/virtualClock/virtualClock.ts";
import { openSwapCopies } from "./openSwapCopies.ts";

const WALLET = "ab".repeat(20);
const SWAP = recordedLogs.find((log) => log.role === "taker" && log.outcome === "success") as RecordedLog;
const { uuid } = SWAP.summary;

/** A device of its own on every system this program runs on. */
const OTHER_DISK = "/dev";

function world() {
  const folder = tempFolder();
  const own = join(folder, WALLET);
  const log = new SilentLog();
  const clock = new VirtualClock();
  const db = openInlineDatabase(":memory:", [SWAP_SCHEMA]);
  const open = (dbdir = OTHER_DISK) => openSwapCopies({ folder, walletId: WALLET, dbdir }, { db, store: createSwapStore(db), clock, log });
  return { folder, own, path: join(own, "open-swaps"), log, clock, db, open };
}
type World = ReturnType<typeof world>;

function writeCopy({ own, path }: World, events = SWAP.events): void {
  mkdirSync(own);
  writeFileSync(path, `${COPY_HEADER}\n${events.map((text, seq) => eventLine(uuid, seq, text)).join("")}`);
}

test("a copy that cannot be used is kept once, and told of at each start", async () => {
  const w = world();
  writeCopy(w);
  await w.db.write([{ sql: "INSERT INTO swap_events (uuid, seq, event) VALUES (?, 0, ?)", params: [uuid, SWAP.events[1] ?? ""] }]);
  for (let start = 1; start <= 4; start++) {
    await (await w.open()).close();
    expect(readdirSync(w.own).sort()).toEqual(["open-swaps", "open-swaps.kept-1"]);
    expect(w.log.lines.filter((l) => l.event === "swap_copy_not_used").length).toBe(start);
  }
});

test("copies on the disk of the database are told of: what is lost with it is lost with its copies", async () => {
  const w = world();
  await (await w.open()).close();
  expect(w.log.lines).toEqual([]);
  await (await w.open(tempFolder())).close();
  const hint = expect.stringContaining("not mounted");
  expect(w.log.lines).toMatchObject([{ level: "warn", event: "swap_copies_on_the_same_disk", fields: { folder: w.folder, hint } }]);
});

test("a kept copy that cannot be read keeps no other from being taken up, and adds none at each start", async () => {
  const w = world();
  writeCopy(w);
  mkdirSync(`${w.path}.kept-1`);
  renameSync(w.path, `${w.path}.kept-2`);
  for (let start = 1; start <= 3; start++) {
    await (await w.open()).close();
    expect(readdirSync(w.own).sort()).toEqual(["open-swaps", "open-swaps.kept-1"]);
  }
  expect(w.log.lines.filter((l) => l.event === "swap_taken_up_from_copy").map((l) => l.fields.uuid)).toEqual([uuid]);
  expect(w.log.lines.filter((l) => l.event === "swap_copies_not_read").length).toBe(3);
});

test("what was kept because the folder came late is taken up at the next start, and does not pile up", async () => {
  const w = world();
  writeCopy(w);
  for (let start = 1; start <= 3; start++) {
    renameSync(w.folder, `${w.folder}-late`);
    const copies = await w.open();
    renameSync(`${w.folder}-late`, w.folder);
    await copies.add("");
    await copies.close();
    expect(readdirSync(w.own).length).toBe(start + 1);
    // Else the last that is said is that all is well, and nobody starts the node again.
    expect(w.log.lines.at(-1)).toMatchObject({ event: "swap_copies_written_again" });
    expect(w.log.lines.at(-2)).toMatchObject({ level: "error", event: "swap_copies_kept", fields: { copy: `${w.path}.kept-${start}` } });
  }
  await (await w.open()).close();
  expect(w.log.lines.filter((l) => l.event === "swap_taken_up_from_copy").length).toBe(1);
  expect((await w.db.read("SELECT 1 FROM swap_events WHERE uuid = ?", [uuid])).length).toBe(SWAP.events.length);
  expect(readdirSync(w.own)).toEqual(["open-swaps"]);
});

test("of a folder that does not answer nothing else is asked until it does: the threads for files and names are two", async () => {
  const w = world();
  mkdirSync(w.own);
  execFileSync("mkfifo", [w.path]);
  const opening = w.open();
  const opened = opening.then(() => true);
  await expect.poll(() => Promise.race([opened, w.clock.advance(5_000).then(() => false)]), { timeout: 10_000 }).toBe(true);
  const copies = await opening;
  expect(w.log.lines.map((l) => l.event)).toEqual(["swap_copies_not_read", "swap_copies_not_written"]);
  expect(readdirSync(w.own)).toEqual(["open-swaps"]);
  await expect(copies.add("")).rejects.toMatchObject({ message: expect.stringContaining("does not answer") });
  closeSync(openSync(w.path, "w"));
  const add = () =>
    copies.add("").then(
      () => "written",
      () => "refused",
    );
  await expect.poll(add).toBe("written");
  expect(readdirSync(w.own).sort()).toEqual(["open-swaps", "open-swaps.kept-1"]);
  await copies.close();
});

/** Opens copies in a folder that does not answer, waits for its deadline, closes them and ends. */
const PROGRAM = `
import { stat } from "node:fs/promises";
const [folder, root] = process.argv.slice(1);
const load = (path) => import(root + path);
const { closeSwapCopies, openSwapCopies } = await load("/src/main/openSwapCopies.ts");
const { openInlineDatabase } = await load("/src/adapters/sqlite/inlineDatabase.ts");
const { createSwapStore, SWAP_SCHEMA } = await load("/src/adapters/sqlite/swapStore.ts");
const { VirtualClock } = await load("/src/adapters/virtualClock/virtualClock.ts");
const clock = new VirtualClock();
const log = { warn: () => undefined, error: (event) => console.log(event) };
const db = openInlineDatabase(":memory:", [SWAP_SCHEMA]);
let copies = null;
void openSwapCopies({ folder, walletId: "${WALLET}", dbdir: folder }, { db, store: createSwapStore(db), clock, log }).then((it) => { copies = it; });
while (copies === null) {
  await stat(folder); // Asked after what is waited for, so that has its answer if there is one.
  await clock.advance(1_000);
}
await closeSwapCopies(copies);
process.exit(3);
`;

test("a process whose folder does not answer ends all the same: its lock on the data folder would keep the next one from starting", () => {
  const w = world();
  mkdirSync(w.own);
  execFileSync("mkfifo", [w.path]);
  const args = ["--input-type=module", "-e", PROGRAM, w.folder, join(import.meta.dirname, "../..")];
  const ended = spawnSync(process.execPath, args, { timeout: 30_000, killSignal: "SIGTERM", encoding: "utf8" });
  expect(ended.stdout).toContain("swap_copies_not_written");
  expect([ended.status, ended.signal]).toEqual([null, "SIGKILL"]);
});

/** Makes the first copy in a folder. */
const FIRST_COPY = `
const [path, root] = process.argv.slice(-2);
const load = (path) => import(root + path);
const { SwapCopies } = await load("/src/adapters/sqlite/copies/swapCopies.ts");
const { createSystemClock } = await load("/src/adapters/system/systemClock.ts");
const store = { unsettled: async () => [] };
const copies = new SwapCopies({ path, isTakenUp: true, store, clock: createSystemClock(), log: console });
await copies.open();
await copies.close();
`;

test.skipIf(noStrace !== "")(`the name of a wallet's new folder is on the disk before its first copy counts${noStrace}`, () => {
  const { folder } = world();
  const record = join(tempFolder(), "calls");
  traced(recordCalls(record), "--input-type=module", [
    "-e",
    FIRST_COPY,
    join(folder, WALLET, "open-swaps"),
    join(import.meta.dirname, "../.."),
  ]);
  const synced = parseCalls(readFileSync(record, "utf8")).filter(({ call }) => call === "sync-end");
  expect(synced.map(({ path }) => path)).toEqual([folder, join(folder, WALLET, "open-swaps.partial"), join(folder, WALLET)]);
});
