import { secp256k1 } from "@noble/curves/secp256k1.js";
import { expect, test } from "vitest";
import { BookWorld } from "../../../test/fakes/bookWorld.ts";
import { available, buy, pair, place, sell, take } from "../../../test/fakes/orderSteps.ts";
import { OrderWorld, type TestNode } from "../../../test/fakes/orderWorld.ts";
import { SilentLog } from "../../../test/fakes/silentLog.ts";
import { nobleVerify } from "../../core/crypto/nobleVerifier.ts";
import { decimal, toDecimalString } from "../../core/money/rational.ts";
import { toHex } from "../../core/util/bytes.ts";
import { Secret } from "../../core/util/secret.ts";
import { sleep } from "../../ports/clock.ts";
import { OrderbookService } from "../orderbook/orderbookService.ts";
import type { MakerOrderUpdate } from "./orderInputs.ts";

const orderOf = (node: TestNode, uuid: string) => node.orders.myOrders().makers.find((o) => o.uuid === uuid);
const update = async (node: TestNode, change: MakerOrderUpdate): Promise<string> => {
  const done = await node.orders.updateMakerOrder(change);
  return done.ok ? "updated" : done.error.kind;
};
const historyOf = async (node: TestNode, uuid: string) =>
  (await node.disk.db.read("SELECT price, volume, status, created_at, last_updated FROM my_orders WHERE uuid = ?", [uuid]))[0];

test("an update is stored before the network hears of it, under the same uuid, and survives a restart", async () => {
  const { world, maker } = await pair();
  const uuid = await place(maker);
  await world.clock.advance(5_000);
  const change = { uuid, price: decimal("3"), volumeDelta: decimal("-4"), minVolume: decimal("0.5"), conf: { relConfs: 4 } };
  maker.disk.fail = true;
  await expect(maker.orders.updateMakerOrder(change)).rejects.toThrow("disk is full");
  expect(world.messages("MakerOrderUpdated")).toEqual([]);
  expect(orderOf(maker, uuid)).toMatchObject({ price: decimal("2"), maxBaseVol: decimal("10") });
  expect(await update(maker, change)).toBe("updated");
  const conf = { baseConfs: 1, baseNota: false, relConfs: 4, relNota: false };
  const terms = { uuid, price: decimal("3"), maxBaseVol: decimal("6"), minBaseVol: decimal("0.5"), conf };
  const nowMs = world.clock.nowMs();
  expect(orderOf(maker, uuid)).toMatchObject({ ...terms, createdAtMs: nowMs - 5_000, updatedAtMs: nowMs });
  expect(world.messages("MakerOrderUpdated")).toMatchObject([
    { uuid, newPrice: decimal("3"), newMaxVolume: decimal("6"), newMinVolume: decimal("0.5"), conf, timestamp: Math.floor(nowMs / 1_000) },
  ]);
  expect(await historyOf(maker, uuid)).toMatchObject({
    price: 3,
    volume: 6,
    status: "Updated",
    created_at: nowMs - 5_000,
    last_updated: nowMs,
  });
  await maker.restart();
  expect(orderOf(maker, uuid)).toMatchObject(terms);
  await world.clock.advance(1_000);
  expect(world.messages("MakerOrderCreated").at(-1)).toMatchObject({ uuid, price: decimal("3"), maxVolume: decimal("6") });
  expect(maker.files.files.get(`MAKER/${uuid}`)).toMatchObject({
    price: [
      [1, [3]],
      [1, [1]],
    ],
  });
});

test("a request that became a maker order and was changed is in the history as it was asked for: a buy of the other coin", async () => {
  const { world, taker } = await pair();
  const uuid = await take(taker, buy("10"));
  await world.clock.advance(31_000);
  expect(orderOf(taker, uuid)).toMatchObject({ base: "BBB", rel: "AAA", price: decimal("0.5"), maxBaseVol: decimal("20") });
  // 10 BBB for 4 AAA each: 40 AAA bought at a quarter.
  expect(await update(taker, { uuid, price: decimal("4"), volumeDelta: decimal("-10") })).toBe("updated");
  expect(await historyOf(taker, uuid)).toMatchObject({ price: 0.25, volume: 40, status: "Updated" });
});

test("what is left out stays, and the minimum is said only when it was given", async () => {
  const { world, maker } = await pair();
  const uuid = await place(maker, sell({ minVolume: decimal("1") }));
  await world.clock.advance(1_000);
  expect(await update(maker, { uuid })).toBe("updated");
  expect(world.messages("MakerOrderUpdated")).toMatchObject([
    { newPrice: decimal("2"), newMaxVolume: decimal("10"), newMinVolume: null, conf: { baseConfs: 1, relConfs: 1 } },
  ]);
  expect(orderOf(maker, uuid)).toMatchObject({ minBaseVol: decimal("1") });
});

test("an order that is being matched is not updated, and can be when its taker has not connected in time", async () => {
  const { world, maker, taker } = await pair();
  const uuid = await place(maker);
  await world.clock.advance(1_000);
  world.deliver = (sent) => sent.message.type !== "TakerConnect";
  await take(taker, buy("3", { price: decimal("2.5") }));
  await world.clock.advance(1_000);
  expect(available(maker, uuid)).toBe("7");
  expect(await update(maker, { uuid, price: decimal("5") })).toBe("OngoingMatches");
  expect(orderOf(maker, uuid)).toMatchObject({ price: decimal("2") });
  await world.clock.advance(31_000);
  expect(await update(maker, { uuid, price: decimal("5") })).toBe("updated");
});

test("a request that comes while an update is being stored meets the new price", async () => {
  const { world, maker, taker } = await pair();
  const uuid = await place(maker);
  await world.clock.advance(1_000);
  const { db } = maker.disk;
  const write = db.write.bind(db);
  db.write = async (batch) => {
    await sleep(world.clock, 100);
    return write(batch);
  };
  const updating = update(maker, { uuid, price: decimal("3") });
  await take(taker, buy("3", { price: decimal("2.5") }));
  await world.clock.advance(1_000);
  expect(await updating).toBe("updated");
  expect(world.messages("MakerReserved")).toEqual([]);
});

test("volumes of swaps that began stay with the order: only what is left is offered, checked and announced", async () => {
  const { world, maker, taker } = await pair();
  const uuid = await place(maker);
  await world.clock.advance(1_000);
  await take(taker, buy("4", { price: decimal("2.5") }));
  await world.clock.advance(5_000);
  expect(available(maker, uuid)).toBe("6");
  const tooFew = await maker.orders.updateMakerOrder({ uuid, volumeDelta: decimal("-6") });
  expect(tooFew).toMatchObject({ ok: false, error: { kind: "VolumeNotAboveReserved", volume: decimal("4"), reserved: decimal("4") } });
  expect(await update(maker, { uuid, volumeDelta: decimal("-2"), minVolume: decimal("5") })).toBe("MaxBelowMin");
  // 99 with what is in the swap, which has its funds already: 95 and a fee of the 95.9999 that are free.
  expect(await update(maker, { uuid, volumeDelta: decimal("89") })).toBe("updated");
  expect(await update(maker, { uuid, volumeDelta: decimal("1") })).toBe("NotSufficientBalance");
  expect(await update(maker, { uuid, volumeDelta: decimal("-94") })).toBe("updated");
  expect(available(maker, uuid)).toBe("1");
  expect(world.messages("MakerOrderUpdated").at(-1)).toMatchObject({ newMaxVolume: decimal("1") });
  // 100 AAA, 4 and a fee of them held by the swap: all that is left, less the reserve.
  expect(await update(maker, { uuid, volumeDelta: "max" })).toBe("updated");
  expect(available(maker, uuid)).toBe("95.9989");
  await world.clock.advance(60_000);
  expect(available(maker, uuid)).toBe("95.9989");
});

test.each<[string, Omit<MakerOrderUpdate, "uuid">]>([
  ["PriceTooLow", { price: decimal("0"), volumeDelta: decimal("-100") }],
  ["MinVolumeTooLow", { minVolume: decimal("0.00001"), volumeDelta: decimal("-100") }],
  ["VolumeNotPositive", { volumeDelta: decimal("-10") }],
  ["NotSufficientBalance", { volumeDelta: decimal("90"), minVolume: decimal("1000") }],
  ["MaxBelowMin", { minVolume: decimal("11") }],
  ["MaxBelowMin", { volumeDelta: decimal("-9.5") }],
  ["RelVolumeTooLow", { price: decimal("0.000001") }],
])("an update is refused with %s, and nothing changes", async (kind, change) => {
  const { world, maker } = await pair();
  const uuid = await place(maker, sell({ minVolume: decimal("1") }));
  await world.clock.advance(1_000);
  expect(await update(maker, { uuid, ...change })).toBe(kind);
  expect(orderOf(maker, uuid)).toMatchObject({ price: decimal("2"), maxBaseVol: decimal("10"), minBaseVol: decimal("1") });
  expect(world.messages("MakerOrderUpdated")).toEqual([]);
  expect(await historyOf(maker, uuid)).toMatchObject({ status: "Created" });
});

test("no order, a taker's order, a coin that is not active and a key that trades elsewhere are refused", async () => {
  const { world, maker } = await pair();
  const uuid = await place(maker);
  const taken = await take(maker, buy("1"));
  await world.clock.advance(1_000);
  expect(await update(maker, { uuid: "none" })).toBe("OrderNotFound");
  expect(await update(maker, { uuid: taken })).toBe("OrderNotFound");
  maker.keyElsewhere = { kind: "KeyInUseElsewhere", heardAtMs: 1, message: "MakerOrderCreated", untilMs: 2 };
  expect(await update(maker, { uuid })).toBe("KeyInUseElsewhere");
  maker.keyElsewhere = null;
  maker.coins.delete("BBB");
  expect(await update(maker, { uuid })).toBe("CoinsNotActive");
});

test("another node's book shows the new terms, at once and after the next keep-alive", async () => {
  const orders = new OrderWorld();
  const books = new BookWorld(orders.clock);
  const maker = await orders.node("maker");
  books.relay("relay");
  const viewer = books.light("viewer", "relay");
  const p2p = books.hub.node("maker");
  books.hub.connect("maker", "relay");
  const secret = new Uint8Array(32).fill(9);
  const book = new OrderbookService({
    p2p,
    clock: orders.clock,
    log: new SilentLog(),
    verifier: { verify: nobleVerify },
    ownOrders: maker.orders.ownOrders,
    publicKey: secp256k1.getPublicKey(secret, true),
    secretKey: new Secret(secret),
    isBanned: () => false,
    hasHistory: () => false,
  });
  p2p.setRequestHandler((peer, request) => book.handleRequest(peer, request));
  p2p.setMessageHandler((message) => book.handleGossip(message));
  book.start();
  orders.deliver = ({ message }) => {
    book.publish("AAA", "BBB", message);
    return false;
  };
  viewer.service.follow("AAA", "BBB");
  const uuid = await place(maker);
  await orders.clock.advance(1_000);
  const seen = () =>
    viewer.service.entries("AAA", "BBB").map(({ item }) => [item.price, item.maxVolume, item.minVolume].map(toDecimalString));
  expect(seen()).toEqual([["2", "10", "0.0001"]]);
  expect(await update(maker, { uuid, price: decimal("2.5"), volumeDelta: decimal("5"), minVolume: decimal("2") })).toBe("updated");
  await orders.clock.advance(1_000);
  expect(seen()).toEqual([["2.5", "15", "2"]]);
  const asked = viewer.requests().length;
  await orders.clock.advance(70_000);
  expect(seen()).toEqual([["2.5", "15", "2"]]);
  // The maker's root is that of what it announced: nobody has to ask what the orders are.
  expect(viewer.requests().slice(asked)).toEqual([]);
  expect(viewer.service.entries("AAA", "BBB")[0]?.item.pubkey).toBe(toHex(secp256k1.getPublicKey(secret, true)));
  book.stop();
});
