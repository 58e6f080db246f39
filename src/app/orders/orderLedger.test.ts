import { expect, test } from "vitest";
import { PromptClock } from "../../../test/fakes/promptClock.ts";
import { SilentLog } from "../../../test/fakes/silentLog.ts";
import { openInlineDatabase } from "../../adapters/sqlite/inlineDatabase.ts";
import { createOrderStore, ORDER_SCHEMA } from "../../adapters/sqlite/orderStore.ts";
import { VirtualClock } from "../../adapters/virtualClock/virtualClock.ts";
import { rational } from "../../core/money/rational.ts";
import type { MakerOrder } from "../../core/order/makerOrder.ts";
import { type TakerOrder, takerToMaker } from "../../core/order/takerOrder.ts";
import { type LedgerStep, MAX_OWN_ORDERS, OrderLedger } from "./orderLedger.ts";
import { OrderLookup } from "./orderLookup.ts";
import type { OrderFiles } from "./ordersDeps.ts";

const uuidOf = (n: number): string => `11111111-2222-4333-8444-00000000000${n}`;
const order = (n: number): MakerOrder => ({
  uuid: uuidOf(n),
  base: "AAA",
  rel: "BBB",
  baseOrderbookTicker: null,
  relOrderbookTicker: null,
  conf: { baseConfs: 1, baseNota: false, relConfs: 1, relNota: false },
  price: rational(1n, 3n),
  maxBaseVol: rational(10n),
  minBaseVol: rational(1n, 1000n),
  createdAtMs: 5,
  updatedAtMs: 5,
  timeoutMinutes: null,
  saveInHistory: true,
  matches: new Map(),
  startedSwaps: [],
});

const takerOrder = (n: number): TakerOrder => ({
  uuid: uuidOf(n),
  action: "Sell",
  base: "AAA",
  rel: "BBB",
  baseOrderbookTicker: null,
  relOrderbookTicker: null,
  baseAmount: rational(1n),
  relAmount: rational(2n),
  matchBy: { type: "Any" },
  conf: { baseConfs: 1, baseNota: false, relConfs: 1, relNota: false },
  orderType: "GoodTillCancelled",
  minVolume: rational(1n, 1000n),
  createdAtMs: 5,
  timeoutSec: 30,
  saveInHistory: true,
  match: null,
});

test.each([
  ["record is cut short", "UPDATE live_orders SET record = substr(record, 1, 50) WHERE uuid = ?"],
  ["kind is no kind", "UPDATE live_orders SET kind = 'Mak' WHERE uuid = ?"],
  ["kind is the other one", "UPDATE live_orders SET kind = 'Taker' WHERE uuid = ?"],
  ["record is another order's", "UPDATE live_orders SET record = replace(record, '000000000002', '000000000009') WHERE uuid = ?"],
])("a stored order whose %s is named and left as it is, and the others are loaded", async (_what, sql) => {
  const db = openInlineDatabase(":memory:", [ORDER_SCHEMA]);
  const store = createOrderStore(db);
  const log = new SilentLog();
  const deps = { clock: new VirtualClock(), log, store, ownKey: new Uint8Array(33) };
  await new OrderLedger(deps).commit([1, 2, 3].map((n) => ({ step: "newMaker", order: order(n) }) as const));
  await db.write([{ sql, params: [uuidOf(2)] }]);
  const before = await db.read("SELECT * FROM live_orders");
  const ledger = new OrderLedger(deps);
  await ledger.load();
  expect([...ledger.makers.keys(), ...ledger.takers.keys()]).toEqual([uuidOf(1), uuidOf(3)]);
  const told = log.lines.filter((l) => l.event === "order_unreadable");
  expect(told.map((l) => l.fields.order)).toEqual([uuidOf(2)]);
  expect(String(told[0]?.fields.error)).toContain(uuidOf(2));
  expect(await db.read("SELECT * FROM live_orders")).toEqual(before);
});

test("behind a slow disk an ended order is still taken out of the files of open ones; of the history, what is more than all that may be open is left out and named", async () => {
  const log = new SilentLog();
  const shown = new Set<string>();
  const waiting: (() => void)[] = [];
  const later = (work: () => void): Promise<void> =>
    new Promise((resolve) => {
      waiting.push(() => {
        work();
        resolve();
      });
    });
  const files: OrderFiles = {
    write: (folder, uuid) => later(() => shown.add(`${folder}/${uuid}`)),
    remove: (folder, uuid) => later(() => shown.delete(`${folder}/${uuid}`)),
  };
  const store = createOrderStore(openInlineDatabase(":memory:", [ORDER_SCHEMA]));
  const ledger = new OrderLedger({ clock: new PromptClock(), log, store, ownKey: new Uint8Array(33), files });
  const orders = Array.from({ length: MAX_OWN_ORDERS + 1 }, (_, n) => ({
    ...order(0),
    uuid: `11111111-2222-4333-8444-${String(n).padStart(12, "0")}`,
  }));
  await ledger.commit(orders.map((o) => ({ step: "newMaker", order: o })));
  await ledger.commit(orders.map((o) => ({ step: "endMaker", order: o, reason: "Cancelled" })));
  for (const work of waiting) work();
  await ledger.close();
  const last = orders.at(-1)?.uuid;
  expect([...shown]).toEqual(orders.slice(0, -1).map(({ uuid }) => `HISTORY/${uuid}`));
  expect(log.lines.map(({ event, fields }) => [event, fields.order])).toEqual([["order_file_skipped", last]]);
});

test("a new order and an agreed swap ask for the room of new things, whatever ends with them; what becomes of an order does not", async () => {
  const db = openInlineDatabase(":memory:", [ORDER_SCHEMA]);
  const asked: boolean[] = [];
  const store = createOrderStore({
    ...db,
    write: (batch, options) => {
      asked.push(options?.isNew === true);
      return db.write(batch, options);
    },
  });
  const ledger = new OrderLedger({ clock: new VirtualClock(), log: new SilentLog(), store, ownKey: new Uint8Array(33) });
  const taker = takerOrder(3);
  for (const steps of [
    [{ step: "newMaker", order: order(1) }],
    [
      { step: "endMaker", order: order(1), reason: "Cancelled" },
      { step: "newMaker", order: order(2) },
    ],
    [{ step: "newTaker", order: taker }],
    [
      { step: "maker", order: order(2) },
      { step: "swapAgreed", takerUuid: uuidOf(9), makerUuid: uuidOf(2) },
    ],
    [{ step: "maker", order: order(2) }],
    [{ step: "updateMaker", order: order(2) }],
    [{ step: "taker", order: taker }],
    [{ step: "convert", order: takerToMaker(taker, 6) }],
    [{ step: "endMaker", order: order(2), reason: "Fulfilled" }],
  ] satisfies LedgerStep[][])
    await ledger.commit(steps);
  expect(asked).toEqual([true, true, true, true, false, false, false, false, false]);
});

test("orders are found live and ended, as they are or were; one that is damaged is named and keeps no other from being found", async () => {
  const db = openInlineDatabase(":memory:", [ORDER_SCHEMA]);
  const store = createOrderStore(db);
  const log = new SilentLog();
  const ledger = new OrderLedger({ clock: new VirtualClock(), log, store, ownKey: new Uint8Array(33) });
  await ledger.commit([1, 2, 3].map((n) => ({ step: "newMaker", order: order(n) }) as const));
  await ledger.commit([4, 5].map((n) => ({ step: "newTaker", order: takerOrder(n) }) as const));
  await ledger.commit([
    { step: "endMaker", order: order(2), reason: "Cancelled" },
    { step: "endMaker", order: order(3), reason: "Fulfilled" },
    { step: "endTaker", order: takerOrder(5), reason: "TimedOut" },
  ]);
  await db.write([{ sql: "UPDATE ended_orders SET record = '{' WHERE uuid = ?", params: [uuidOf(3)] }]);
  const lookup = new OrderLookup(ledger, store, log);
  const status = async (n: number): Promise<string> => {
    const found = await lookup.status(uuidOf(n));
    return found.ok ? `${found.value.own.kind} ${found.value.cancellationReason}` : found.error.kind;
  };
  expect(await Promise.all([1, 2, 4, 5, 9].map(status))).toEqual([
    "Maker null",
    "Maker Cancelled",
    "Taker null",
    "Taker TimedOut",
    "OrderNotFound",
  ]);
  await expect(lookup.status(uuidOf(3))).rejects.toThrow(uuidOf(3));
  const found = await lookup.details([1, 2, 3, 4, 5, 9].map(uuidOf));
  expect([...found].map(([uuid, { own, isLive }]) => [uuid.at(-1), own.kind, isLive]).toSorted()).toEqual([
    ["1", "Maker", true],
    ["2", "Maker", false],
    ["4", "Taker", true],
    ["5", "Taker", false],
  ]);
  expect(log.lines.filter((l) => l.event === "order_unreadable").map((l) => l.fields.order)).toEqual([uuidOf(3)]);
});
