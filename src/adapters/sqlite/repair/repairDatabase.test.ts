import {
  closeSync,
  copyFileSync,
  existsSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { firstStore, recordedLogs } from "../../../../test/vectors/eventLogs/eventLogs.ts";
import { parseOrderRecord } from "../../../app/orders/orderRecord.ts";
import type { StoredEvent } from "../../../core/swap/events.ts";
import { ShownSwap } from "../../../core/swap/shownSwap.ts";
import { swapStatus } from "../../../core/swap/swapStatus.ts";
import { StorageError } from "../../../ports/sql.ts";
import { checkDatabase } from "../checkDatabase.ts";
import { openInlineDatabase } from "../inlineDatabase.ts";
import { createOrderStore } from "../orderStore.ts";
import { SCHEMA } from "../schema.ts";
import { createSwapStore } from "../swapStore.ts";
import { createSwapViews } from "../swapViews.ts";
import { repairDatabase } from "./repairDatabase.ts";

const PAGE = 4096;
let dir: string;
let path: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "swapnode-repair-"));
  path = join(dir, "x.db");
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

type Made = { readonly uuid: string; readonly events: readonly StoredEvent[]; readonly isOpen: boolean };

const templateDir = mkdtempSync(join(tmpdir(), "swapnode-filled-"));
const template = join(templateDir, "x.db");
let filled: readonly Made[];
beforeAll(async () => {
  filled = await makeTemplate();
});
afterAll(() => rmSync(templateDir, { recursive: true, force: true }));
const fill = (): readonly Made[] => {
  for (const end of ["", ".mark"]) copyFileSync(template + end, path + end);
  return filled;
};

/** A store as the node fills it: every recorded swap, an order, rows of a block index. Left closed, all in the main file. */
async function makeTemplate(): Promise<Made[]> {
  const db = openInlineDatabase(template, SCHEMA);
  const swaps = createSwapStore(db);
  const made: Made[] = [];
  for (const { summary, role, events: texts } of recordedLogs) {
    const events = texts.map((text) => JSON.parse(text) as StoredEvent);
    const [first] = events;
    if (first === undefined || !("terms" in first.event)) throw new Error("bad vector");
    const { makerCoin, takerCoin, startedAt } = first.event.terms;
    const coins = role === "maker" ? { myCoin: makerCoin, otherCoin: takerCoin } : { myCoin: takerCoin, otherCoin: makerCoin };
    await swaps.create({ uuid: summary.uuid, role, ...coins, startedAt, finished: false }, first, []);
    for (const [i, event] of events.slice(1).entries()) await swaps.append(summary.uuid, i + 1, event, []);
    made.push({ uuid: summary.uuid, events, isOpen: !events.some((e) => e.event.type === "finished") });
  }
  const orders = /INSERT INTO live_orders VALUES\(1,'([^']*)','Maker','([^']*)'\)/.exec(firstStore);
  if (!orders) throw new Error("bad vector");
  await createOrderStore(db).apply([{ change: "put", order: { uuid: orders[1] ?? "", kind: "Maker", record: orders[2] ?? "" } }]);
  await db.write([
    { sql: "INSERT INTO chain_watch VALUES ('AAA', 'script', '76a9', 7, 90, 1)" },
    { sql: "INSERT INTO chain_meta VALUES ('AAA', '00')" },
  ]);
  await createSwapViews(db, "test").keep(
    made.map(({ uuid, events }) => ({ uuid, events: events.length, status: ShownSwap.of(swapStatus(events)) })),
  );
  await db.close();
  return made;
}

function overwrite(file: string, at: number, bytes: Uint8Array): void {
  const fd = openSync(file, "r+");
  writeSync(fd, bytes, 0, bytes.length, at);
  closeSync(fd);
}
const garbage = (size: number): Uint8Array => Uint8Array.from({ length: size }, (_, i) => (i * 151 + 7) & 0xff);
/** Pages of one table, by their place in the tree. */
function pagesOf(table: string, kind: "internal" | "leaf" | "overflow"): number[] {
  const db = new DatabaseSync(path, { readOnly: true });
  const rows = db.prepare("SELECT pageno FROM dbstat WHERE name = ? AND pagetype = ? ORDER BY pageno").all(table, kind);
  db.close();
  return rows.map((row) => Number(row.pageno));
}
const wreck = (page: number): void => overwrite(path, (page - 1) * PAGE, garbage(PAGE));
function startRefused(): StorageError | null {
  try {
    void openInlineDatabase(path, SCHEMA).close();
    return null;
  } catch (error) {
    if (error instanceof StorageError) return error;
    throw error;
  }
}
/** Stopped: the swap pays nothing, because its record is damaged or may lack events. */
async function logsNow(made: readonly Made[]): Promise<Map<string, readonly StoredEvent[] | "stopped">> {
  const db = openInlineDatabase(path, SCHEMA);
  const swaps = createSwapStore(db);
  const logs = new Map<string, readonly StoredEvent[] | "stopped">();
  for (const { uuid } of made)
    logs.set(
      uuid,
      await swaps.log(uuid).then(
        (log) => (log.at(-1)?.event.type === "record_cut" ? "stopped" : log),
        (error: unknown) => {
          if (error instanceof StorageError && error.kind === "Corrupt") return "stopped" as const;
          throw error;
        },
      ),
    );
  await db.close();
  return logs;
}
const storedTexts = (): ReadonlySet<string> => {
  const db = new DatabaseSync(path, { readOnly: true });
  const rows = db.prepare("SELECT uuid, seq, event FROM swap_events").all();
  db.close();
  return new Set(rows.map(({ uuid, seq, event }) => `${uuid} ${seq} ${event}`));
};
const couldPay = ({ events, isOpen }: Made): boolean =>
  isOpen && !events.some((e) => e.event.type === "tx_attempted" && e.event.slot.endsWith("Payment"));
const repair = () => repairDatabase(path, SCHEMA, parseOrderRecord);

test("the root of the swap log is destroyed: every event is found on its page, and no swap is lost", async () => {
  const made = fill();
  const before = storedTexts();
  const [root] = pagesOf("swap_events", "internal");
  if (root === undefined) throw new Error("the log has only one page");
  wreck(root);
  expect(startRefused()?.message).toMatch(/is damaged \(.*\)\. Nothing was changed\. Run: swapnode data check, then swapnode data repair/);
  expect(checkDatabase(path, SCHEMA, parseOrderRecord).problems.length).toBeGreaterThan(0);
  const report = repair();
  const after = storedTexts();
  // The page that was destroyed held rows itself; everything else is there.
  const missing = [...before].filter((text) => !after.has(text));
  expect(missing.length).toBeLessThanOrEqual(60);
  expect(report.tables.find((t) => t.table === "swap_events")?.fromPages).toBe(before.size - missing.length);
  expect(report.lost.join()).toContain("table swap_events could not be read to its end");
  const logs = await logsNow(made);
  const stoppedNow = made.filter((m) => logs.get(m.uuid) === "stopped").map((m) => m.uuid);
  for (const { uuid, events } of made) if (!stoppedNow.includes(uuid)) expect(logs.get(uuid)).toEqual(events);
  expect(report.cut.map((line) => line.split(" ")[1]?.replace(":", "")).sort()).toEqual(stoppedNow.sort());
});

test("any one page overwritten: no event that is not on that page is lost, and no swap is given another past", {
  timeout: 120_000,
}, async () => {
  const made = fill();
  const pages = statSync(path).size / PAGE;
  const whole = join(dir, "whole");
  copyFileSync(path, whole);
  const before = storedTexts();
  const onPage = new Map<number, number>();
  for (let page = 1; page <= pages; page++) {
    for (const name of readdirSync(dir)) if (name !== "whole") rmSync(join(dir, name));
    copyFileSync(whole, path);
    wreck(page);
    const report = repair();
    expect(readFileSync(report.copies[0] ?? "").subarray((page - 1) * PAGE, page * PAGE)).toEqual(Buffer.from(garbage(PAGE)));
    const after = storedTexts();
    onPage.set(page, [...before].filter((text) => !after.has(text)).length);
    for (const [uuid, log] of await logsNow(made)) {
      const events = made.find((m) => m.uuid === uuid)?.events ?? [];
      if (log === "stopped") continue;
      // A finished swap may have lost its end without a gap; an open one that is not stopped has its payment in the record.
      expect(log, `page ${page}, swap ${uuid}`).toEqual(events.slice(0, log.length));
      if (log.length < events.length && log.length > 0)
        expect(
          log.some((e) => e.event.type === "tx_attempted"),
          `page ${page}`,
        ).toBe(true);
    }
  }
  // Each event is on one page, or on one and its overflow pages: more cannot be lost in all.
  const lostInAll = [...onPage.values()].reduce((a, b) => a + b, 0);
  expect(lostInAll).toBeGreaterThan(0);
  expect(Math.max(...onPage.values())).toBeLessThanOrEqual(60);
});

test("a file cut in half keeps what the first half holds and says what could not be read", async () => {
  const made = fill();
  const size = statSync(path).size;
  const fd = openSync(path, "r+");
  ftruncateSync(fd, Math.floor(size / 2 / PAGE) * PAGE);
  closeSync(fd);
  expect(startRefused()?.kind).toBe("Corrupt");
  const report = repair();
  expect(report.lost.length).toBeGreaterThan(0);
  const logs = await logsNow(made);
  for (const { uuid, events, isOpen } of made) {
    const log = logs.get(uuid);
    if (log === "stopped" || log === undefined || log.length === 0) continue;
    expect(log).toEqual(events.slice(0, log.length));
    if (isOpen) expect(log.some((e) => e.event.type === "tx_attempted" && e.event.slot.endsWith("Payment"))).toBe(true);
  }
  expect(startRefused()).toBe(null);
});

test("the header is destroyed, so that SQLite cannot open the file: every event is read from its page", async () => {
  const made = fill();
  overwrite(path, 0, garbage(100));
  expect(startRefused()?.message).toContain(
    "the database file is damaged or is not a database: stop the node, then run swapnode data check",
  );
  repair();
  const logs = await logsNow(made);
  for (const { uuid, events, isOpen } of made) {
    expect(logs.get(uuid)).toEqual(couldPay({ uuid, events, isOpen }) ? "stopped" : events);
  }
});

test("transactions still in the log of a crashed node are recovered with a damaged main file", async () => {
  fill();
  const [root] = pagesOf("swap_events", "internal");
  const db = openInlineDatabase(path, SCHEMA);
  const uuid = recordedLogs.find((l) => l.name === "unfinished: the taker paid" && l.role === "taker")?.summary.uuid ?? "";
  const late: StoredEvent = {
    v: 1,
    atMs: 5,
    event: { type: "refund_decided", failure: { event: "TakerPaymentWaitForSpendFailed", reason: "late" } },
  };
  await createSwapStore(db).append(uuid, 14, late, []);
  for (const end of ["", "-wal", ".mark"]) copyFileSync(path + end, join(dir, `crashed${end}`));
  await db.close();
  for (const end of ["", "-wal", ".mark"]) copyFileSync(join(dir, `crashed${end}`), path + end);
  // Not in the log, so SQLite cannot reach the rows; the page of the last row is only in the log.
  wreck(root ?? 0);
  const log = readFileSync(`${path}-wal`);
  const { copies, lost } = repair();
  expect(lost.join()).toContain("table swap_events could not be read to its end");
  expect(copies).toEqual(["", "-wal", ".mark"].map((end) => `${path}.damaged-1${end}`));
  expect(readFileSync(`${path}.damaged-1-wal`)).toEqual(log);
  const again = openInlineDatabase(path, SCHEMA);
  expect((await createSwapStore(again).log(uuid)).at(-1)).toEqual(late);
  await again.close();
});

test("a log overwritten with zeros is seen by the mark, and open swaps that could pay again are stopped", async () => {
  const made = fill();
  const db = openInlineDatabase(path, SCHEMA);
  const started = recordedLogs[0]?.events[0] ?? "";
  const uuid = "00000000-0000-4000-8000-00000000ffff";
  const first = JSON.parse(started) as StoredEvent & { event: { type: "started"; terms: { startedAt: number } } };
  const event = { ...first.event, terms: { ...first.event.terms, uuid } } as StoredEvent["event"];
  await createSwapStore(db).create(
    { uuid, role: "maker", myCoin: "AAA", otherCoin: "BBB", startedAt: 1, finished: false },
    { ...first, event },
    [],
  );
  await db.read("PRAGMA wal_checkpoint(TRUNCATE)");
  await createSwapStore(db).append(uuid, 1, { v: 1, atMs: 2, event: { type: "tx_attempted", slot: "makerPayment" } }, []);
  for (const end of ["", "-wal", ".mark"]) copyFileSync(path + end, join(dir, `crashed${end}`));
  await db.close();
  for (const end of ["", ".mark"]) copyFileSync(join(dir, `crashed${end}`), path + end);
  writeFileSync(`${path}-wal`, new Uint8Array(statSync(join(dir, "crashed-wal")).size));
  expect(startRefused()?.message).toContain("it lacks the last 1 of");
  const payable = [...made.filter(couldPay).map((m) => m.uuid), uuid].sort();
  expect(repair().cut.map((line) => /^swap (\S+) \(\w+\): its record ends before its payment/.exec(line)?.[1])).toEqual(payable);
  expect((await logsNow([...made, { uuid, events: [], isOpen: true }])).get(uuid)).toBe("stopped");
});

test.each([
  ["my_orders", "INSERT INTO my_orders VALUES (?1, 'u' || ?1, 'Maker', 'Sell', 'AAA', 'BBB', 1, 1, 1, 1, 0, 'Created')"],
  ["agreed_swaps", "INSERT INTO agreed_swaps VALUES (printf('%08d-0000-4000-8000-000000000000', ?1), 'x', 1)"],
])("a hole in the middle of %s costs the rows in it and none on either side", (table, insert) => {
  fill();
  const TOTAL = 600;
  const raw = new DatabaseSync(path);
  for (let i = 1; i <= TOTAL; i++) raw.prepare(insert).run(i);
  raw.close();
  const leaves = pagesOf(table, "leaf");
  expect(leaves.length).toBeGreaterThan(4);
  wreck(leaves[Math.floor(leaves.length / 2)] ?? 0);
  const report = repair();
  const db = new DatabaseSync(path, { readOnly: true });
  const kept = Number(db.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n);
  db.close();
  expect(kept).toBeLessThan(TOTAL);
  expect(kept).toBeGreaterThan(TOTAL * (1 - 2 / leaves.length));
  expect(report.tables.find((t) => t.table === table)).toMatchObject({ kept, aside: 0, stopped: expect.stringContaining("malformed") });
});

test("an event whose text was changed is kept, and its swap is stopped, not folded", async () => {
  const made = fill();
  const victim = made.find((m) => m.isOpen);
  const raw = new DatabaseSync(path);
  raw.prepare("UPDATE swap_events SET event = replace(event, 'a', 'b') WHERE uuid = ? AND seq = 3").run(victim?.uuid ?? "");
  raw.close();
  expect(checkDatabase(path, SCHEMA, parseOrderRecord).problems).toEqual([
    expect.stringContaining(`swap ${victim?.uuid}: event 3 cannot be read`),
  ]);
  expect(repair().cut).toEqual([expect.stringContaining(`swap ${victim?.uuid}: event 3 cannot be read`)]);
  expect((await logsNow(made)).get(victim?.uuid ?? "")).toBe("stopped");
});

const isFee = ({ event }: StoredEvent, type: string): boolean =>
  event.type === type && "slot" in event && event.slot === "fee" && !("txid" in event && event.txid === "");

/** What repairing makes of the marks of fees, all lost, of the first swap with this event of a fee, of which only the first `keep` events are left. */
function marksMadeAgain(type: string, keep: (events: readonly StoredEvent[]) => number): { marks: unknown; swap: Made } {
  const swap = fill().find(({ events }) => events.some((e) => isFee(e, type))) ?? expect.fail("no such swap");
  const raw = new DatabaseSync(path);
  for (const table of ["swaps", "swap_events"]) raw.prepare(`DELETE FROM ${table} WHERE uuid <> ?`).run(swap.uuid);
  raw.prepare("DELETE FROM swap_events WHERE seq >= ?").run(keep(swap.events));
  raw.exec("DELETE FROM swap_marks");
  // What was deleted stays on its page, where the repair would find it.
  raw.exec("VACUUM");
  raw.close();
  repair();
  const db = new DatabaseSync(path, { readOnly: true });
  const marks = db.prepare("SELECT value, uuid FROM swap_marks WHERE kind = 'fee_tx'").all();
  db.close();
  return { marks, swap };
}

test.each(["tx_received", "tx_signed"] as const)("a lost mark of a fee is made again, of one with %s: it serves no other swap", (type) => {
  const { marks, swap } = marksMadeAgain(type, (events) => events.length);
  const fee = swap.events.find((e) => isFee(e, type))?.event;
  expect(marks).toEqual([{ value: fee && "txid" in fee ? fee.txid : "", uuid: swap.uuid }]);
});

test("an own fee that was signed and never sent gets no mark: it may come again", () => {
  const { marks } = marksMadeAgain("tx_signed", (events) => events.findIndex((e) => isFee(e, "tx_attempted")));
  expect(marks).toEqual([]);
});

test("an order that cannot be read is put aside with its text, and what is made again of chains and logs is left out", () => {
  fill();
  const raw = new DatabaseSync(path);
  raw.exec("UPDATE live_orders SET record = '{}'");
  raw.close();
  const report = repair();
  expect(report.lost).toEqual([expect.stringContaining("it is put aside and not on offer any more")]);
  const db = new DatabaseSync(path, { readOnly: true });
  expect(db.prepare("SELECT count(*) AS n FROM live_orders").get()).toEqual({ n: 0 });
  expect(db.prepare("SELECT origin, row FROM salvaged_rows").all()).toEqual([
    { origin: "live_orders", row: expect.stringContaining('"record":"{}"') },
  ]);
  expect(db.prepare("SELECT * FROM chain_meta").all()).toEqual([]);
  expect(db.prepare("SELECT * FROM swap_views").all()).toEqual([]);
  expect(db.prepare("SELECT from_height, next_height, was_told FROM chain_watch").all()).toEqual([
    { from_height: 7, next_height: 7, was_told: 0 },
  ]);
  db.close();
});

test("of a database that does not say which version it is of rows are kept also where the newest has columns that they lack", () => {
  fill();
  const raw = new DatabaseSync(path);
  raw.exec("DROP TABLE schema_migrations; ALTER TABLE chain_watch DROP COLUMN was_told");
  raw.close();
  repair();
  const db = new DatabaseSync(path, { readOnly: true });
  expect(db.prepare("SELECT key, from_height, was_told FROM chain_watch").all()).toEqual([{ key: "76a9", from_height: 7, was_told: 0 }]);
  expect(db.prepare("SELECT * FROM salvaged_rows").all()).toEqual([]);
  db.close();
});

test("a damaged database of the first version is repaired in its own version and then brought forward", () => {
  const raw = new DatabaseSync(path);
  raw.exec(`PRAGMA journal_mode=WAL; ${firstStore}`);
  raw.close();
  const [leaf] = pagesOf("swaps_by_start", "leaf");
  wreck(leaf ?? 0);
  expect(startRefused()?.kind).toBe("Corrupt");
  const report = repair();
  expect(report.tables.find((t) => t.table === "swap_events")).toMatchObject({ kept: 69, stopped: null });
  expect(report.cut).toEqual([]);
  expect(startRefused()).toBe(null);
  expect(existsSync(`${path}.before-migration-3`)).toBe(true);
  expect(checkDatabase(path, SCHEMA, parseOrderRecord)).toMatchObject({ problems: [], swaps: 4, openSwaps: 2 });
});

test("the copies are whole, private and numbered, and the second repair does not touch those of the first", () => {
  fill();
  overwrite(path, 0, garbage(100));
  const bytes = readFileSync(path);
  expect(repair().copies[0]).toBe(`${path}.damaged-1`);
  expect(repair().copies[0]).toBe(`${path}.damaged-2`);
  expect(readFileSync(`${path}.damaged-1`)).toEqual(bytes);
  expect(statSync(`${path}.damaged-1`).mode & 0o777).toBe(0o600);
  expect(statSync(path).mode & 0o777).toBe(0o600);
});
