import { spawn } from "node:child_process";
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { checkDatabase } from "../../src/adapters/sqlite/checkDatabase.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { SCHEMA } from "../../src/adapters/sqlite/schema.ts";
import { parseOrderRecord } from "../../src/app/orders/orderRecord.ts";
import { firstStore, recordedLogs } from "../vectors/eventLogs/eventLogs.ts";
import { killAt, noStrace, parseCalls, recordCalls, traced } from "./support/strace.ts";

const program = (name: string): string => fileURLToPath(new URL(`support/${name}`, import.meta.url));
const WRITER = program("storeWriter.ts");
const OPENER = program("openStore.ts");
const [SWAPS, EVENTS] = ["2", "4"];
/** More calls than any of these runs makes: a run that never ends would be a bug of the test. */
const MAX_CALLS = 1_000;
const FIRST_VERSION = 3;

let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "swapnode-kills-"));
  path = join(dir, "x.db");
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const ends = ["", "-wal", "-shm", ".mark", ".mark.partial"];
const restore = (template: string): void => {
  for (const name of [...ends, `.before-migration-${FIRST_VERSION}`, `.before-migration-${FIRST_VERSION}.partial`])
    rmSync(path + name, { force: true });
  for (const end of ends) if (existsSync(template + end)) copyFileSync(template + end, path + end);
};
async function emptyStore(): Promise<string> {
  const template = join(dir, "template.db");
  await openInlineDatabase(template, SCHEMA).close();
  return template;
}
const acknowledged = (output: string): string[] =>
  output
    .split("\n")
    .filter((line) => line.startsWith("ack "))
    .map((line) => line.slice("ack ".length));

/** Every acknowledged event is there as it was written, and of the others all of a write or nothing. @returns the events */
function expectWhole(file: string, acks: readonly string[], when: string): ReadonlySet<string> {
  const db = new DatabaseSync(file);
  const rows = db.prepare("SELECT uuid, seq, event FROM swap_events ORDER BY uuid, seq").all();
  const marks = new Set(
    db
      .prepare("SELECT kind, value FROM swap_marks")
      .all()
      .map((row) => `${row.kind} ${row.value}`),
  );
  const swaps = db
    .prepare("SELECT uuid FROM swaps ORDER BY uuid")
    .all()
    .map((row) => row.uuid);
  expect(db.prepare("PRAGMA integrity_check").all(), when).toEqual([{ integrity_check: "ok" }]);
  db.close();
  const stored = new Set(rows.map((row) => `${row.uuid} ${row.seq}`));
  expect(
    acks.filter((ack) => !stored.has(ack)),
    when,
  ).toEqual([]);
  for (const { uuid, seq, event } of rows) {
    const log = recordedLogs.find((l) => l.summary.uuid === uuid);
    const { sum: _sum, ...content } = JSON.parse(String(event));
    expect(content, when).toEqual(JSON.parse(log?.events[Number(seq)] ?? ""));
    expect(marks, when).toContain(seq === 0 ? `secret_hash ${uuid} first` : `fee_tx ${uuid} ${seq}`);
  }
  expect(marks.size, when).toBe(rows.length);
  expect(swaps, when).toEqual([...new Set(rows.map((row) => row.uuid))]);
  // The next start takes it for what it is: no alarm, no damage.
  expect(checkDatabase(file, SCHEMA, parseOrderRecord).problems, when).toEqual([]);
  return stored;
}

test("a process killed after any acknowledgement has stored everything it acknowledged, and no half write", async () => {
  const template = await emptyStore();
  for (let n = 1; ; n++) {
    restore(template);
    const acks: string[] = [];
    const child = spawn(process.execPath, [WRITER, path, SWAPS, EVENTS], { stdio: ["ignore", "pipe", "inherit"] });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      if (acknowledged(output).length >= n) child.kill("SIGKILL");
    });
    await new Promise<void>((resolve) => child.on("close", () => resolve()));
    acks.push(...acknowledged(output));
    expectWhole(path, acks, `killed after acknowledgement ${n}`);
    if (acks.length < n || n >= Number(SWAPS) * Number(EVENTS)) {
      expect(acks.length).toBe(Number(SWAPS) * Number(EVENTS));
      break;
    }
  }
});

for (const syscall of ["pwrite64", "fsync", "fdatasync", "ftruncate"]) {
  test.skipIf(noStrace !== "")(
    `a process killed at any ${syscall} of the store has stored everything it acknowledged${noStrace}`,
    async () => {
      const template = await emptyStore();
      let n = 1;
      for (; n < MAX_CALLS; n++) {
        restore(template);
        const paths = [path, `${path}-wal`, `${path}-shm`, `${path}.mark`, `${path}.mark.partial`, dir];
        const { stdout, status, stderr } = traced(killAt(syscall, n, paths), WRITER, [path, SWAPS, EVENTS]);
        expectWhole(path, acknowledged(stdout), `killed at ${syscall} ${n}`);
        if (stdout.includes("done")) {
          expect([status, stderr]).toEqual([0, ""]);
          expect(acknowledged(stdout)).toHaveLength(Number(SWAPS) * Number(EVENTS));
          break;
        }
      }
      // One of the two is what SQLite was built to use; both are looked for.
      if (syscall === "pwrite64") expect(n).toBeGreaterThan(30);
    },
  );
}

test.skipIf(noStrace !== "")(`while fsyncs fail nothing more is acknowledged${noStrace}`, async () => {
  const template = await emptyStore();
  for (let n = 1; n <= 3; n++) {
    restore(template);
    const fail = ["fsync", "fdatasync"].flatMap((call) => ["-e", `inject=${call}:error=EIO:when=${n}+`]);
    const { stdout, status } = traced(["-o", "/dev/null", "-e", "trace=fsync,fdatasync", ...fail, "-P", `${path}-wal`], WRITER, [
      path,
      SWAPS,
      EVENTS,
    ]);
    expect(status).toBe(3);
    expect(stdout).toContain("refused Io");
    expect(stdout.slice(stdout.indexOf("refused"))).not.toContain("ack");
    expect(acknowledged(stdout).length).toBeLessThan(Number(SWAPS) * Number(EVENTS));
    if (n === 1) expect(acknowledged(stdout)).toEqual([]);
  }
});

/**
 * `now` is what a reader sees, `safe` what is on the disk. `dirty` are the pages an fsync would write, and `syncing` those it writes: after one
 * that failed the system takes them for written, and no later one writes them.
 */
type CutFile = {
  now: Buffer;
  safe: Buffer;
  dirty: Set<number>;
  syncing: { readonly now: Buffer; readonly dirty: ReadonlySet<number> } | null;
};
const PAGE = 4_096;

/**
 * The disk after a power cut: of each file what was fsynced, plus of the later writes those `survives` names (a disk may have
 * written any of them).
 */
class CutDisk {
  readonly #files = new Map<string, CutFile>();
  /** Made since, and their folder not fsynced: after the cut there is no such name. */
  readonly #unnamed = new Set<string>();
  syncs = 0;

  /** @param present files that were on the disk before */
  constructor(present: readonly string[]) {
    for (const path of present) {
      const bytes = readFileSync(path);
      this.#files.set(path, { now: bytes, safe: bytes, dirty: new Set(), syncing: null });
    }
  }
  file(path: string): CutFile {
    const known = this.#files.get(path);
    if (known) return known;
    const file = { now: Buffer.alloc(0), safe: Buffer.alloc(0), dirty: new Set<number>(), syncing: null };
    this.#files.set(path, file);
    return file;
  }
  created(path: string): void {
    if (!this.#files.has(path)) this.#unnamed.add(path);
  }
  write(path: string, at: number, bytes: Buffer): void {
    const file = this.file(path);
    const grown = Buffer.alloc(Math.max(file.now.length, at + bytes.length));
    file.now.copy(grown);
    bytes.copy(grown, at);
    file.now = grown;
    for (let page = Math.floor(at / PAGE); page * PAGE < at + bytes.length; page++) file.dirty.add(page);
  }
  truncate(path: string, size: number): void {
    this.file(path).now = Buffer.from(this.file(path).now.subarray(0, size));
  }
  syncBegin(path: string): void {
    const file = this.file(path);
    file.syncing = { now: file.now, dirty: file.dirty };
    file.dirty = new Set();
  }
  syncEnd(path: string): void {
    this.syncs++;
    const file = this.file(path);
    if (file.syncing) {
      const { now, dirty } = file.syncing;
      const safe = Buffer.alloc(now.length);
      file.safe.copy(safe);
      for (const page of dirty) now.copy(safe, page * PAGE, page * PAGE, (page + 1) * PAGE);
      file.safe = safe;
    }
    for (const name of this.#unnamed) if (dirname(name) === path) this.#unnamed.delete(name);
  }
  syncFailed(path: string): void {
    this.file(path).syncing = null;
  }
  /** Puts the files down as the disk holds them; a file whose name was not yet on the disk is not there. */
  lay(from: string, to: string, torn: (safe: Buffer, now: Buffer) => Buffer): void {
    for (const end of ["", "-wal", ".mark"]) {
      rmSync(to + end, { force: true });
      if (!this.#unnamed.has(from + end)) writeFileSync(to + end, torn(this.file(from + end).safe, this.file(from + end).now));
    }
  }
}

/** Of what was not fsynced, each page of 512 bytes is there or not, by a fixed draw. */
const torn =
  (draw: number) =>
  (safe: Buffer, now: Buffer): Buffer => {
    const out = Buffer.alloc(Math.max(safe.length, now.length));
    safe.copy(out);
    for (let at = 0, i = draw; at < now.length; at += 512, i++)
      if ((i * 2_654_435_761) % 7 < 3) now.copy(out, at, at, Math.min(at + 512, now.length));
    return out;
  };

test.skipIf(noStrace !== "")(
  `a power cut at any acknowledgement loses nothing acknowledged: it was fsynced before${noStrace}`,
  async () => {
    const template = await emptyStore();
    restore(template);
    const disk = new CutDisk([path, `${path}.mark`]);
    const record = join(dir, "calls");
    const { stdout } = traced(recordCalls(record), WRITER, [path, "16", "26", "150"]);
    expect(stdout).toContain("done");
    const cut = join(dir, "cut.db");
    const acks: string[] = [];
    let seen: { readonly syncs: number; readonly stored: ReadonlySet<string> } = { syncs: -1, stored: new Set() };
    let checkpointed = false;
    let checkedAfterIt = 0;
    for (const call of parseCalls(readFileSync(record, "latin1"))) {
      const { path: file } = call;
      if (call.call === "create") disk.created(file);
      if (call.call === "sync-begin") disk.syncBegin(file);
      if (call.call === "sync-end") disk.syncEnd(file);
      if (call.call === "truncate" && file.startsWith(path)) disk.truncate(file, call.size);
      if (call.call === "write" && call.at !== null && file.startsWith(path)) disk.write(file, call.at, call.bytes);
      if (call.call === "write" && file === path) checkpointed = true;
      const said = call.call === "write" && call.at === null ? call.bytes.toString() : "";
      if (!said.startsWith("ack ")) continue;
      acks.push(...acknowledged(said));
      if (checkpointed) checkedAfterIt++;
      // Acknowledgements of one group find the same disk.
      if (disk.syncs === seen.syncs && acknowledged(said).every((ack) => seen.stored.has(ack))) continue;
      disk.lay(path, cut, torn(acks.length));
      expectWhole(cut, acks, `what was fsynced and some of the rest, after acknowledgement ${acks.length}`);
      disk.lay(path, cut, (safe) => safe);
      seen = { syncs: disk.syncs, stored: expectWhole(cut, acks, `only what was fsynced, after acknowledgement ${acks.length}`) };
    }
    expect(acks.length).toBe(acknowledged(stdout).length);
    // The log was copied into the main file on the way.
    expect(checkedAfterIt).toBeGreaterThan(10);
  },
);

test.skipIf(noStrace !== "")(
  `after an fsync that failed once the store goes on, and what it acknowledges then survives a power cut${noStrace}`,
  async () => {
    const template = await emptyStore();
    const [cut, record] = [join(dir, "cut.db"), join(dir, "calls")];
    let recovered = 0;
    for (let n = 1; recovered < 4 && n < MAX_CALLS; n++) {
      restore(template);
      const disk = new CutDisk([path, `${path}.mark`]);
      const fail = ["fsync", "fdatasync"].flatMap((call) => ["-e", `inject=${call}:error=EIO:when=${n}`]);
      const { stdout } = traced([...recordCalls(record), ...fail], WRITER, [path, SWAPS, "12", "150", "patient"]);
      // Others fail the start, or the mark, which is no data.
      if (!stdout.includes("refused for now")) continue;
      recovered++;
      expect(stdout, `fsync ${n}`).toContain("done");
      const acks: string[] = [];
      let failed = 0;
      for (const call of parseCalls(readFileSync(record, "latin1"))) {
        const { path: file } = call;
        if (call.call === "create") disk.created(file);
        if (call.call === "sync-begin") disk.syncBegin(file);
        if (call.call === "sync-end") disk.syncEnd(file);
        if (call.call === "sync-failed") {
          disk.syncFailed(file);
          failed++;
        }
        if (call.call === "truncate" && file.startsWith(path)) disk.truncate(file, call.size);
        if (call.call === "write" && call.at !== null && file.startsWith(path)) disk.write(file, call.at, call.bytes);
        const said = call.call === "write" && call.at === null ? call.bytes.toString() : "";
        if (!said.startsWith("ack ")) continue;
        acks.push(...acknowledged(said));
        if (failed === 0) continue;
        disk.lay(path, cut, (safe) => safe);
        expectWhole(cut, acks, `fsync ${n} failed, power cut after acknowledgement ${acks.length}`);
      }
      expect([failed, acks.length]).toEqual([1, Number(SWAPS) * 12]);
    }
    expect(recovered).toBe(4);
  },
);

function versionOf(file: string): number {
  const db = new DatabaseSync(file, { readOnly: true });
  const steps = db.prepare("SELECT count(*) AS n FROM schema_migrations").get();
  const events = db.prepare("SELECT count(*) AS n FROM swap_events").get();
  const whole = db.prepare("PRAGMA integrity_check").all();
  db.close();
  expect([events, whole]).toEqual([{ n: 69 }, [{ integrity_check: "ok" }]]);
  return Number(steps?.n);
}

for (const syscall of ["pwrite64", "write", "fsync", "fdatasync", "rename", "unlink", "openat"]) {
  test.skipIf(noStrace !== "")(
    `a migration killed at any ${syscall} leaves the old version or the new one, and is finished by the next start${noStrace}`,
    () => {
      const template = join(dir, "first.db");
      const first = new DatabaseSync(template);
      first.exec(`PRAGMA journal_mode=WAL; ${firstStore}`);
      first.close();
      const newest = SCHEMA.reduce((n, s) => n + s.migrations.length, 0);
      const snapshot = `${path}.before-migration-${FIRST_VERSION}`;
      const seen = new Set<number>();
      for (let n = 1; n < MAX_CALLS; n++) {
        restore(template);
        const { stdout } = traced(killAt(syscall, n, [dir, snapshot, `${snapshot}.partial`, ...ends.map((end) => path + end)]), OPENER, [
          path,
        ]);
        const version = versionOf(path);
        seen.add(version);
        expect([FIRST_VERSION, newest], `killed at ${syscall} ${n}`).toContain(version);
        if (existsSync(snapshot)) expect(versionOf(snapshot)).toBe(FIRST_VERSION);
        if (version === newest) expect(existsSync(snapshot)).toBe(true);
        void openInlineDatabase(path, SCHEMA).close();
        expect(versionOf(path)).toBe(newest);
        expect(checkDatabase(path, SCHEMA, parseOrderRecord).problems).toEqual([]);
        if (stdout.includes("done")) break;
      }
      expect(seen).toContain(newest);
      if (syscall === "pwrite64") expect(seen).toContain(FIRST_VERSION);
    },
  );
}
