import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { SilentLog } from "../../../../test/fakes/silentLog.ts";
import { tempFolder } from "../../../../test/fakes/tempFolder.ts";
import { type RecordedLog, recordedLogs } from "../../../../test/vectors/eventLogs/eventLogs.ts";
import type { StoredEvent } from "../../../core/swap/events.ts";
import { MAX_TX_BYTES } from "../../../core/utxo/txCodec.ts";
import type { SqlDatabase } from "../../../ports/sql.ts";
import type { SwapStore } from "../../../ports/swapStore.ts";
import { VirtualClock } from "../../virtualClock/virtualClock.ts";
import { openInlineDatabase } from "../inlineDatabase.ts";
import { eventToText, parseEventText } from "../storedEvent.ts";
import { cutText, HELD } from "../swapLogs.ts";
import { createSwapStore, SWAP_SCHEMA } from "../swapStore.ts";
import { copiedSwapStore } from "./copiedSwapStore.ts";
import { copiesAt } from "./copyFile.ts";
import { COPY_HEADER, eventLine, MAX_LINE } from "./copyText.ts";
import { SwapCopies } from "./swapCopies.ts";
import { type CopyNote, readCopies, takeUpCopies } from "./takeUpCopies.ts";

/** Whole swaps of both sides, with all that they have stored. */
const [MAKER, TAKER] = (["maker", "taker"] as const).map((role) => {
  const found = recordedLogs.find((log) => log.role === role && log.outcome === "success");
  if (!found) throw new Error(`no recorded log of a ${role}`);
  return found;
}) as [RecordedLog, RecordedLog];

const eventsOf = ({ events }: RecordedLog): readonly StoredEvent[] =>
  events.map((text) => {
    const parsed = parseEventText(text);
    if (!parsed.ok) throw new Error(parsed.error.detail);
    return parsed.value;
  });
/** Texts as they are stored now: recorded ones have no check sum. */
const textsOf = (log: RecordedLog): readonly string[] => eventsOf(log).map(eventToText);
const uuidOf = (log: RecordedLog): string => log.summary.uuid;
/** Place of the first event of this type and slot. */
function placeOf(log: RecordedLog, type: string, slot: string): number {
  const at = eventsOf(log).findIndex(({ event }) => event.type === type && "slot" in event && event.slot === slot);
  if (at < 0) throw new Error(`no ${type} of ${slot}`);
  return at;
}
const PAYS = placeOf(TAKER, "tx_attempted", "takerPayment");

const newDatabase = (): SqlDatabase => openInlineDatabase(":memory:", [SWAP_SCHEMA]);
const storedTexts = async (db: SqlDatabase, uuid: string): Promise<readonly string[]> =>
  (await db.read("SELECT event FROM swap_events WHERE uuid = ? ORDER BY seq", [uuid])).map((row) => String(row.event));

/** Writes a recorded swap, its first `count` events. */
async function record(store: SwapStore, log: RecordedLog, count = log.events.length, from = 0): Promise<void> {
  for (const [seq, event] of eventsOf(log).slice(0, count).entries()) {
    if (seq < from) continue;
    if (seq === 0) {
      const role = log.role;
      await store.create({ uuid: uuidOf(log), role, myCoin: "A", otherCoin: "B", startedAt: 1, finished: false }, event, []);
    } else await store.append(uuidOf(log), seq, event, []);
  }
}

function world(folder = tempFolder()) {
  const db = newDatabase();
  const log = new SilentLog();
  const clock = new VirtualClock();
  const plain = createSwapStore(db);
  const path = join(folder, "wallet", "open-swaps");
  const make = (isTakenUp = true, source: Pick<SwapStore, "unsettled" | "log"> = plain): SwapCopies =>
    new SwapCopies({ path, isTakenUp, store: source, clock, log });
  const open = async (isTakenUp = true): Promise<SwapCopies> => {
    const copies = make(isTakenUp);
    await copies.open();
    return copies;
  };
  /** In a folder that does not answer before `answer` is called. */
  const makeSilent = () => {
    let answer: () => void = () => undefined;
    const asked = new Promise<void>((resolve) => {
      answer = resolve;
    });
    return { copies: make(true, { unsettled: () => asked.then(plain.unsettled), log: plain.log }), answer: () => answer() };
  };
  return { folder, db, log, clock, plain, path, open, makeSilent };
}
const takeUp = async (db: SqlDatabase, path: string): Promise<readonly CopyNote[]> => takeUpCopies(db, await readCopies(path));

test("after each event the copy alone gives another database the same record", async () => {
  const w = world();
  const copies = await w.open();
  const store = copiedSwapStore(w.plain, copies);
  for (const log of [MAKER, TAKER]) {
    for (let count = 1; count <= log.events.length; count++) {
      await record(store, log, count, count - 1);
      await copies.add("");
      const fresh = newDatabase();
      await takeUp(fresh, w.path);
      const texts = await storedTexts(fresh, uuidOf(log));
      const paid = count > placeOf(log, "tx_attempted", `${log.role}Payment`);
      if (paid) expect(texts).toEqual(textsOf(log).slice(0, count));
      else expect(texts).toEqual(count < 2 ? [] : [...textsOf(log).slice(0, count), cutText(eventsOf(log).slice(0, count))]);
    }
  }
  expect(statSync(w.path).mode & 0o777).toBe(0o600);
  expect(w.log.lines).toEqual([]);
  await copies.close();
});

test("a swap that was taken up is listed and open, and its hash and fee serve no other", async () => {
  const w = world();
  const copies = await w.open();
  await record(copiedSwapStore(w.plain, copies), TAKER, PAYS + 1);
  await copies.close();
  const fresh = newDatabase();
  const uuid = uuidOf(TAKER);
  expect(await takeUp(fresh, w.path)).toEqual([{ kind: "taken_up", uuid, events: PAYS + 1 }]);
  expect(await takeUp(fresh, w.path)).toEqual([]);
  const store = createSwapStore(fresh);
  expect((await store.unsettled()).map((s) => [s.uuid, s.finished])).toEqual([[uuid, false]]);
  const marks = (await fresh.read("SELECT kind FROM swap_marks ORDER BY kind")).map((row) => row.kind);
  expect(marks).toEqual(["fee_tx", "secret_hash"]);
});

test("without a copy that can be written no swap begins, and no fee or payment leaves; claims and refunds do", async () => {
  const w = world();
  renameSync(w.folder, `${w.folder}-away`);
  const copies = await w.open();
  const store = copiedSwapStore(w.plain, copies);
  const fee = placeOf(TAKER, "tx_attempted", "fee");
  await record(w.plain, TAKER, fee);
  const refused = { kind: "Io", message: expect.stringContaining("cannot be written") };
  await expect(record(store, MAKER, 1)).rejects.toMatchObject(refused);
  await expect(record(store, TAKER, fee + 1, fee)).rejects.toMatchObject(refused);
  expect((await w.plain.allUuids()).length).toBe(1);
  expect((await w.plain.log(uuidOf(TAKER))).length).toBe(fee);
  for (const slot of ["takerPaymentSpend", "makerPaymentRefund"] as const)
    await store.append(
      uuidOf(TAKER),
      slot === "takerPaymentSpend" ? fee : fee + 1,
      { v: 1, atMs: 1, event: { type: "tx_attempted", slot } },
      [],
    );
  expect((await w.plain.log(uuidOf(TAKER))).length).toBe(fee + 2);
  expect(w.log.lines.filter((l) => l.event === "swap_copies_not_written").length).toBe(1);

  renameSync(`${w.folder}-away`, w.folder);
  await record(store, MAKER, 1);
  const fresh = newDatabase();
  await takeUp(fresh, w.path);
  // Made anew, with what was stored meanwhile.
  expect((await storedTexts(fresh, uuidOf(TAKER))).slice(0, fee + 2)).toEqual(await storedTexts(w.db, uuidOf(TAKER)));
  expect(w.log.lines.at(-1)?.event).toBe("swap_copies_written_again");
  await copies.close();
});

test("an older database gets the end of its records, also where they were cut or held for want of it", async () => {
  const w = world();
  await record(w.plain, TAKER, PAYS + 3);
  const copies = await w.open();
  await copies.close();
  const uuid = uuidOf(TAKER);
  const known = PAYS - 1;
  const ends: readonly (readonly [number, string])[][] = [[], [[known, cutText(eventsOf(TAKER).slice(0, known))]], [[known + 1, HELD]]];
  for (const end of ends) {
    const older = newDatabase();
    await record(createSwapStore(older), TAKER, known);
    for (const [seq, event] of end)
      await older.write([{ sql: "INSERT INTO swap_events (uuid, seq, event) VALUES (?, ?, ?)", params: [uuid, seq, event] }]);
    expect(await takeUp(older, w.path)).toEqual([{ kind: "taken_up", uuid, events: PAYS + 3 }]);
    expect(await storedTexts(older, uuid)).toEqual(textsOf(TAKER).slice(0, PAYS + 3));
  }
});

test("what the database knows better stays: longer records, others, settled swaps, and those that ended elsewhere", async () => {
  const w = world();
  await record(w.plain, TAKER, PAYS + 1);
  await (await w.open()).close();
  const uuid = uuidOf(TAKER);
  const longer = newDatabase();
  await record(createSwapStore(longer), TAKER);
  expect(await takeUp(longer, w.path)).toEqual([]);
  expect(await storedTexts(longer, uuid)).toEqual(textsOf(TAKER));

  const other = newDatabase();
  await record(createSwapStore(other), TAKER, PAYS);
  await createSwapStore(other).append(uuid, PAYS, { v: 1, atMs: 5, event: { type: "payment_gone" } }, []);
  const differs = { kind: "not_used", uuid, detail: "the database has another record of it" };
  expect(await takeUp(other, w.path)).toEqual([differs]);
  expect((await storedTexts(other, uuid)).length).toBe(PAYS + 1);

  const elsewhere = newDatabase();
  const summary = { uuid, role: "taker", myCoin: "A", otherCoin: "B", startedAt: 1, finished: true } as const;
  await createSwapStore(elsewhere).addEnded([{ summary, kept: {} as never, marks: [] }]);
  expect(await takeUp(elsewhere, w.path)).toEqual([differs]);
  expect(await storedTexts(elsewhere, uuid)).toEqual([]);

  const settled = world();
  const copies = await settled.open();
  const store = copiedSwapStore(settled.plain, copies);
  await record(store, TAKER);
  await store.markSettled(uuid);
  await copies.close();
  expect(await takeUp(newDatabase(), settled.path)).toEqual([]);
});

test("a copy cut at any byte gives each swap a beginning of its record, or nothing of it", async () => {
  const w = world();
  await record(w.plain, TAKER, PAYS + 2);
  await (await w.open()).close();
  const whole = readFileSync(w.path);
  const texts = textsOf(TAKER).slice(0, PAYS + 2);
  for (let at = 1; at < whole.length; at += 97) {
    writeFileSync(w.path, whole);
    truncateSync(w.path, at);
    const fresh = newDatabase();
    const notes = await takeUp(fresh, w.path);
    expect(notes.every((n) => n.kind === "taken_up" || n.detail.includes("not of this version"))).toBe(true);
    const stored = await storedTexts(fresh, uuidOf(TAKER));
    const uncut =
      stored.length > 0 && stored.at(-1) === cutText(eventsOf(TAKER).slice(0, stored.length - 1)) ? stored.slice(0, -1) : stored;
    expect(uncut).toEqual(texts.slice(0, uncut.length));
  }
});

test("lines that were changed or lost make nothing of their swap, and are told", async () => {
  const w = world();
  await record(w.plain, TAKER, PAYS + 2);
  await record(w.plain, MAKER);
  await (await w.open()).close();
  const lines = readFileSync(w.path, "utf8").split("\n");
  const uuid = uuidOf(TAKER);
  const at = lines.findIndex((line) => line.startsWith(`${uuid} 2 `));
  const spoil: readonly [string, string][] = [
    [lines[at]?.replace('"atMs":1', '"atMs":2') ?? "", "event 2 cannot be read: its check sum does not match: the record was changed"],
    [`${uuid} 2`, "event 2 is missing"],
    ["", "event 2 is missing"],
    [eventLine(uuid, 2, "{}").trimEnd(), "event 2 cannot be read"],
  ];
  for (const [line, detail] of spoil) {
    writeFileSync(w.path, lines.with(at, line).join("\n"));
    const fresh = newDatabase();
    const notes = await takeUp(fresh, w.path);
    expect(notes).toContainEqual({ kind: "not_used", uuid, detail: expect.stringContaining(detail) });
    expect(notes.some((n) => n.kind === "taken_up" && n.uuid === uuidOf(MAKER))).toBe(true);
    expect(await storedTexts(fresh, uuid)).toEqual([]);
  }
  writeFileSync(w.path, `swapnode swap copies 2\n${lines.slice(1).join("\n")}`);
  expect(await takeUp(newDatabase(), w.path)).toEqual([{ kind: "not_used", uuid: null, detail: "it is not of this version" }]);
  writeFileSync(w.path, "");
  expect(await takeUp(newDatabase(), w.path)).toEqual([]);
});

test("rows that an earlier version stored without a check sum are the same as in their copy, which has one", async () => {
  const w = world();
  const uuid = uuidOf(TAKER);
  const store = async (db: SqlDatabase, count: number): Promise<void> => {
    await record(createSwapStore(db), TAKER, 1);
    await db.write(
      TAKER.events.slice(0, count).map((event, seq) => ({
        sql: "INSERT OR REPLACE INTO swap_events (uuid, seq, event) VALUES (?, ?, ?)",
        params: [uuid, seq, event],
      })),
    );
  };
  await store(w.db, PAYS + 1);
  expect(await storedTexts(w.db, uuid)).not.toEqual(textsOf(TAKER).slice(0, PAYS + 1));
  await (await w.open()).close();
  expect(await takeUp(w.db, w.path)).toEqual([]);
  const older = newDatabase();
  await store(older, PAYS - 1);
  expect(await takeUp(older, w.path)).toEqual([{ kind: "taken_up", uuid, events: PAYS + 1 }]);
});

test("words of a backend in a record end no line of its copy and begin none", async () => {
  const w = world();
  await record(w.plain, TAKER, PAYS + 1);
  const uuid = uuidOf(TAKER);
  const reason = `before that: \u2028${uuid} settled\u2029\u0085\r\n\ud800`;
  await w.plain.append(uuid, PAYS + 1, { v: 1, atMs: 1, event: { type: "refund_decided", failure: { event: "Some", reason } } }, []);
  await (await w.open()).close();
  const fresh = newDatabase();
  expect(await takeUp(fresh, w.path)).toEqual([{ kind: "taken_up", uuid, events: PAYS + 2 }]);
  expect(await storedTexts(fresh, uuid)).toEqual(await storedTexts(w.db, uuid));
});

test("the copy has a swap whose payment was spent in a transaction that fills a block", async () => {
  const w = world();
  await record(w.plain, TAKER, PAYS + 1);
  const uuid = uuidOf(TAKER);
  const copies = await w.open();
  const raw = "ab".repeat(MAX_TX_BYTES);
  const event = { type: "tx_seen", slot: "takerPaymentSpend", txid: "ef".repeat(32), raw, block: null } as const;
  await copiedSwapStore(w.plain, copies).append(uuid, PAYS + 1, { v: 1, atMs: 1, event }, []);
  await copies.add("");
  await copies.close();
  const fresh = newDatabase();
  expect(await takeUp(fresh, w.path)).toEqual([{ kind: "taken_up", uuid, events: PAYS + 2 }]);
  expect((await storedTexts(fresh, uuid)).at(-1)?.length).toBeGreaterThan(2 * MAX_TX_BYTES);
});

test("a line longer than any of ours is left out, and nothing of the others with it", async () => {
  const w = world();
  await record(w.plain, TAKER, PAYS + 1);
  await (await w.open()).close();
  const text = readFileSync(w.path, "utf8");
  const [header = "", ...lines] = text.split("\n");
  writeFileSync(w.path, [header, "x".repeat(MAX_LINE + 1), ...lines].join("\n"));
  const notes = await takeUp(newDatabase(), w.path);
  expect(notes).toEqual([
    { kind: "not_used", uuid: null, detail: "1 lines cannot be read" },
    { kind: "taken_up", uuid: uuidOf(TAKER), events: PAYS + 1 },
  ]);
});

test("a copy that could not be taken up is kept beside the new one", async () => {
  const w = world();
  mkdirSync(join(w.folder, "wallet"));
  for (const n of [1, 2]) {
    writeFileSync(w.path, `older ${n}`);
    await (await w.open(false)).close();
    expect(readFileSync(`${w.path}.kept-${n}`, "utf8")).toBe(`older ${n}`);
  }
  expect(await copiesAt(w.path)).toEqual([w.path, `${w.path}.kept-1`, `${w.path}.kept-2`]);
  expect(readFileSync(w.path, "utf8")).toBe(`${COPY_HEADER}\n`);
});

test("a folder that is not there is not made: what is mounted there later has the copies", async () => {
  const w = world();
  renameSync(w.folder, `${w.folder}-unmounted`);
  const copies = await w.open();
  expect(existsSync(w.folder)).toBe(false);
  expect(w.log.lines.map((l) => l.event)).toEqual(["swap_copies_not_written"]);
  renameSync(`${w.folder}-unmounted`, w.folder);
  await copies.add("");
  expect(readFileSync(w.path, "utf8")).toBe(`${COPY_HEADER}\n`);
  await copies.close();
});

test("while the folder is away the store says why no swap can begin, and looks by itself whether it is back", async () => {
  const w = world();
  renameSync(w.folder, `${w.folder}-unmounted`);
  const copies = await w.open();
  const store = copiedSwapStore(w.plain, copies);
  expect(store.obstacle?.()).toContain("cannot be written");
  renameSync(`${w.folder}-unmounted`, w.folder);
  expect(store.obstacle?.()).toContain("cannot be written");
  await w.clock.advance(10_000);
  await expect.poll(() => store.obstacle?.() ?? null).toBe(null);
  expect(readFileSync(w.path, "utf8")).toBe(`${COPY_HEADER}\n`);
  await copies.close();
});

test("a folder that never answers holds up nothing for longer than its deadline", async () => {
  const w = world();
  const { copies, answer } = w.makeSilent();
  const opening = copies.open();
  await w.clock.advance(60_000);
  await opening;
  const store = copiedSwapStore(w.plain, copies);
  await expect(record(store, TAKER, 1)).rejects.toMatchObject({ kind: "Io" });
  await record(w.plain, TAKER, 3);
  await store.append(uuidOf(TAKER), 3, { v: 1, atMs: 1, event: { type: "tx_attempted", slot: "takerPaymentRefund" } }, []);
  answer();
  // What was told while it hung is not in that file: it is made anew.
  await expect.poll(() => existsSync(w.path)).toBe(true);
  await expect
    .poll(() =>
      copies.add("").then(
        () => "written",
        () => "refused",
      ),
    )
    .toBe("written");
  expect(w.log.lines.at(-1)?.event).toBe("swap_copies_written_again");
  const fresh = newDatabase();
  await takeUp(fresh, w.path);
  expect((await storedTexts(fresh, uuidOf(TAKER))).slice(0, 4)).toEqual(await storedTexts(w.db, uuidOf(TAKER)));
  await copies.close();
});

test("closing waits for a folder that does not answer no longer than a node may take to stop", async () => {
  const w = world();
  const { copies, answer } = w.makeSilent();
  copies.follow("");
  let isClosed = false;
  void copies.close().then(() => {
    isClosed = true;
  });
  await w.clock.advance(10_000);
  expect(isClosed).toBe(true);
  expect(copies.isUnanswered).toBe(true);
  answer();
  await expect.poll(() => copies.isUnanswered).toBe(false);
});

test("a file that has grown is made anew without the swaps that are over", async () => {
  const w = world();
  const copies = await w.open();
  const store = copiedSwapStore(w.plain, copies);
  await record(store, TAKER);
  await store.markSettled(uuidOf(TAKER));
  await record(store, MAKER, 3);
  for (let i = 0; i < 2; i++) await copies.add(`${"x".repeat(5_000_000)}\n`);
  await copies.add("");
  const text = readFileSync(w.path, "utf8");
  expect(text.includes(uuidOf(TAKER))).toBe(false);
  expect(text.split("\n").filter((line) => line.startsWith(uuidOf(MAKER))).length).toBe(3);
  await copies.close();
});

test("a file with the only record of a swap that can be read is kept beside the one made anew, once", async () => {
  const w = world();
  const copies = await w.open();
  const store = copiedSwapStore(w.plain, copies);
  await record(store, TAKER, PAYS + 2);
  const uuid = uuidOf(TAKER);
  await w.db.write([{ sql: "UPDATE swap_events SET event = '{}' WHERE uuid = ? AND seq = 2", params: [uuid] }]);
  for (let made = 0; made < 2; made++) {
    for (let i = 0; i < 4; i++) await copies.add(`${"x".repeat(5_000_000)}\n`);
    await copies.add("");
  }
  expect(readFileSync(w.path, "utf8").includes(uuid)).toBe(false);
  expect(await copiesAt(w.path)).toEqual([w.path, `${w.path}.kept-1`]);
  await copies.close();
  await (await w.open()).close();
  expect(await copiesAt(w.path)).toEqual([w.path, `${w.path}.kept-1`]);
  const fresh = newDatabase();
  await takeUp(fresh, `${w.path}.kept-1`);
  expect(await storedTexts(fresh, uuid)).toEqual(textsOf(TAKER).slice(0, PAYS + 2));
});

test("what waits is bounded, and what had no room is in the file once that is made anew", async () => {
  const w = world();
  const copies = await w.open();
  await record(w.plain, TAKER, 3);
  copies.follow(`${"x".repeat(7_999_990)}\n`);
  copies.follow(eventLine(uuidOf(TAKER), 0, textsOf(TAKER)[0] ?? ""));
  await expect(copies.add("y".repeat(20))).rejects.toMatchObject({ message: expect.stringContaining("too much waits") });
  await copies.add("");
  // The header, three events, and the line that had room.
  expect(readFileSync(w.path, "utf8").split("\n").length - 1).toBe(5);
  await copies.close();
});

test("a copy that somebody removes is missed before the next payment leaves, and made anew", async () => {
  const w = world();
  const copies = await w.open();
  const store = copiedSwapStore(w.plain, copies);
  await record(store, TAKER, PAYS);
  await copies.add("");
  rmSync(join(w.folder, "wallet"), { recursive: true });
  await expect(record(store, TAKER, PAYS + 1, PAYS)).rejects.toMatchObject({ message: expect.stringContaining("the file was removed") });
  expect((await w.plain.log(uuidOf(TAKER))).length).toBe(PAYS);
  await record(store, TAKER, PAYS + 1, PAYS);
  const fresh = newDatabase();
  await takeUp(fresh, w.path);
  expect(await storedTexts(fresh, uuidOf(TAKER))).toEqual(textsOf(TAKER).slice(0, PAYS + 1));
  await copies.close();
});
