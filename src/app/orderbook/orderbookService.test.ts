import { secp256k1 } from "@noble/curves/secp256k1.js";
import { expect, test } from "vitest";
import { BookNode, orderConf as conf, orderUuid as uuid, BookWorld as World } from "../../../test/fakes/bookWorld.ts";
import { parseEnvelope, signEnvelope } from "../../core/message/envelope.ts";
import { MsgpackWriter } from "../../core/message/msgpackWriter.ts";
import {
  encodeOrderbookAnswer,
  type OrderbookAnswer,
  parseBestOrdersAnswer,
  parseDepthAnswer,
  parseOrderbookAnswer,
  parseSyncAnswer,
} from "../../core/message/orderbookAnswer.ts";
import { encodeOrderMessage, parseOrderMessage } from "../../core/message/orderMessage.ts";
import type { OrderMessage, TakerRequest } from "../../core/message/types.ts";
import { rational } from "../../core/money/rational.ts";
import { toHex } from "../../core/util/bytes.ts";
import type { GossipVerdict } from "../../ports/network.ts";
import { MAX_OWN_ORDERS } from "../orders/orderLedger.ts";
import { KEPT_ALIVE_AT_ONCE } from "./orderbookService.ts";

const NO_ROOT = new Uint8Array(8);

const messageIn = (data: Uint8Array): OrderMessage | undefined => {
  const envelope = parseEnvelope(data);
  const message = envelope.ok ? parseOrderMessage(envelope.value.payload) : undefined;
  return message?.ok ? message.value : undefined;
};

test("who joins late sees the whole book, and the makers' keep-alives confirm it", async () => {
  const world = new World();
  world.relay("R");
  const alice = world.light("A", "R");
  const bob = world.light("B", "R");
  for (const n of [1, 2, 3]) alice.offer(n);
  bob.offer(4);
  bob.offer(5, { base: "BBB", rel: "AAA" });
  await world.clock.advance(5_000);
  const late = world.light("L", "R");
  const loading = late.service.subscribePair("AAA", "BBB");
  await world.clock.advance(100);
  await loading;
  expect(late.sees()).toEqual([1, 2, 3, 4]);
  expect(late.sees("BBB", "AAA")).toEqual([5]);
  expect(late.confirmed()).toEqual([false, false, false, false]);
  await world.clock.advance(31_000);
  expect(late.confirmed()).toEqual([true, true, true, true]);
  expect(late.requests()).not.toContain("SyncPubkeyOrderbookState");
});

test("an unsigned order is unconfirmed until a second relay agrees, without waiting for its maker", async () => {
  const world = new World();
  world.relay("R1");
  world.relay("R2");
  world.hub.connect("R1", "R2");
  const alice = world.light("A", "R1");
  alice.offer(1);
  await world.clock.advance(1_000);
  const one = world.light("L1", "R1");
  const two = world.light("L2", "R1", "R2");
  const loading = Promise.all([one, two].map((node) => node.service.subscribePair("AAA", "BBB")));
  await world.clock.advance(1_000);
  await loading;
  expect(one.confirmed()).toEqual([false]);
  expect(two.confirmed()).toEqual([true]);
  // The second relay appears later.
  world.hub.connect("L1", "R2");
  await world.clock.advance(1_000);
  expect(one.confirmed()).toEqual([true]);
});

test("what one relay makes up is never confirmed and is gone after 90 s", async () => {
  const world = new World();
  world.relay("honest");
  const liar = world.hub.node("liar", { isRelay: true });
  const fake: OrderbookAnswer = {
    pubkeys: new Map([
      [
        `02${"ab".repeat(32)}`,
        {
          lastKeepAlive: 0,
          orders: [
            {
              pubkey: `02${"ab".repeat(32)}`,
              base: "AAA",
              rel: "BBB",
              price: rational(1n, 1000n),
              maxVolume: rational(9n),
              minVolume: rational(1n),
              uuid: uuid(99),
              createdAt: 1,
            },
          ],
        },
      ],
    ]),
    protocolInfos: new Map(),
    confs: new Map(),
  };
  liar.setRequestHandler(async () => ({ kind: "ok", data: encodeOrderbookAnswer(fake) }));
  const node = world.light("L", "liar", "honest");
  const loading = node.service.subscribePair("AAA", "BBB");
  await world.clock.advance(1_000);
  await loading;
  expect([node.sees(), node.confirmed()]).toEqual([[99], [false]]);
  await world.clock.advance(88_000);
  expect(node.confirmed()).toEqual([false]);
  await world.clock.advance(2_000);
  expect(node.sees()).toEqual([]);
  // Nor does a relay pass on what it cannot vouch for.
  const relay = world.relay("R");
  world.hub.connect("R", "liar");
  const loadingRelay = relay.service.subscribePair("AAA", "BBB");
  await world.clock.advance(1_000);
  await loadingRelay;
  expect(relay.sees()).toEqual([99]);
  const answer = await relay.ask({ type: "GetOrderbook", base: "AAA", rel: "BBB" });
  const parsed = answer.kind === "ok" ? parseOrderbookAnswer(answer.data) : undefined;
  expect(parsed?.ok && parsed.value.pubkeys.size).toBe(0);
});

test("a lost announcement is repaired through the next keep-alive", async () => {
  const world = new World();
  const relay = world.relay("R");
  const alice = world.light("A", "R");
  const bob = world.light("B", "R");
  bob.service.follow("AAA", "BBB");
  await world.clock.advance(1_000);
  world.hub.deliver = (_from, _to, { data }) => messageIn(data)?.type !== "MakerOrderCreated";
  alice.offer(1);
  await world.clock.advance(1_000);
  expect([relay.sees(), bob.sees()]).toEqual([[], []]);
  await world.clock.advance(30_000);
  expect([relay.sees(), bob.sees()]).toEqual([[1], [1]]);
  expect([relay.confirmed(), bob.confirmed()]).toEqual([[true], [true]]);
  expect(bob.service.entries("AAA", "BBB")[0]).toMatchObject({ conf, baseProtocolInfo: new Uint8Array([1]), isMine: false });
});

test("a lost cancellation is repaired through the next keep-alive", async () => {
  const world = new World();
  const relay = world.relay("R");
  const alice = world.light("A", "R");
  alice.offer(1);
  alice.offer(2);
  await world.clock.advance(2_000);
  world.hub.deliver = (_from, _to, { data }) => messageIn(data)?.type !== "MakerOrderCancelled";
  alice.cancel(1);
  await world.clock.advance(31_000);
  expect(relay.sees()).toEqual([2]);
});

test("an order dies 90 s after its maker went silent, on relays and light nodes", async () => {
  const world = new World();
  const relay = world.relay("R");
  const alice = world.light("A", "R");
  const bob = world.light("B", "R");
  bob.service.follow("AAA", "BBB");
  await world.clock.advance(1_000);
  alice.offer(1);
  // The last keep-alive leaves at 30 s of alice's clock.
  await world.clock.advance(30_000);
  alice.service.stop();
  await world.clock.advance(88_900);
  expect([relay.sees(), bob.sees()]).toEqual([[1], [1]]);
  await world.clock.advance(1_000);
  expect([relay.sees(), bob.sees()]).toEqual([[], []]);
  expect(alice.sees()).toEqual([1]);
});

test("another key cannot overwrite an order, nor keep it out by using its uuid first: both stand, each under its key", async () => {
  const world = new World();
  const relay = world.relay("R");
  const alice = world.light("A", "R");
  const bob = world.light("B", "R");
  bob.service.follow("AAA", "BBB");
  await world.clock.advance(1_000);
  const thief = world.light("T", "R");
  alice.offer(1);
  thief.offer(2);
  await world.clock.advance(1_000);
  alice.offer(2);
  thief.offer(1, { price: rational(1n, 1_000_000n) });
  await world.clock.advance(1_000);
  expect(relay.p2p.verdicts.slice(-2)).toEqual(["accept", "accept"]);
  for (const node of [relay, bob]) {
    const hers = node.service.entries("AAA", "BBB").filter(({ item }) => item.pubkey === alice.pubkey);
    expect(hers).toMatchObject([
      { item: { uuid: uuid(1), price: rational(1n, 10n) }, confirmed: true },
      { item: { uuid: uuid(2) }, confirmed: true },
    ]);
  }
});

test("a cancelled order does not return within 120 s through a sync", async () => {
  const world = new World();
  world.relay("R");
  const alice = world.light("A", "R");
  const bob = world.light("B", "R");
  bob.service.follow("AAA", "BBB");
  await world.clock.advance(1_000);
  alice.offer(1);
  alice.offer(2);
  await world.clock.advance(1_000);
  // Bob hears the cancellation; alice's own state goes on to claim the order, as a lagging sync would.
  const view = alice.own.orders().find((order) => order.uuid === uuid(1));
  alice.cancel(1);
  alice.own.set(uuid(1), view);
  await world.clock.advance(115_000);
  expect(bob.requests()).toContain("SyncPubkeyOrderbookState");
  expect(bob.sees()).toEqual([2]);
  await world.clock.advance(40_000);
  expect(bob.sees()).toEqual([1, 2]);
});

test("keep-alives: every 30 s, one per pair with orders, with the root others hold; none for pairs that are empty", async () => {
  const world = new World();
  const relay = world.relay("R");
  const alice = world.light("A", "R");
  alice.offer(1);
  alice.offer(2, { base: "CCC", rel: "AAA" });
  await world.clock.advance(30_100);
  const sent = (): readonly string[] =>
    alice.p2p.published.flatMap(({ topic, data }) => (messageIn(data)?.type === "PubkeyKeepAlive" ? [topic] : []));
  expect(sent()).toEqual(["orbk/AAA:BBB", "orbk/AAA:CCC"]);
  expect(relay.requests()).toEqual([]);
  alice.cancel(1);
  await world.clock.advance(30_000);
  expect(sent().slice(2)).toEqual(["orbk/AAA:CCC"]);
});

test("after all relays were lost the book is fetched again, and own orders are made known at once", async () => {
  const world = new World();
  const relay = world.relay("R");
  const alice = world.light("A", "R");
  const bob = world.light("B", "R");
  bob.service.follow("AAA", "BBB");
  await world.clock.advance(1_000);
  world.hub.disconnect("A", "R");
  world.hub.disconnect("B", "R");
  alice.offer(1);
  await world.clock.advance(1_000);
  expect(relay.sees()).toEqual([]);
  world.hub.connect("A", "R");
  await world.clock.advance(1_000);
  expect(relay.sees()).toEqual([1]);
  world.hub.connect("B", "R");
  await world.clock.advance(1_000);
  expect(bob.sees()).toEqual([1]);
});

test("without a relay a subscription resolves, and the book is loaded when one appears", async () => {
  const world = new World();
  const relay = world.relay("R");
  const alice = world.light("A", "R");
  alice.offer(1);
  const bob = world.light("B");
  await bob.service.subscribePair("AAA", "BBB");
  expect(bob.sees()).toEqual([]);
  await world.clock.advance(1_000);
  world.hub.connect("B", "R");
  await world.clock.advance(1_000);
  expect(bob.sees()).toEqual([1]);
  expect([bob, relay].flatMap((node) => node.log.lines.filter(({ level }) => level === "warn" || level === "error"))).toEqual([]);
});

const request: TakerRequest = {
  base: "AAA",
  rel: "BBB",
  baseAmount: rational(1n),
  relAmount: rational(1n, 2n),
  action: "Buy",
  uuid: uuid(50),
  matchBy: { type: "Any" },
  conf,
  swapVersion: 1,
};

test("handshake messages reach the listener with their sender, own ones do not", async () => {
  const world = new World();
  world.relay("R");
  const alice = world.light("A", "R");
  const bob = world.light("B", "R");
  bob.service.follow("AAA", "BBB");
  await world.clock.advance(1_000);
  const senders: string[] = [];
  bob.service.onOrderMessage((sender) => senders.push(toHex(sender)));
  alice.service.publish("AAA", "BBB", { type: "TakerRequest", body: request });
  await world.clock.advance(1_000);
  expect(bob.heard).toEqual([{ type: "TakerRequest", body: request }]);
  expect(senders).toEqual([alice.pubkey]);
  const own = signEnvelope(encodeOrderMessage({ type: "TakerRequest", body: request }), bob.secret);
  expect(bob.service.handleGossip({ topic: "orbk/AAA:BBB", data: own, from: "R" })).toBe("accept");
  expect(bob.heard).toHaveLength(1);
});

test("verdicts: broken and badly signed messages are rejected, unknown ones ignored, a light node ignores banned keys", () => {
  const world = new World();
  const relay = world.relay("R");
  const secret = new Uint8Array(32).fill(77);
  const take = (data: Uint8Array): GossipVerdict | Promise<GossipVerdict> =>
    relay.service.handleGossip({ topic: "orbk/AAA:BBB", data, from: "X" });
  const good = signEnvelope(encodeOrderMessage({ type: "TakerRequest", body: request }), secret);
  expect(take(good)).toBe("accept");
  const forged = Uint8Array.from(good);
  forged[forged.length - 1] = (forged.at(-1) ?? 0) ^ 1;
  expect(take(forged)).toBe("reject");
  expect(take(good.slice(0, 50))).toBe("reject");
  expect(take(signEnvelope(new Uint8Array([0x81, 0x7f, 0xc0]), secret))).toBe("ignore");
  expect(relay.service.handleGossip({ topic: "swap/x", data: good, from: "X" })).toBe("ignore");
  const light = world.light("L", "R");
  light.banned.add(toHex(secp256k1.getPublicKey(secret, true)));
  expect(light.service.handleGossip({ topic: "orbk/AAA:BBB", data: good, from: "R" })).toBe("ignore");
  expect([relay.heard.length, light.heard.length]).toEqual([1, 0]);
});

test("a relay passes on what a key its own trader has banned says, and takes none of it itself", async () => {
  const world = new World();
  const relay = world.relay("R");
  const alice = world.light("A", "R");
  const bob = world.light("B", "R");
  bob.service.follow("AAA", "BBB");
  relay.banned.add(alice.pubkey);
  await world.clock.advance(1_000);
  alice.offer(1);
  await world.clock.advance(1_000);
  expect([bob.sees(), relay.sees()]).toEqual([[1], []]);
  // Nothing was taken that a ban alone would hide.
  relay.banned.clear();
  expect(relay.sees()).toEqual([]);
});

test("a peer that floods has its messages left unread after 30,000, those of others are still read", () => {
  const relay = new World().relay("R");
  const take = (from: string): GossipVerdict | Promise<GossipVerdict> =>
    relay.service.handleGossip({ topic: "orbk/AAA:BBB", data: new Uint8Array(1), from });
  const verdicts = Array.from({ length: 30_001 }, () => take("X"));
  expect([verdicts.at(-2), verdicts.at(-1), take("Y")]).toEqual(["reject", "busy", "reject"]);
});

test("forgeries that a relay passes on leave the orders behind them readable", async () => {
  const world = new World();
  const forger = new Uint8Array(32).fill(80);
  const forgerKey = toHex(secp256k1.getPublicKey(forger, true));
  const node = new BookNode(world, "L", 1, false, (_signature, _digest, key) => toHex(key) !== forgerKey);
  const message = encodeOrderMessage({ type: "TakerRequest", body: request });
  const [forged, genuine] = [signEnvelope(message, forger), signEnvelope(message, new Uint8Array(32).fill(81))];
  const take = (data: Uint8Array): GossipVerdict | Promise<GossipVerdict> =>
    node.service.handleGossip({ topic: "orbk/AAA:BBB", data, from: "R" });
  let verdict: GossipVerdict | Promise<GossipVerdict> = "reject";
  // Whatever is there at the start is used up.
  for (let i = 0; i < 40_000 && verdict === "reject"; i++) verdict = take(forged);
  const genuineVerdicts: unknown[] = [];
  for (let second = 0; second < 10; second++) {
    await world.clock.advance(1_000);
    for (let i = 0; i < 990; i++) take(forged);
    genuineVerdicts.push(take(genuine));
  }
  expect(genuineVerdicts).toEqual(genuineVerdicts.map(() => "accept"));
});

/** Takes messages that are all well signed: thousands of real verifications would be slow; what is counted here is what comes after them. */
function believer() {
  const world = new World();
  const relay = new BookNode(world, "R", 1, true, () => true);
  const said = (message: OrderMessage, seed: number): Uint8Array =>
    new MsgpackWriter()
      .array(3)
      .variant(0)
      .bin(secp256k1.getPublicKey(new Uint8Array(32).fill(seed), true))
      .bin(new Uint8Array(64))
      .bin(encodeOrderMessage(message))
      .finish();
  const take = (data: Uint8Array): GossipVerdict | Promise<GossipVerdict> =>
    relay.service.handleGossip({ topic: "orbk/AAA:BBB", data, from: "X" });
  const asks = (n: number, seed: number): Uint8Array => said({ type: "TakerRequest", body: { ...request, uuid: uuid(n) } }, seed);
  const lives = (seed: number, agoSec = 0, root = 1): Uint8Array => {
    const trieRoots = [["AAA:BBB", Uint8Array.of(root & 0xff, root >> 8, 1, 1, 1, 1, 1, 1)] as const];
    return said({ type: "PubkeyKeepAlive", body: { trieRoots, timestamp: Math.floor(world.clock.nowMs() / 1_000) - agoSec } }, seed);
  };
  return { world, take, asks, lives };
}

test("one key that floods is cut off, others are still heard", () => {
  const { take, asks } = believer();
  const verdicts = Array.from({ length: 4_001 }, (_, n) => take(asks(n, 78)));
  expect(verdicts.filter((v) => v === "accept")).toHaveLength(4_000);
  expect(take(asks(1, 79))).toBe("accept");
});

test("whoever says again what another has signed does not use up what that one may say", async () => {
  const { world, take, asks, lives } = believer();
  const heard = [asks(1, 78), lives(78)];
  const verdicts = Array.from({ length: 10_000 }, (_, n) => take(heard[n % 2] ?? new Uint8Array()));
  // Its own taker may have said it again: a few are passed on, and then some each second.
  expect(verdicts.filter((v) => v === "accept")).toHaveLength(10);
  // The same words under another key are another message.
  expect(take(asks(1, 79))).toBe("accept");
  for (let ago = 61; ago < 5_000; ago++) take(lives(78, ago));
  expect([take(asks(2, 78)), take(lives(78, 0, 2))]).toEqual(["accept", "accept"]);
  await world.clock.advance(5_000);
  expect(take(asks(1, 78))).toBe("accept");
});

test("what a busy key has just said, all of it said again by somebody else, leaves it what it may say", async () => {
  const { world, take, lives } = believer();
  const own = Array.from({ length: 3_990 }, (_, n) => lives(78, 0, n));
  for (const data of own) take(data);
  await world.clock.advance(10_000);
  for (const data of own) take(data);
  expect(take(lives(78, 0, 4_000))).toBe("accept");
  for (const data of own) take(data);
  for (let n = 5_000; n < 5_100; n++) expect(take(lives(78, 0, n))).toBe("accept");
});

test("old handshakes of a key, which bear no date, do not keep its orders and keep-alives from being read", () => {
  const { take, asks, lives } = believer();
  for (let n = 0; n < 6_000; n++) take(asks(n, 78));
  expect([take(asks(6_000, 78)), take(lives(78))]).toEqual(["ignore", "accept"]);
});

test("thousands of old handshakes of a busy key, said again and again by somebody else, leave it what it may say", async () => {
  const { world, take, asks } = believer();
  const old: Uint8Array[] = [];
  for (let round = 0; round < 3; round++) {
    for (let n = 0; n < 3_800; n++) old.push(asks(round * 3_800 + n, 78));
    for (const data of old.slice(-3_800)) take(data);
    await world.clock.advance(10_000);
  }
  for (const data of old) take(data);
  for (let n = 20_000; n < 20_100; n++) expect(take(asks(n, 78))).toBe("accept");
});

test("makers whose known orders serve a request are named, own orders left out", async () => {
  const world = new World();
  world.relay("R");
  const alice = world.light("A", "R");
  const bob = world.light("B", "R");
  bob.service.follow("AAA", "BBB");
  await world.clock.advance(1_000);
  alice.offer(1);
  bob.offer(2);
  await world.clock.advance(1_000);
  expect(bob.service.fittingMakers(request)).toEqual([alice.pubkey]);
  expect(bob.service.fittingMakers({ ...request, relAmount: rational(1n, 100n) })).toEqual([]);
  expect([bob.service.hasOwn(uuid(2)), bob.service.hasOwn(uuid(1))]).toEqual([true, false]);
});

test("a relay answers every order-book request from the whole book, a light node from its own orders", async () => {
  const world = new World();
  const relay = world.relay("R");
  const alice = world.light("A", "R");
  const bob = world.light("B", "R");
  alice.offer(1);
  bob.offer(2);
  bob.offer(3, { base: "BBB", rel: "AAA" });
  await world.clock.advance(1_000);
  const book = await relay.ask({ type: "GetOrderbook", base: "BBB", rel: "AAA" });
  const parsedBook = book.kind === "ok" ? parseOrderbookAnswer(book.data) : undefined;
  const keys = parsedBook?.ok ? [...parsedBook.value.pubkeys].map(([key, { orders }]) => [key, orders.map((o) => o.uuid)]) : [];
  expect(keys).toEqual([
    [alice.pubkey, [uuid(1)]],
    [bob.pubkey, [uuid(2), uuid(3)]],
  ]);
  const depth = await relay.ask({
    type: "OrderbookDepth",
    pairs: [
      ["AAA", "BBB"],
      ["CCC", "AAA"],
    ],
  });
  const parsedDepth = depth.kind === "ok" ? parseDepthAnswer(depth.data) : undefined;
  expect(parsedDepth?.ok && parsedDepth.value).toEqual([
    { base: "AAA", rel: "BBB", asks: 2, bids: 1 },
    { base: "CCC", rel: "AAA", asks: 0, bids: 0 },
  ]);
  const best = await relay.ask({ type: "BestOrders", coin: "AAA", action: "buy", volume: rational(1n) });
  const parsedBest = best.kind === "ok" ? parseBestOrdersAnswer(best.data) : undefined;
  expect(parsedBest?.ok && parsedBest.value.orders.get("BBB")?.map((o) => o.uuid)).toEqual([uuid(1)]);
  const byNumber = await relay.ask({ type: "BestOrdersByNumber", coin: "BBB", action: "sell", number: 5 });
  const parsedNumber = byNumber.kind === "ok" ? parseBestOrdersAnswer(byNumber.data) : undefined;
  expect(parsedNumber?.ok && parsedNumber.value.orders.get("AAA")?.map((o) => o.uuid)).toEqual([uuid(1), uuid(2)]);
  expect(await relay.ask({ type: "BestOrders", coin: "ZZZ", action: "buy", volume: rational(1n) })).toEqual({ kind: "none" });
  const makersOf = async (node: BookNode): Promise<readonly string[] | false | undefined> => {
    const answer = await node.ask({ type: "GetOrderbook", base: "AAA", rel: "BBB" });
    const parsed = answer.kind === "ok" ? parseOrderbookAnswer(answer.data) : undefined;
    return parsed?.ok && [...parsed.value.pubkeys.keys()];
  };
  // It keeps a book of its own, but vouches for nobody.
  const loading = alice.service.subscribePair("AAA", "BBB");
  await world.clock.advance(1_000);
  await loading;
  await world.clock.advance(31_000);
  expect([alice.sees(), alice.confirmed()]).toEqual([
    [1, 2],
    [true, true],
  ]);
  expect(await makersOf(alice)).toEqual([alice.pubkey]);
  relay.banned.add(bob.pubkey);
  expect(await makersOf(relay)).toEqual([alice.pubkey]);
});

test("sync requests: whole trie, empty trie once all is gone, none for a stranger, an error for a pair without root", async () => {
  const world = new World();
  const relay = world.relay("R");
  const alice = world.light("A", "R");
  alice.offer(1);
  await world.clock.advance(1_000);
  const sync = (node: BookNode, pubkey: string, pair: string) =>
    node.ask({ type: "SyncPubkeyOrderbookState", pubkey, trieRoots: [[pair, NO_ROOT]] });
  const orders = async (node: BookNode): Promise<readonly string[] | undefined> => {
    const answer = await sync(node, alice.pubkey, "AAA:BBB");
    const parsed = answer.kind === "ok" ? parseSyncAnswer(answer.data) : undefined;
    const diff = parsed?.ok ? parsed.value.pairs.get("AAA:BBB") : undefined;
    return diff?.type === "FullTrie" ? diff.orders.map((o) => o.uuid) : undefined;
  };
  for (const node of [relay, alice]) {
    expect(await orders(node)).toEqual([uuid(1)]);
    expect(await sync(node, alice.pubkey, "AAA:CCC")).toEqual({ kind: "err", message: "No pair trie root for AAA:CCC" });
    expect(await sync(node, `02${"99".repeat(32)}`, "AAA:BBB")).toEqual({ kind: "none" });
  }
  alice.cancel(1);
  await world.clock.advance(1_000);
  for (const node of [relay, alice]) expect(await orders(node)).toEqual([]);
});

test("a maker with more than a thousand orders in a pair is synced, and pairs that do not fit are told the next time", async () => {
  const world = new World();
  world.relay("R");
  const alice = world.light("A", "R");
  for (let n = 1; n <= 1_500; n++) alice.offer(n, { rel: n <= 1_100 ? "BBB" : n <= 1_300 ? "CCC" : "DDD" });
  for (let n = 1_501; n <= 2_300; n++) alice.offer(n, { rel: "DDD" });
  const sync = async (...pairs: readonly string[]): Promise<unknown> => {
    const trieRoots = pairs.map((pair) => [pair, NO_ROOT] as const);
    const answer = await alice.ask({ type: "SyncPubkeyOrderbookState", pubkey: alice.pubkey, trieRoots });
    const parsed = answer.kind === "ok" ? parseSyncAnswer(answer.data) : undefined;
    return parsed?.ok
      ? Array.from(parsed.value.pairs, ([pair, diff]) => [pair, diff.type === "FullTrie" ? diff.orders.length : -1])
      : answer;
  };
  expect(await sync("AAA:BBB", "AAA:DDD", "AAA:CCC")).toEqual([
    ["AAA:BBB", 1_100],
    ["AAA:CCC", 200],
  ]);
  expect(await sync("AAA:DDD")).toEqual([["AAA:DDD", 1_000]]);
});

test("a request that cannot be read gets an error", async () => {
  const relay = new World().relay("R");
  const answer = await relay.service.handleRequest("X", new Uint8Array([0x81, 0x00, 0x81, 0x00, 0xc0]));
  expect(answer.kind).toBe("err");
});

test("with too many pairs the one wanted longest ago is let go, unless it holds own orders", async () => {
  const world = new World();
  const node = world.light("L");
  node.offer(1);
  node.service.follow("AAA", "BBB");
  for (let i = 0; i < 999; i++) node.service.follow("COIN", `X${i}`);
  node.service.follow("COIN", "X0");
  node.service.follow("COIN", "NEW");
  const followed = ["AAA:BBB", "COIN:X0", "COIN:X1", "COIN:X2", "COIN:NEW"].map((pair) => node.p2p.subscribed(`orbk/${pair}`));
  expect(followed).toEqual([true, true, false, true, true]);
});

test("the keep-alives of thousands of pairs are signed some at a time, no more in a second than others take of one key, and all within the half minute", async () => {
  const world = new World();
  world.relay("R");
  const maker = world.light("M", "R");
  const sent = new Map<number, number>();
  world.hub.deliver = (from) => {
    const atMs = world.clock.nowMs();
    if (from === "M") sent.set(atMs, (sent.get(atMs) ?? 0) + 1);
    return true;
  };
  const pairs = 130;
  for (let n = 1; n <= pairs; n++) maker.offer(n, { base: `C${n}` });
  await world.clock.advance(29_000);
  sent.clear();
  await world.clock.advance(30_000);
  const [counts, times] = [[...sent.values()], [...sent.keys()]];
  expect([counts.reduce((sum, n) => sum + n, 0), Math.max(...counts)]).toEqual([pairs, KEPT_ALIVE_AT_ONCE]);
  const [first = 0, second = 0] = times;
  const perMs = KEPT_ALIVE_AT_ONCE / (second - first);
  expect([perMs * 1_000 < 400, perMs * 30_000 > MAX_OWN_ORDERS]).toEqual([true, true]);
});

test("a round of keep-alives that begins before the last one is through keeps none of thousands of pairs from its turn", async () => {
  const world = new World();
  world.relay("R");
  const maker = world.light("M", "R");
  const pairs = 130;
  for (let n = 1; n <= pairs; n++) maker.offer(n, { base: `C${n}` });
  await world.clock.advance(29_990);
  const said = new Set<string>();
  world.hub.deliver = (from, _to, { topic }) => {
    if (from === "M") said.add(topic);
    return true;
  };
  for (let n = 0; n < 2; n++) {
    await world.clock.advance(100);
    world.hub.disconnect("M", "R");
    world.hub.connect("M", "R");
  }
  await world.clock.advance(50);
  expect(said.size).toBe(pairs);
});
