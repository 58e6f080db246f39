import { secp256k1 } from "@noble/curves/secp256k1.js";
import { expect, test } from "vitest";
import { BookNode, BookWorld, orderUuid } from "../../../test/fakes/bookWorld.ts";
import { SilentLog } from "../../../test/fakes/silentLog.ts";
import { signEnvelope } from "../../core/message/envelope.ts";
import { encodeSyncAnswer } from "../../core/message/orderbookAnswer.ts";
import { encodeOrderMessage } from "../../core/message/orderMessage.ts";
import { parseP2pRequest } from "../../core/message/requestMessage.ts";
import type { OrderMessage } from "../../core/message/types.ts";
import { rational } from "../../core/money/rational.ts";
import { toHex } from "../../core/util/bytes.ts";
import type { PeerAnswer } from "../../ports/network.ts";

const PAIR = "AAA:BBB";
const TOPIC = `orbk/${PAIR}`;
const EMPTY_BOOK = Uint8Array.of(0x93, 0x80, 0x80, 0x80);
const nothing = { protocolInfos: new Map(), confs: new Map() };

/** A relay that forwards like any other and answers as it is told. Connected first, so it delivers first. */
function lyingRelay(world: BookWorld, answer: (type: string) => Promise<PeerAnswer>): BookNode {
  const liar = world.relay("liar");
  liar.p2p.setRequestHandler((_peer, request) => {
    const parsed = parseP2pRequest(request);
    return answer(parsed.ok ? parsed.value.type : "unreadable");
  });
  return liar;
}
const signed = (message: OrderMessage, secret: Uint8Array): Uint8Array => signEnvelope(encodeOrderMessage(message), secret);

test.each<[string, () => Promise<PeerAnswer>]>([
  ["says the book is empty", async () => ({ kind: "ok", data: EMPTY_BOOK })],
  ["says it knows nothing", async () => ({ kind: "none" })],
  ["answers garbage", async () => ({ kind: "ok", data: Uint8Array.of(0xc1, 0xff) })],
  ["never answers", () => new Promise(() => undefined)],
])("a relay that %s does not hide the book from a node that has another relay", async (_, lie) => {
  const world = new BookWorld();
  lyingRelay(world, lie);
  world.relay("honest");
  const alice = world.light("A", "liar", "honest");
  alice.offer(1);
  await world.clock.advance(1_000);
  const late = world.light("L", "liar", "honest");
  const loading = late.service.subscribePair("AAA", "BBB");
  await world.clock.advance(21_000);
  await loading;
  expect(late.sees()).toEqual([1]);
});

test("a pair whose book no relay tells does not keep those of other pairs from being asked for again", async () => {
  const world = new BookWorld();
  const asked: string[] = [];
  world.relay("relay").p2p.setRequestHandler(async (_peer, request) => {
    const parsed = parseP2pRequest(request);
    if (!parsed.ok || parsed.value.type !== "GetOrderbook") return { kind: "none" };
    const { rel } = parsed.value;
    asked.push(rel);
    // As KDF's relays answer when it has more than a thousand orders.
    return rel === "BBB" ? { kind: "err", message: "Orderbook too large" } : { kind: "ok", data: EMPTY_BOOK };
  });
  const viewer = world.light("V", "relay");
  for (const rel of ["BBB", "CCC", "DDD"]) viewer.service.follow("AAA", rel);
  await world.clock.advance(1_000);
  world.hub.disconnect("V", "relay");
  asked.length = 0;
  world.hub.connect("V", "relay");
  await world.clock.advance(65_000);
  expect(asked.filter((rel) => rel !== "BBB")).toEqual(["CCC", "DDD"]);
  expect(asked.filter((rel) => rel === "BBB").length).toBeGreaterThan(1);
});

test("a relay that delivers keep-alives first and hides the orders behind them is got round through another", async () => {
  const world = new BookWorld();
  const lies: (() => PeerAnswer)[] = [
    () => ({ kind: "none" }),
    () => ({ kind: "ok", data: encodeSyncAnswer({ ...nothing, pairs: new Map([[PAIR, { type: "FullTrie", orders: [] }]]) }) }),
    () => ({ kind: "ok", data: encodeSyncAnswer({ ...nothing, pairs: new Map() }) }),
  ];
  let turn = 0;
  lyingRelay(world, async (type) =>
    type === "GetOrderbook" ? { kind: "ok", data: EMPTY_BOOK } : ((lies[turn++ % lies.length] ?? lies[0])?.() ?? { kind: "none" }),
  );
  world.relay("honest");
  const alice = world.light("A", "liar", "honest");
  const late = world.light("L", "liar", "honest");
  late.service.follow("AAA", "BBB");
  await world.clock.advance(1_000);
  // The liar also drops what is announced, so that only keep-alives can tell.
  world.hub.deliver = (_from, to) => to !== "L";
  alice.offer(1);
  await world.clock.advance(1_000);
  world.hub.deliver = () => true;
  for (let i = 0; i < 4; i++) {
    await world.clock.advance(30_500);
    expect([late.sees(), late.confirmed()]).toEqual([[1], [true]]);
  }
});

test("a maker whose announced roots never fit is asked of two relays per keep-alive and no more", async () => {
  const world = new BookWorld();
  for (const name of ["R1", "R2", "R3"]) world.relay(name);
  const node = world.light("L", "R1", "R2", "R3");
  node.service.follow("AAA", "BBB");
  await world.clock.advance(1_000);
  const before = node.requests().length;
  const secret = new Uint8Array(32).fill(99);
  for (let i = 0; i < 10; i++) {
    const timestamp = Math.floor(world.clock.nowMs() / 1000);
    const body = { trieRoots: [[PAIR, new Uint8Array(8).fill(i + 1)] as const], timestamp };
    node.service.handleGossip({ topic: TOPIC, data: signed({ type: "PubkeyKeepAlive", body }, secret), from: "R1" });
    await world.clock.advance(30_000);
  }
  expect(node.requests().length - before).toBeLessThanOrEqual(20);
});

test("a peer that sends keep-alives of a thousand made-up keys gets a handful of questions at a time, others their own", async () => {
  const world = new BookWorld();
  const node = new BookNode(world, "R", 50, true, () => true);
  for (const name of ["bad", "good"]) {
    world.hub.node(name).setRequestHandler(() => new Promise(() => undefined));
    world.hub.connect("R", name);
  }
  const keepAliveOf = (n: number): Uint8Array => {
    const body = { trieRoots: [[PAIR, new Uint8Array(8).fill(7)] as const], timestamp: Math.floor(world.clock.nowMs() / 1000) };
    return signed(
      { type: "PubkeyKeepAlive", body },
      new Uint8Array(32).fill(1).map((b, i) => (i === 0 ? n >> 8 : i === 1 ? n & 0xff : b)),
    );
  };
  for (let n = 256; n < 556; n++) void node.service.handleGossip({ topic: TOPIC, data: keepAliveOf(n), from: "bad" });
  await world.clock.advance(100);
  expect(node.p2p.asked.filter(({ peer }) => peer === "bad").length).toBeLessThanOrEqual(16);
  void node.service.handleGossip({ topic: TOPIC, data: keepAliveOf(600), from: "good" });
  await world.clock.advance(100);
  expect(node.p2p.asked.filter(({ peer }) => peer === "good")).toHaveLength(1);
});

test("a keep-alive said again does not keep the orders of a silent maker alive", async () => {
  const world = new BookWorld();
  const relay = world.relay("R");
  const alice = world.light("A", "R");
  alice.offer(1);
  await world.clock.advance(31_000);
  alice.service.stop();
  const keepAlive = alice.p2p.published.at(-1);
  if (!keepAlive) throw new Error("no keep-alive");
  // A minute later its time is still within bounds; under another sequence number it is another message.
  await world.clock.advance(58_000);
  void relay.service.handleGossip({ ...keepAlive, from: "X" });
  await world.clock.advance(31_500);
  expect(relay.sees()).toEqual([]);
});

test("a relay passes on what its own book has no use for: messages under its own key, and updates of orders it has not seen", async () => {
  const world = new BookWorld();
  const relay = world.relay("R");
  const taker = world.light("T", "R");
  taker.service.follow("AAA", "BBB");
  await world.clock.advance(1_000);
  const timestamp = Math.floor(world.clock.nowMs() / 1000);
  const update = {
    uuid: orderUuid(5),
    newPrice: null,
    newMaxVolume: rational(1n),
    newMinVolume: null,
    timestamp,
    pairTrieRoot: new Uint8Array(8),
    conf: null,
  };
  const verdict = (message: OrderMessage, secret: Uint8Array) =>
    relay.service.handleGossip({ topic: TOPIC, data: signed(message, secret), from: "X" });
  expect(verdict({ type: "MakerOrderUpdated", body: update }, new Uint8Array(32).fill(77))).toBe("accept");
  // The operator's trading node has the same passphrase as the relay.
  expect(verdict({ type: "MakerOrderUpdated", body: update }, relay.secret)).toBe("accept");
  expect(verdict({ type: "TakerConnect", body: { takerOrderUuid: orderUuid(1), makerOrderUuid: orderUuid(2) } }, relay.secret)).toBe(
    "accept",
  );
  expect(relay.heard).toEqual([]);
  // Whom the relay's own trader has banned others may still trade with.
  const banned = new Uint8Array(32).fill(78);
  relay.banned.add(toHex(secp256k1.getPublicKey(banned, true)));
  expect(verdict({ type: "TakerConnect", body: { takerOrderUuid: orderUuid(1), makerOrderUuid: orderUuid(2) } }, banned)).toBe("accept");
  expect(relay.heard).toEqual([]);
  expect(relay.log).toBeInstanceOf(SilentLog);
});

test("a relay that comes and goes every moment does not have the node say keep-alives all the time", async () => {
  const world = new BookWorld();
  world.relay("R");
  const alice = world.light("A", "R");
  alice.offer(1);
  await world.clock.advance(1_000);
  const before = alice.p2p.published.length;
  for (let i = 0; i < 100; i++) {
    world.hub.disconnect("A", "R");
    world.hub.connect("A", "R");
    await world.clock.advance(10);
  }
  expect(alice.p2p.published.length - before).toBeLessThanOrEqual(3);
});

test("a peer that answers with thousands of orders again and again is asked less and less", async () => {
  const world = new BookWorld();
  const node = new BookNode(world, "R", 50, true, () => true);
  const key = toHex(secp256k1.getPublicKey(new Uint8Array(32).fill(99), true));
  const orders = Array.from({ length: 1000 }, (_, n) => ({
    pubkey: key,
    base: "AAA",
    rel: "BBB",
    price: rational(1n),
    maxVolume: rational(1n),
    minVolume: rational(0n),
    uuid: orderUuid(n),
    createdAt: 1,
  }));
  const huge = encodeSyncAnswer({ ...nothing, pairs: new Map([[PAIR, { type: "FullTrie", orders }]]) });
  world.hub.node("bad").setRequestHandler(async () => ({ kind: "ok", data: huge }));
  world.hub.connect("R", "bad");
  for (let i = 0; i < 60; i++) {
    const body = { trieRoots: [[PAIR, new Uint8Array(8).fill(7)] as const], timestamp: Math.floor(world.clock.nowMs() / 1000) };
    const secret = new Uint8Array(32).fill(i + 1);
    void node.service.handleGossip({ topic: TOPIC, data: signed({ type: "PubkeyKeepAlive", body }, secret), from: "bad" });
    await world.clock.advance(50);
  }
  // Ten at once, then one a second.
  expect(node.p2p.asked.length).toBeLessThanOrEqual(14);
});
