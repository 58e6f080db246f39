import { beforeEach, expect, test } from "vitest";
import { recordedLogs } from "../../../test/vectors/eventLogs/eventLogs.ts";
import { ShownSwap } from "../../core/swap/shownSwap.ts";
import { swapStatus } from "../../core/swap/swapStatus.ts";
import type { SqlDatabase } from "../../ports/sql.ts";
import { openInlineDatabase } from "./inlineDatabase.ts";
import { eventToText, parseEventText } from "./storedEvent.ts";
import { createSwapStore, SWAP_SCHEMA } from "./swapStore.ts";
import { createSwapViews, SWAP_VIEW_SCHEMA } from "./swapViews.ts";

/** A kept status is shown for exactly the log it was made of, by exactly the program that made it. */

const RECORDED = recordedLogs.filter(({ name }) => name === "success").slice(0, 2);
const [ONE, TWO] = RECORDED.map((r) => r.summary.uuid) as [string, string];

let db: SqlDatabase;
beforeEach(async () => {
  db = openInlineDatabase(":memory:", [SWAP_SCHEMA, SWAP_VIEW_SCHEMA]);
  for (const { summary, events } of RECORDED) {
    for (const [seq, text] of events.entries()) {
      const parsed = parseEventText(text);
      if (!parsed.ok) throw new Error(parsed.error.detail);
      await db.write([
        { sql: "INSERT INTO swap_events (uuid, seq, event) VALUES (?, ?, ?)", params: [summary.uuid, seq, eventToText(parsed.value)] },
      ]);
    }
  }
});

async function made(uuid: string) {
  const log = await createSwapStore(db).log(uuid);
  return { uuid, events: log.length, status: ShownSwap.of(swapStatus(log)) };
}
const shown = async (madeBy = "a"): Promise<readonly string[]> => [...(await createSwapViews(db, madeBy).read([ONE, TWO])).keys()];

test("a status is read as it was kept, in one question whatever is asked for", async () => {
  await createSwapViews(db, "a").keep([await made(ONE), await made(TWO)]);
  let questions = 0;
  const counted: SqlDatabase = {
    ...db,
    read: (sql, params) => {
      questions++;
      return db.read(sql, params);
    },
  };
  const views = await createSwapViews(counted, "a").read([TWO, "nobody's", ONE]);
  expect(questions).toBe(1);
  expect([...views.keys()].sort()).toEqual([ONE, TWO].sort());
  for (const uuid of [ONE, TWO]) {
    const view = views.get(uuid);
    const { status } = await made(uuid);
    expect(view && "status" in view && [view.status.text, view.status.bareText]).toEqual([status.text, status.bareText]);
  }
});

test("no swap but the ones asked for is looked at", async () => {
  await createSwapViews(db, "a").keep([await made(ONE)]);
  const sql: string[] = [];
  const noted: SqlDatabase["read"] = (text, params) => {
    sql.push(text);
    return db.read(text, params);
  };
  await createSwapViews({ ...db, read: noted }, "a").read([ONE]);
  const plan = (await db.read(`EXPLAIN QUERY PLAN ${sql[0]}`, ["[]", "a"])).map((step) => String(step.detail));
  expect(plan.filter((step) => step.startsWith("SCAN"))).toEqual(["SCAN asked VIRTUAL TABLE INDEX 1:"]);
  expect(plan.filter((step) => step.startsWith("SEARCH"))).toHaveLength(3);
  expect(plan.join()).not.toContain("TEMP B-TREE");
});

test("a status of another program, or of another form, is not shown, and gives way to a new one", async () => {
  await createSwapViews(db, "a").keep([await made(ONE)]);
  expect(await shown("b")).toEqual([]);
  await createSwapViews(db, "b").keep([await made(ONE)]);
  expect([await shown("a"), await shown("b")]).toEqual([[], [ONE]]);
});

test("once the log goes on, is cut, or ends otherwise, the status is not shown", async () => {
  const end = (await made(ONE)).events;
  const added = "INSERT INTO swap_events (uuid, seq, event) SELECT uuid, ?2, event FROM swap_events WHERE uuid = ?1 AND seq = 0";
  for (const change of [
    { sql: added, params: [ONE, end] },
    { sql: "DELETE FROM swap_events WHERE uuid = ? AND seq = ?", params: [ONE, end - 1] },
    {
      sql: `UPDATE swap_events SET event = substr(event, 1, length(event) - 18) || '0000000000000000"}' WHERE uuid = ? AND seq = ?`,
      params: [ONE, end - 1],
    },
  ]) {
    const views = createSwapViews(db, "a");
    await views.keep([await made(ONE)]);
    expect(await shown()).toEqual([ONE]);
    const before = await db.read("SELECT * FROM swap_events WHERE uuid = ?", [ONE]);
    await db.write([change]);
    expect(await shown(), change.sql).toEqual([]);
    await db.write([
      { sql: "DELETE FROM swap_events WHERE uuid = ?", params: [ONE] },
      ...before.map((row) => ({ sql: "INSERT INTO swap_events (uuid, seq, event) VALUES (?, ?, ?)", params: Object.values(row) })),
    ]);
  }
});

test("a status of a log that has gone on meanwhile is not shown", async () => {
  const early = await made(ONE);
  await createSwapViews(db, "a").keep([{ ...early, events: early.events - 1 }]);
  expect(await shown()).toEqual([]);
});

test("a status that was changed, or is another swap's, is not shown", async () => {
  for (const sql of [
    "UPDATE swap_views SET status = replace(status, 'true', 'null') WHERE uuid = ?",
    "UPDATE swap_views SET status = '{' WHERE uuid = ?",
    "UPDATE swap_views SET (status, sum) = (SELECT status, sum FROM swap_views WHERE uuid <> ?1) WHERE uuid = ?1",
  ]) {
    await createSwapViews(db, "a").keep([await made(ONE), await made(TWO)]);
    expect(await shown()).toHaveLength(2);
    await db.write([{ sql, params: [ONE] }]);
    expect(await shown(), sql).toEqual([TWO]);
  }
});

test("missing are settled swaps with a log and without the status this program made of it, newest first, found without reading through the lists", async () => {
  const row = (uuid: string, at: number, settled: number) => ({
    sql: "INSERT INTO swaps (uuid, role, my_coin, other_coin, started_at, settled) VALUES (?, 'maker', 'AAA', 'BBB', ?, ?)",
    params: [uuid, at, settled],
  });
  // Beside the two with logs: one without, as those that ended in KDF.
  await db.write([row(TWO, 1_002, 1), row(ONE, 1_001, 1), row("kdf", 1_003, 1)]);
  const missing = (skip = 0, limit = 10, madeBy = "a") => createSwapViews(db, madeBy).missing(skip, limit);
  expect(await missing()).toEqual({ looked: 3, uuids: [TWO, ONE] });
  expect(await missing(2, 10)).toEqual({ looked: 1, uuids: [ONE] });
  expect(await missing(0, 2)).toEqual({ looked: 2, uuids: [TWO] });
  await createSwapViews(db, "a").keep([await made(TWO)]);
  expect((await missing()).uuids).toEqual([ONE]);
  expect((await missing(0, 10, "b")).uuids).toEqual([TWO, ONE]);
  await db.write([{ sql: "UPDATE swaps SET settled = 0 WHERE uuid = ?", params: [ONE] }]);
  expect((await missing()).uuids).toEqual([]);
  await db.write([{ sql: "DELETE FROM swap_events WHERE uuid = ? AND seq > 5", params: [TWO] }]);
  expect((await missing()).uuids).toEqual([TWO]);

  const sql: string[] = [];
  const read: SqlDatabase["read"] = (text, params) => {
    sql.push(text);
    return db.read(text, params);
  };
  await createSwapViews({ ...db, read }, "a").missing(0, 10);
  const plan = (await db.read(`EXPLAIN QUERY PLAN ${sql[0]}`, [0, 10, "a"])).map((step) => String(step.detail));
  expect(plan.filter((step) => step.startsWith("SCAN"))).toEqual(["SCAN swaps USING INDEX swaps_by_start", "SCAN s"]);
  expect(plan.join()).not.toContain("TEMP B-TREE");
});

test("a swap that ended in KDF comes as KDF stored it", async () => {
  const kept = { type: "Maker", uuid: ONE, events: [] } as const;
  await db.write([{ sql: "INSERT INTO ended_elsewhere (uuid, swap) VALUES (?, ?)", params: ["kdf", JSON.stringify(kept)] }]);
  expect((await createSwapViews(db, "a").read(["kdf"])).get("kdf")).toEqual({ kept });
});

test("what can be made anew at any time asks for the room of new things", async () => {
  const asked: unknown[] = [];
  const noted: SqlDatabase = { ...db, write: async (_batch, options) => void asked.push(options) };
  await createSwapViews(noted, "a").keep([await made(ONE)]);
  expect(asked).toEqual([{ isNew: true }]);
});
