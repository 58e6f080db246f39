import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { OrderbookService } from "../../src/app/orderbook/orderbookService.ts";
import { encodeFrame, type Frame } from "../../src/core/gossip/frame.ts";
import { MsgpackWriter } from "../../src/core/message/msgpackWriter.ts";
import { encodeOrderMessage } from "../../src/core/message/orderMessage.ts";
import type { OrderMessage } from "../../src/core/message/types.ts";
import { rational } from "../../src/core/money/rational.ts";
import { Secret } from "../../src/core/util/secret.ts";
import { createP2pWorld, type WorldNode } from "../fakes/p2pWorld.ts";
import { SilentLog } from "../fakes/silentLog.ts";

setFlagsFromString("--expose-gc");
const gc: unknown = runInNewContext("gc");

/** Heap in use after a collection, MB. */
function heapMb(): number {
  if (typeof gc === "function") gc();
  return process.memoryUsage().heapUsed / 1e6;
}

const seconds = (clock: { nowMs(): number }): number => Math.floor(clock.nowMs() / 1000);

/** A relay with a book. Every signature counts as good: what is tested is what comes behind it. */
async function relayWithBook(world: ReturnType<typeof createP2pWorld>): Promise<{ relay: WorldNode; book: OrderbookService }> {
  const relay = await world.node({ isRelay: true });
  const book = new OrderbookService({
    p2p: relay,
    clock: world.clock,
    log: new SilentLog(),
    verifier: { verify: () => true },
    ownOrders: { orders: () => [], onChange: () => () => undefined },
    publicKey: new Uint8Array(33).fill(2),
    secretKey: new Secret(new Uint8Array(32).fill(2)),
    isBanned: () => false,
    hasHistory: () => false,
  });
  relay.setMessageHandler((message) => book.handleGossip(message));
  relay.setRequestHandler((peer, request) => book.handleRequest(peer, request));
  book.start();
  return { relay, book };
}

test("ten minutes of flood by twenty peers with a new key for every message: memory stands still, and the honest get through", {
  timeout: 120_000,
}, async () => {
  const world = createP2pWorld(201);
  const { clock, rng } = world;
  const { relay, book } = await relayWithBook(world);
  const honest = await world.node({ seeds: [relay.address] });
  await world.settle(honest.relayReady());
  const bad = await Promise.all(Array.from({ length: 20 }, () => world.bare()));
  for (const peer of bad) await world.dial(peer, relay.address);

  const uuid = (): string =>
    Buffer.from(rng.bytes(16))
      .toString("hex")
      .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  const ticker = (): string => `T${Buffer.from(rng.bytes(1)).toString("hex")}`;
  const root = new Uint8Array(8);
  const conf = { baseConfs: 1, baseNota: false, relConfs: 1, relNota: false };
  const envelope = (message: OrderMessage): Uint8Array => {
    const key = rng.bytes(33);
    key[0] = 2;
    return new MsgpackWriter().array(3).variant(0).bin(key).bin(rng.bytes(64)).bin(encodeOrderMessage(message)).finish();
  };
  function hostile(kind: number): Frame {
    const [base, rel] = [ticker(), `${ticker()}X`];
    const timestamp = seconds(clock);
    const infos = { baseProtocolInfo: new Uint8Array(10), relProtocolInfo: new Uint8Array(10) };
    const say = (message: OrderMessage, topic = `orbk/${base}:${rel}`): Frame => ({
      publish: [{ from: rng.bytes(38), data: envelope(message), seqno: rng.bytes(8), topic }],
    });
    const amounts = { price: rational(1n, 3n), maxVolume: rational(1n), minVolume: rational(0n), createdAt: timestamp };
    switch (kind) {
      case 0:
      case 1:
      case 2:
        return say({
          type: "MakerOrderCreated",
          body: { uuid: uuid(), base, rel, ...amounts, conf, timestamp, pairTrieRoot: root, ...infos },
        });
      case 3:
        return say({ type: "MakerOrderCancelled", body: { uuid: uuid(), timestamp, pairTrieRoot: root } });
      case 4:
        return say({ type: "PubkeyKeepAlive", body: { trieRoots: [[`${base}:${rel}`, rng.bytes(8)]], timestamp } });
      case 5:
        return say({ type: "TakerConnect", body: { takerOrderUuid: uuid(), makerOrderUuid: uuid() } });
      case 6:
        return { subscriptions: [{ subscribe: true, topic: `orbk/${ticker()}:${uuid()}` }] };
      case 7:
        return { publish: [{ data: rng.bytes(200), seqno: rng.bytes(8), topic: `swap/${uuid()}` }] };
      default:
        return {
          control: {
            ihave: [{ topic: `orbk/${base}`, ids: [rng.bytes(8)] }],
            iwant: [[rng.bytes(8)]],
            graft: [uuid()],
            prune: [{ topic: uuid(), backoffSec: 3600 }],
          },
        };
    }
  }

  const heap: number[] = [];
  for (let second = 0; second < 600; second++) {
    for (let i = 0; i < 50; i++) bad[(second + i) % bad.length]?.transport.sendFrame(relay.peerId, encodeFrame(hostile((second + i) % 9)));
    await clock.advance(1000);
    for (const peer of bad) peer.frames.length = 0;
    if (second % 100 === 99) {
      relay.logged.length = 0;
      relay.received.length = 0;
      heap.push(heapMb());
    }
  }
  console.info(`heap after each 100 s of flood, MB: ${heap.map((mb) => mb.toFixed(0)).join(", ")}; peers left: ${relay.peers().length}`);
  // Everything with a life of a minute or two is at its height after 200 s.
  const [, second = 0, ...later] = heap;
  for (const mb of later) expect(mb).toBeLessThan(second + 15);

  const body = {
    uuid: uuid(),
    base: "AAA",
    rel: "BBB",
    price: rational(1n),
    maxVolume: rational(1n),
    minVolume: rational(0n),
    createdAt: 1,
  };
  const infos = { baseProtocolInfo: new Uint8Array(10), relProtocolInfo: new Uint8Array(10) };
  const message: OrderMessage = {
    type: "MakerOrderCreated",
    body: { ...body, conf, timestamp: seconds(clock), pairTrieRoot: root, ...infos },
  };
  honest.publish("orbk/AAA:BBB", envelope(message));
  await clock.advance(1000);
  expect(book.entries("AAA", "BBB")).toHaveLength(1);
  // Two minutes after the flood nothing of it is left in the book.
  for (const peer of bad) await peer.transport.stop();
  await clock.advance(120_000);
  expect(book.entries("AAA", "BBB")).toHaveLength(0);
  expect(heapMb()).toBeLessThan(second);
  book.stop();
  await Promise.all([relay.stop(), honest.stop()]);
  expect(await clock.run()).toBe("idle");
});
