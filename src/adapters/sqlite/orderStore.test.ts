import { expect, test } from "vitest";
import { rational } from "../../core/money/rational.ts";
import type { HistoryFilter, NewHistoryRow, OrderChange, OrderRecord } from "../../ports/orderStore.ts";
import { openInlineDatabase } from "./inlineDatabase.ts";
import { createOrderStore, ORDER_SCHEMA } from "./orderStore.ts";

function open() {
  const db = openInlineDatabase(":memory:", [ORDER_SCHEMA]);
  return { db, store: createOrderStore(db) };
}
const order = (uuid: string, record = "{}"): OrderRecord => ({ uuid, kind: "Maker", record });
const row = (uuid: string): NewHistoryRow => ({
  uuid,
  kind: "Taker",
  initialAction: "Buy",
  base: "A",
  rel: "B",
  price: rational(1n, 3n),
  volume: rational(5n),
  createdAtMs: 7,
});

test("live orders come back oldest first; a rewritten one keeps its place", async () => {
  const { store } = open();
  await store.apply([
    { change: "put", order: order("b") },
    { change: "put", order: order("a") },
  ]);
  await store.apply([{ change: "put", order: order("b", "2") }]);
  expect(await store.live()).toEqual([order("b", "2"), order("a")]);
  await store.apply([{ change: "remove", uuid: "b" }]);
  expect(await store.live()).toEqual([order("a")]);
});

test("a batch is stored whole or not at all", async () => {
  const { store } = open();
  const agreed = { change: "swapAgreed", takerUuid: "t", makerUuid: "m", atMs: 1 } as const;
  await store.apply([agreed]);
  await expect(store.apply([{ change: "put", order: order("a") }, agreed])).rejects.toMatchObject({ kind: "Constraint" });
  expect(await store.live()).toEqual([]);
  expect([await store.swapAgreed("t"), await store.swapAgreed("u")]).toEqual([true, false]);
});

test("the history row follows the order's life in KDF's columns", async () => {
  const { db, store } = open();
  await store.apply([{ change: "historyRow", row: row("x") }]);
  await store.apply([
    { change: "status", uuid: "x", status: "ToMaker", atMs: 8 },
    { change: "becameMaker", uuid: "x", atMs: 9 },
  ]);
  const [stored] = await db.read("SELECT * FROM my_orders");
  expect(stored).toMatchObject({
    type: "Maker",
    initial_action: "Buy",
    was_taker: 1,
    status: "ToMaker",
    created_at: 7,
    last_updated: 9,
    volume: 5,
  });
  expect(stored?.price).toBeCloseTo(1 / 3, 12);
});

test("an ended order is found with its reason; one without history is not", async () => {
  const { store } = open();
  await store.apply([
    { change: "historyRow", row: row("x") },
    { change: "ended", order: order("x", "last") },
    { change: "status", uuid: "x", status: "Cancelled", atMs: 8 },
  ]);
  expect(await store.ended("x")).toEqual({ order: order("x", "last"), status: "Cancelled" });
  expect(await store.ended("y")).toBeNull();
});

test("an update shows in the history row, in the coins the order was first asked for in", async () => {
  const { db, store } = open();
  const terms = { change: "updatedTerms", price: rational(2n), volume: rational(9n), atMs: 8 } as const;
  await store.apply([
    { change: "historyRow", row: { ...row("x"), initialAction: "Sell" } },
    { change: "historyRow", row: { ...row("y"), initialAction: "Buy" } },
    ...["x", "y", "absent"].map((uuid) => ({ ...terms, uuid })),
  ]);
  const times = { status: "Updated", created_at: 7, last_updated: 8 };
  expect(await db.read("SELECT price, volume, status, created_at, last_updated FROM my_orders ORDER BY uuid")).toEqual([
    { price: 2, volume: 9, ...times },
    { price: 0.5, volume: 18, ...times },
  ]);
});

/** Ten thousand orders a minute apart, of ten coins and all ends. */
async function manyOrders() {
  const opened = open();
  const statuses = ["Created", "Fulfilled", "Cancelled", "TimedOut"];
  const changes: OrderChange[] = [];
  for (let i = 0; i < 10_000; i++) {
    const uuid = `o${i}`;
    const action = i % 2 === 0 ? "Buy" : "Sell";
    const terms = { base: `C${i % 10}`, rel: `C${(i + 1) % 10}`, price: rational(BigInt(i), 100n), volume: rational(BigInt(i % 7) + 1n) };
    changes.push({ change: "historyRow", row: { ...row(uuid), initialAction: action, ...terms, createdAtMs: i * 60_000 } });
    const status = statuses[i % 4];
    if (status !== undefined && status !== "Created") changes.push({ change: "status", uuid, status, atMs: i * 60_000 + 5 });
    if (i % 5 === 0) changes.push({ change: "becameMaker", uuid, atMs: i * 60_000 + 5 });
  }
  for (let i = 0; i < changes.length; i += 1_000) await opened.store.apply(changes.slice(i, i + 1_000));
  return opened;
}

test("the history answers each filter alone and all together, newest first, bounds included", async () => {
  const { store } = await manyOrders();
  const numbers = async (filter: HistoryFilter, limit = 100_000): Promise<readonly number[]> =>
    (await store.history(filter, limit)).map((r) => Number(r.uuid.slice(1)));
  const expected = (fits: (i: number) => boolean): readonly number[] => Array.from({ length: 10_000 }, (_, i) => 9_999 - i).filter(fits);
  expect(await numbers({})).toEqual(expected(() => true));
  expect(await numbers({}, 3)).toEqual([9_999, 9_998, 9_997]);
  expect(await numbers({ base: "C3" })).toEqual(expected((i) => i % 10 === 3));
  expect(await numbers({ rel: "C3" })).toEqual(expected((i) => i % 10 === 2));
  expect(await numbers({ kind: "Maker" })).toEqual(expected((i) => i % 5 === 0));
  expect(await numbers({ wasTaker: false })).toEqual(expected((i) => i % 5 !== 0));
  expect(await numbers({ initialAction: "Sell" })).toEqual(expected((i) => i % 2 === 1));
  expect(await numbers({ status: "TimedOut" })).toEqual(expected((i) => i % 4 === 3));
  // 0.29 and 0.3 are no doubles: the bounds are still the prices that were asked for.
  expect(await numbers({ fromPrice: rational(29n, 100n), toPrice: rational(3n, 10n) })).toEqual([30, 29]);
  expect(await numbers({ fromVolume: rational(7n) })).toEqual(expected((i) => i % 7 === 6));
  expect(await numbers({ toVolume: rational(1n) })).toEqual(expected((i) => i % 7 === 0));
  expect(await numbers({ fromMs: 9_990 * 60_000, toMs: 9_991 * 60_000 })).toEqual([9_991, 9_990]);
  const all: HistoryFilter = { base: "C0", rel: "C1", kind: "Maker", wasTaker: true, initialAction: "Buy", status: "Cancelled" };
  expect(await numbers({ ...all, fromPrice: rational(20n), toPrice: rational(80n), fromMs: 0, toMs: 5_000 * 60_000 })).toEqual(
    expected((i) => i % 10 === 0 && i % 4 === 2 && i >= 2_000 && i <= 5_000),
  );
  expect(await numbers({ base: "' OR 1=1 --" })).toEqual([]);
});

test("no question to the history walks through the whole table and sorts it", async () => {
  const { db } = await manyOrders();
  const plan = async (where: string): Promise<string> =>
    (await db.read(`EXPLAIN QUERY PLAN SELECT * FROM my_orders ${where} ORDER BY created_at DESC, id DESC LIMIT 10`))
      .map((r) => r.detail)
      .join("; ");
  for (const where of [
    "",
    "WHERE base = 'C1'",
    "WHERE rel = 'C1'",
    "WHERE status = 'Created'",
    "WHERE created_at >= 5",
    "WHERE price >= 5",
  ]) {
    expect(await plan(where), where).toContain("USING INDEX my_orders_");
    expect(await plan(where), where).not.toContain("TEMP B-TREE");
  }
});

test("ended orders are read many at a time", async () => {
  const { store } = open();
  await store.apply(["a", "b", "c"].map((uuid) => ({ change: "ended", order: order(uuid, `last of ${uuid}`) }) as const));
  expect(await store.endedOrders(["c", "none", "a"])).toEqual(expect.arrayContaining([order("a", "last of a"), order("c", "last of c")]));
  expect(await store.endedOrders([])).toEqual([]);
});
