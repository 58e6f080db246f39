import { expect, test } from "vitest";
import type { SqlDatabase, SqlRow, SqlValue } from "../../ports/sql.ts";
import type { SwapFilter, SwapPageStart } from "../../ports/swapStore.ts";
import { seededRng } from "../virtualClock/seededRng.ts";
import { openInlineDatabase } from "./inlineDatabase.ts";
import { createSwapStore, SWAP_SCHEMA } from "./swapStore.ts";

type Asked = { readonly sql: string; readonly params: readonly SqlValue[]; readonly rows: number };

/** A database that remembers what was asked of it. */
function watched(): { readonly db: SqlDatabase; readonly asked: Asked[] } {
  const inner = openInlineDatabase(":memory:", [SWAP_SCHEMA]);
  const asked: Asked[] = [];
  const read = async (sql: string, params: readonly SqlValue[] = []): Promise<readonly SqlRow[]> => {
    const rows = await inner.read(sql, params);
    asked.push({ sql, params, rows: rows.length });
    return rows;
  };
  return { db: { write: (batch) => inner.write(batch), close: () => inner.close(), read }, asked };
}

const uuidOf = (i: number): string => `00000000-0000-4000-8000-${i.toString(16).padStart(12, "0")}`;
const swap = (i: number, my: string, other: string, at: number) =>
  ({ uuid: uuidOf(i), role: "taker", myCoin: my, otherCoin: other, startedAt: at, finished: false }) as const;
const first = { v: 1, atMs: 1, event: { type: "secret_learned", secret: "00".repeat(32) } } as const;

const FILTERS: readonly SwapFilter[] = [
  {},
  { myCoin: "DOC" },
  { otherCoin: "MARTY" },
  { myCoin: "DOC", otherCoin: "MARTY" },
  { fromSec: 1_010 },
  { toSec: 1_040 },
  { myCoin: "DOC", fromSec: 1_010, toSec: 1_040 },
  { myCoin: "DOC", otherCoin: "MARTY", fromSec: 1_010, toSec: 1_040 },
];

test("no page, whatever filter, place and depth, makes SQLite read through all swaps; rows are read once, and nothing is asked while there are no new ones", async () => {
  const { db, asked } = watched();
  const store = createSwapStore(db);
  for (let i = 0; i < 60; i++) await store.create(swap(i, i % 3 ? "DOC" : "KMD", "MARTY", 1_000 + i), first, []);
  await store.page({}, { skip: 0 }, 10);
  const starts: readonly SwapPageStart[] = [{ skip: 0 }, { skip: 25 }, { skip: 1_000_000 }, { after: uuidOf(20) }, { after: "none" }];
  for (const filter of FILTERS) for (const start of starts) await store.page(filter, start, 10);
  await store.log(uuidOf(3));
  await store.has(uuidOf(3));
  await store.isMarked({ kind: "fee_tx", value: "00" });

  const statements = new Map(asked.map(({ sql, params }) => [sql, params]));
  expect(statements.size).toBe(5);
  for (const [sql, params] of statements) {
    const plan = (await db.read(`EXPLAIN QUERY PLAN ${sql}`, params)).map((step) => String(step.detail));
    expect(plan.join("\n"), sql).toMatch(/^SEARCH/);
    expect(plan.join("\n"), sql).not.toMatch(/SCAN|TEMP B-TREE/);
  }
  expect(asked.filter(({ sql }) => sql.startsWith("SELECT id, uuid")).map(({ rows }) => rows)).toEqual([60]);
  asked.length = 0;
  await store.page({ myCoin: "DOC" }, { skip: 10 }, 10);
  expect(asked).toEqual([]);
});

test("a swap stored while a page is being read, or by a write that failed in the end, is in the next page", async () => {
  const { db } = watched();
  const gate = () => {
    let open: () => void = () => undefined;
    const passed = new Promise<void>((resolve) => {
      open = resolve;
    });
    return { open, passed };
  };
  const [isRead, release] = [gate(), gate()];
  let isBroken = false;
  const store = createSwapStore({
    ...db,
    async read(sql, params) {
      const rows = await db.read(sql, params);
      isRead.open();
      await release.passed;
      return rows;
    },
    async write(batch) {
      await db.write(batch);
      if (isBroken) throw new Error("the answer was lost");
    },
  });
  const uuids = async () => (await store.page({}, { skip: 0 }, 10))?.uuids;
  const before = uuids();
  await isRead.passed;
  await store.create(swap(1, "DOC", "MARTY", 1_000), first, []);
  release.open();
  expect(await before).toEqual([]);
  expect(await uuids()).toEqual([uuidOf(1)]);
  isBroken = true;
  await expect(store.create(swap(2, "DOC", "MARTY", 1_001), first, [])).rejects.toThrow("the answer was lost");
  expect(await uuids()).toEqual([uuidOf(2), uuidOf(1)]);
  isBroken = false;
  const ended = { summary: swap(3, "DOC", "MARTY", 1_002), kept: { type: "Taker", uuid: uuidOf(3), events: [] }, marks: [] } as const;
  await store.addEnded([ended]);
  expect(await uuids()).toEqual([uuidOf(3), uuidOf(2), uuidOf(1)]);
});

test("a page behind a swap that is being stored begins at no other: it is behind that one, or there is none until the write is answered", async () => {
  const { db } = watched();
  let answered: Promise<void> = Promise.resolve();
  let answer: () => void = () => undefined;
  let beforeRead: () => Promise<void> = async () => undefined;
  const store = createSwapStore({
    ...db,
    async read(sql, params) {
      const before = beforeRead;
      beforeRead = async () => undefined;
      await before();
      return db.read(sql, params);
    },
    async write(batch) {
      await db.write(batch);
      await answered;
    },
  });
  const behind = async (i: number) => (await store.page({}, { after: uuidOf(i) }, 10))?.uuids;
  for (const i of [1, 2]) await store.create(swap(i, "DOC", "MARTY", 1_000 + i), first, []);
  expect(await behind(2)).toEqual([uuidOf(1)]);
  beforeRead = () => store.create(swap(3, "DOC", "MARTY", 1_000), first, []);
  expect(await behind(3)).toEqual([]);
  answered = new Promise((resolve) => {
    answer = resolve;
  });
  const stored = store.create(swap(4, "DOC", "MARTY", 1_001), first, []);
  // Its neighbour is the swap that began behind it: a page from there would have a swap of the page before again.
  expect(await behind(4)).toBeUndefined();
  answer();
  await stored;
  expect(await behind(4)).toEqual([uuidOf(1), uuidOf(3)]);
});

test("swaps stored between two pages stand in the next one at their place, also those that began earlier", async () => {
  const store = createSwapStore(openInlineDatabase(":memory:", [SWAP_SCHEMA]));
  const page = async (filter: SwapFilter = {}) => (await store.page(filter, { skip: 0 }, 10))?.uuids;
  expect(await page()).toEqual([]);
  await store.create(swap(1, "DOC", "MARTY", 1_000), first, []);
  await store.create(swap(2, "DOC", "MARTY", 2_000), first, []);
  expect(await page()).toEqual([uuidOf(2), uuidOf(1)]);
  await store.create(swap(3, "MARTY", "DOC", 1_500), first, []);
  await store.create(swap(4, "DOC", "MARTY", 1_500), first, []);
  expect(await page()).toEqual([uuidOf(2), uuidOf(4), uuidOf(3), uuidOf(1)]);
  expect(await page({ fromSec: 1_500, toSec: 2_000 })).toEqual([uuidOf(4), uuidOf(3)]);
  expect(await page({ myCoin: "MARTY" })).toEqual([uuidOf(3)]);
  // The last one read is not the newest: it is not read twice.
  expect(await page()).toHaveLength(4);
});

test("a database that does not answer fails the page, and the next one has every swap once", async () => {
  const { db } = watched();
  let isDown = false;
  const store = createSwapStore({
    ...db,
    read: async (sql, params) => (isDown ? Promise.reject(new Error("away")) : db.read(sql, params)),
  });
  await store.create(swap(1, "DOC", "MARTY", 1_000), first, []);
  isDown = true;
  const both = await Promise.allSettled([store.page({}, { skip: 0 }, 10), store.page({}, { skip: 0 }, 10)]);
  expect(both.map((r) => r.status)).toEqual(["rejected", "rejected"]);
  isDown = false;
  const [a, b] = await Promise.all([store.page({}, { skip: 0 }, 10), store.page({}, { skip: 0 }, 10)]);
  expect(a).toEqual({ uuids: [uuidOf(1)], total: 1, skipped: 0 });
  expect(b).toEqual(a);
});

/** Seeds; each stores swaps of four pairs in three rounds, some at the same second, and asks after each round. */
const SEEDS = Array.from({ length: 20 }, (_, i) => 20_261_122 + i);

test.each(SEEDS)(
  "pages of every filter, from every place and of every length are those a walk over all swaps gives (seed %i)",
  async (seed) => {
    const rng = seededRng(seed);
    const below = (n: number): number => (rng.bytes(1)[0] ?? 0) % n;
    const pick = <T>(of: readonly T[]): T => of[below(of.length)] as T;
    const store = createSwapStore(openInlineDatabase(":memory:", [SWAP_SCHEMA]));
    const all: { readonly n: number; readonly uuid: string; readonly my: string; readonly other: string; readonly at: number }[] = [];
    for (let round = 0; round < 3; round++) {
      for (let i = below(25); i >= 0; i--) {
        const made = {
          n: all.length,
          uuid: uuidOf(all.length),
          my: pick(["DOC", "LTC"]),
          other: pick(["MARTY", "KMD"]),
          at: 1_000 + below(50),
        };
        all.push(made);
        await store.create(swap(made.n, made.my, made.other, made.at), first, []);
      }
      for (let asked = 0; asked < 40; asked++) {
        const filter = pick(FILTERS);
        const listed = all
          .filter(
            ({ my, other, at }) => (filter.myCoin ?? my) === my && (filter.otherCoin ?? other) === other && at >= (filter.fromSec ?? 0),
          )
          .filter(({ at }) => filter.toSec === undefined || at < filter.toSec)
          .toSorted((a, b) => b.at - a.at || b.n - a.n);
        const limit = 1 + below(8);
        const after = below(2) === 0 && listed.length > 0 ? below(listed.length) : null;
        const skip = after === null ? below(all.length + 2) : after + 1;
        const start = after === null ? { skip } : { after: listed[after]?.uuid ?? "" };
        const page = await store.page(filter, start, limit);
        const context = JSON.stringify({ filter, start, limit, all });
        const expected = listed.slice(skip, skip + limit).map(({ uuid }) => uuid);
        expect(page?.uuids, context).toEqual(expected);
        expect(page?.total, context).toBe(listed.length);
      }
    }
  },
);
