import { expect, test } from "vitest";
import { rational } from "../../core/money/rational.ts";
import type { NewHistoryRow, OrderRecord } from "../../ports/orderStore.ts";
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
