import { expect, test } from "vitest";
import { FakeAccountCoin } from "../../../test/fakes/fakeAccountCoin.ts";
import { available, buy, pair, place, sell, take } from "../../../test/fakes/orderSteps.ts";
import type { OrderWorld } from "../../../test/fakes/orderWorld.ts";
import { StorageError } from "../../ports/sql.ts";
import { TOLD_IN_TURN } from "./orderAnnouncer.ts";
import { RECORDED_IN_TURN } from "./orderLedger.ts";

const COUNT = 130;

/** Counts how many messages are published in one turn of the event loop at most: each is signed, and nothing else is done meanwhile. */
function countTold({ clock, sent }: OrderWorld): () => number {
  let [before, most] = [sent.length, 0];
  const look = (): number => {
    most = Math.max(most, sent.length - before);
    before = sent.length;
    return most;
  };
  const after = clock.after.bind(clock);
  clock.after = (delayMs, task) =>
    after(delayMs, () => {
      look();
      task();
    });
  return look;
}

async function manyOrders(count = COUNT) {
  const { world, maker } = await pair();
  const uuids: string[] = [];
  for (let i = 0; i < count; i++) uuids.push(await place(maker, sell({ cancelPrevious: false })));
  await world.clock.advance(count);
  const write = maker.disk.db.write.bind(maker.disk.db);
  const writes = { count: 0 };
  maker.disk.db.write = (batch) => {
    writes.count++;
    return write(batch);
  };
  return { world, maker, uuids, writes, told: countTold(world) };
}

test("orders that a smaller balance cuts are told some in a turn, and all of them", async () => {
  const { world, maker, uuids, told } = await manyOrders();
  maker.coin("AAA").setBalance("6");
  await world.clock.advance(2_000);
  expect([world.messages("MakerOrderUpdated").length, told()]).toEqual([COUNT, TOLD_IN_TURN]);
  expect(new Set(uuids.map((uuid) => available(maker, uuid))).size).toBe(1);
});

test("orders that a balance is too small for end in one write, and are taken out of the books some in a turn", async () => {
  const { world, maker, writes, told } = await manyOrders();
  maker.coin("AAA").setBalance("0");
  await world.clock.advance(2_000);
  expect([world.messages("MakerOrderCancelled").length, told(), writes.count]).toEqual([COUNT, TOLD_IN_TURN, 1]);
  expect(maker.orders.myOrders().makers).toEqual([]);
});

test("orders of before that a balance is too small for end in one write as well", async () => {
  const { world, maker, writes } = await manyOrders();
  await maker.restart();
  maker.coin("AAA").setBalance("0");
  await world.clock.advance(2_000);
  expect([writes.count, maker.orders.myOrders().makers]).toEqual([1, []]);
});

test("all orders are cancelled at once, and taken out of the books some in a turn", async () => {
  const { world, maker, uuids, told } = await manyOrders();
  const done = maker.orders.cancelAllOrders({ type: "All" });
  await world.clock.advance(1);
  expect((await done).cancelled).toEqual(uuids);
  expect([world.messages("MakerOrderCancelled").length, told()]).toEqual([COUNT, TOLD_IN_TURN]);
});

test("orders of both kinds that are cancelled together end in one write, or stay as they are", async () => {
  const { world, maker, writes } = await manyOrders(3);
  for (let i = 0; i < 3; i++) await take(maker, buy("1"));
  const { makers, takers } = maker.orders.myOrders();
  maker.disk.fail = true;
  await expect(maker.orders.cancelAllOrders({ type: "All" })).rejects.toThrow("disk is full");
  expect(maker.orders.myOrders()).toEqual({ makers, takers });
  writes.count = 0;
  const { cancelled } = await maker.orders.cancelAllOrders({ type: "All" });
  expect([cancelled.length, writes.count, maker.orders.myOrders()]).toEqual([6, 1, { makers: [], takers: [] }]);
  await world.clock.advance(60_000);
  expect(world.messages("TakerRequest").filter(({ uuid }) => takers.some((order) => order.uuid === uuid)).length).toBe(3);
});

test("a request is answered while thousands of other orders that were cancelled are taken out of the books, and a node that stops does that first", async () => {
  const { world, maker } = await manyOrders();
  await place(maker, sell({ base: "BBB", rel: "AAA", cancelPrevious: false }));
  const taker = world.nodes.get("taker");
  if (!taker) throw new Error("no taker");
  const asked = await take(taker, buy("1", { base: "BBB", rel: "AAA" }));
  const from = world.sent.length;
  const done = maker.orders.cancelAllOrders({ type: "Pair", base: "AAA", rel: "BBB" });
  const told = world.sent.find(({ message }) => message.type === "TakerRequest" && message.body.uuid === asked);
  if (!told) throw new Error("nothing was asked");
  world.send("maker", "taker", told.message);
  const cancelled = () => world.messages("MakerOrderCancelled").length;
  const closed = maker.orders.close().then(cancelled);
  await world.clock.advance(1);
  expect((await done).cancelled.length).toBe(COUNT);
  const types = world.sent.slice(from).map(({ message }) => message.type);
  expect([types.indexOf("MakerReserved"), await closed, cancelled()]).toEqual([TOLD_IN_TURN, COUNT, COUNT]);
});

test("an order that takes the place of thousands is stored in one write with their ends, whose records are made some in a turn", async () => {
  const { world, maker, uuids, writes } = await manyOrders(1_100);
  let turns = 0;
  const after = world.clock.after.bind(world.clock);
  world.clock.after = (delayMs, task) => {
    if (delayMs === 0 && writes.count === 0) turns++;
    return after(delayMs, task);
  };
  const placed = maker.orders.placeMakerOrder(sell());
  await world.clock.advance(1);
  const { ok } = await placed;
  expect([ok, world.messages("MakerOrderCancelled").length, writes.count]).toEqual([true, uuids.length, 1]);
  expect(turns).toBe(Math.floor(uuids.length / RECORDED_IN_TURN));
  expect(maker.orders.myOrders().makers.length).toBe(1);
});

test("an order that takes the place of thousands and for which there is no room on the disk leaves all of them as they are", async () => {
  const { world, maker, uuids } = await manyOrders(1_100);
  const { write } = maker.disk.db;
  maker.disk.db.write = (batch, options) =>
    options?.isNew ? Promise.reject(new StorageError("DiskFull", "room only for what has begun")) : write(batch, options);
  const placed = maker.orders.placeMakerOrder(sell()).catch((cause: unknown) => cause);
  await world.clock.advance(1_000);
  expect(await placed).toMatchObject({ kind: "DiskFull" });
  expect(maker.orders.myOrders().makers.map(({ uuid }) => uuid)).toEqual(uuids);
  expect(world.messages("MakerOrderCancelled")).toEqual([]);
});

test("orders whose coin is disabled beside them are taken out of the books some in a turn, but for those whose coin is back by then", async () => {
  const { world, maker, told } = await manyOrders();
  const coin = maker.coin("BBB");
  maker.coins.delete("BBB");
  world.deliver = () => {
    if (world.messages("MakerOrderCancelled").length > 2 * TOLD_IN_TURN) maker.coins.set("BBB", coin);
    return true;
  };
  await world.clock.advance(1_000);
  expect([told(), world.messages("MakerOrderCancelled").length]).toEqual([TOLD_IN_TURN, 2 * TOLD_IN_TURN + 1]);
  expect(maker.orders.ownOrders.orders().length).toBe(COUNT - 2 * TOLD_IN_TURN - 1);
  expect(maker.orders.myOrders().makers.length).toBe(COUNT);
});

test("whether the fees of thousands of orders can be paid is reckoned once for a pair in each turn", async () => {
  const { world, maker } = await pair();
  maker.coins.set("ETH", new FakeAccountCoin("ETH", "10"));
  for (let i = 0; i < COUNT; i++) await place(maker, sell({ rel: i % 2 ? "ETH" : "BBB", cancelPrevious: false }));
  await maker.restart();
  const eth = new FakeAccountCoin("ETH", "0");
  maker.coins.set("ETH", eth);
  let reckonings = 0;
  const spendFee = eth.spendFee.bind(eth);
  eth.spendFee = (stage) => {
    reckonings++;
    return spendFee(stage);
  };
  await world.clock.advance(1_000);
  expect(maker.orders.ownOrders.orders().every(({ rel }) => rel === "BBB")).toBe(true);
  expect([maker.orders.ownOrders.orders().length, reckonings]).toEqual([COUNT / 2, 2]);
  eth.setBalance("10");
  await world.clock.advance(2_000);
  expect(maker.orders.ownOrders.orders().length).toBe(COUNT);
});
