import { expect, test } from "vitest";
import { type BookNode, BookWorld, orderUuid } from "../../../test/fakes/bookWorld.ts";
import { SilentLog } from "../../../test/fakes/silentLog.ts";
import { openInlineDatabase } from "../../adapters/sqlite/inlineDatabase.ts";
import { createPeerStore, PEER_SCHEMA } from "../../adapters/sqlite/peerStore.ts";
import { VirtualClock } from "../../adapters/virtualClock/virtualClock.ts";
import { trieLeaf } from "../../core/book/bookOrder.ts";
import { OrderbookState } from "../../core/book/orderbookState.ts";
import { trieRoot } from "../../core/book/trie.ts";
import { encodeOrderbookAnswer } from "../../core/message/orderbookAnswer.ts";
import { parseP2pRequest } from "../../core/message/requestMessage.ts";
import { rational } from "../../core/money/rational.ts";
import { RelayGrades } from "../peers/relayGrades.ts";

const nothing = { protocolInfos: new Map(), confs: new Map() };

/** A relay whose books hold an order of each of `keys` nobody ever signed; what it says for each call is up to `answer`. */
function inventor(world: BookWorld, name: string, keys: () => readonly number[]): BookNode {
  const relay = world.relay(name);
  relay.p2p.setRequestHandler(async (_peer, request) => {
    const parsed = parseP2pRequest(request);
    if (!parsed.ok || parsed.value.type !== "GetOrderbook") return { kind: "none" };
    const createdAt = Math.floor(world.clock.nowMs() / 1_000);
    const pubkeys = new Map(
      keys().map((n) => {
        const pubkey = `02${n.toString(16).padStart(64, "0")}`;
        const order = {
          pubkey,
          base: "AAA",
          rel: "BBB",
          price: rational(1n, 100n),
          maxVolume: rational(5n),
          minVolume: rational(1n, 100n),
        };
        return [
          pubkey,
          { lastKeepAlive: createdAt, orders: [{ ...order, uuid: orderUuid(1_000 + n), createdAt: createdAt - 1 }] },
        ] as const;
      }),
    );
    return { kind: "ok", data: encodeOrderbookAnswer({ ...nothing, pubkeys }) };
  });
  return relay;
}
const range = (from: number, count: number): number[] => Array.from({ length: count }, (_, i) => from + i);

test("a relay that invents orders is graded down when nobody ever signs anything under those keys", async () => {
  const world = new BookWorld();
  inventor(world, "liar", () => range(1, 6));
  world.relay("honest");
  const node = world.light("L", "liar", "honest");
  node.service.follow("AAA", "BBB");
  await world.clock.advance(1_000);
  expect([node.sees().length, node.confirmed().some((c) => c), node.grades.isDoubted("liar")]).toEqual([6, false, false]);
  await world.clock.advance(121_000);
  expect([node.grades.isDoubted("liar"), node.grades.isDoubted("honest")]).toEqual([true, false]);
  expect(node.log.lines.filter((l) => l.event === "relay_doubted")).toHaveLength(1);
});

/** The time of a machine that may be suspended: its wall clock goes on, and no timer does. */
class SuspendableClock extends VirtualClock {
  sleptMs = 0;
  override nowMs(): number {
    return super.nowMs() + this.sleptMs;
  }
}

/** A node of one relay that has just told it of six orders. */
async function justTold(): Promise<{ readonly clock: SuspendableClock; readonly world: BookWorld; readonly node: BookNode }> {
  const clock = new SuspendableClock();
  const world = new BookWorld(clock);
  inventor(world, "relay", () => range(1, 6));
  const node = world.light("L", "relay");
  node.service.follow("AAA", "BBB");
  await clock.advance(40_000);
  expect(node.sees()).toHaveLength(6);
  return { clock, world, node };
}

test("a relay is not graded down because this node slept while the makers it had told of said something", async () => {
  const { clock, node } = await justTold();
  clock.sleptMs = 8 * 3_600_000;
  await clock.advance(130_000);
  expect([node.sees(), node.grades.isDoubted("relay")]).toEqual([[], false]);
});

test("a relay is not graded down because this node slept for a minute of the time in which the makers would have been heard", async () => {
  const { clock, node } = await justTold();
  clock.sleptMs = 45_000;
  await clock.advance(130_000);
  expect([node.sees(), node.grades.isDoubted("relay")]).toEqual([[], false]);
});

test("a relay is not graded down because this node had none for most of that time", async () => {
  const { clock, world, node } = await justTold();
  world.hub.disconnect("L", "relay");
  await clock.advance(45_000);
  world.hub.connect("L", "relay");
  await clock.advance(20_000);
  expect([node.sees(), node.grades.isDoubted("relay")]).toEqual([[], false]);
});

test("a relay that is graded down confirms nothing another one invents, and is asked only when no other answers", async () => {
  const world = new BookWorld();
  inventor(world, "liar", () => range(1, 6));
  inventor(world, "second", () => range(1, 6));
  const node = world.light("L", "liar", "second");
  node.grades.refuted("liar", 5);
  node.service.follow("AAA", "BBB");
  await world.clock.advance(61_000);
  expect([node.sees().length, node.confirmed().some((c) => c)]).toEqual([6, false]);
  const first = node.p2p.asked[0]?.peer;
  expect(first).toBe("second");
  // two that are not doubted agree: that is all there is to go by
  const naive = world.light("N", "liar", "second");
  naive.service.follow("AAA", "BBB");
  await world.clock.advance(1_000);
  expect(naive.confirmed().every((c) => c)).toBe(true);
});

test("a relay is not graded down for orders whose makers went on to change or cancel them", async () => {
  const world = new BookWorld();
  world.relay("R");
  const makers = Array.from({ length: 8 }, (_, i) => world.light(`M${i}`, "R"));
  for (const [i, maker] of makers.entries()) maker.offer(i + 1);
  await world.clock.advance(31_000);
  const late = world.light("L", "R");
  late.service.follow("AAA", "BBB");
  await world.clock.advance(500);
  expect(late.sees()).toHaveLength(8);
  for (const [i, maker] of makers.entries()) {
    if (i % 2 === 0) maker.cancel(i + 1);
    else maker.offer(i + 1, { price: rational(9n) });
  }
  await world.clock.advance(240_000);
  expect([late.sees().length, late.grades.isDoubted("R")]).toEqual([4, false]);
});

test("orders of banned keys are not in the book, whoever tells of them, and count against no relay", async () => {
  const world = new BookWorld();
  world.relay("R");
  const makers = Array.from({ length: 7 }, (_, i) => world.light(`M${i}`, "R"));
  for (const [i, maker] of makers.entries()) maker.offer(i + 1);
  await world.clock.advance(31_000);
  const late = world.light("L", "R");
  for (const { pubkey } of makers.slice(6)) late.banned.add(pubkey);
  late.service.follow("AAA", "BBB");
  await world.clock.advance(500);
  expect(late.sees()).toEqual([1, 2, 3, 4, 5, 6]);
  for (const { pubkey } of makers) late.banned.add(pubkey);
  expect(late.sees()).toEqual([]);
  await world.clock.advance(240_000);
  expect([late.sees(), late.grades.isDoubted("R")]).toEqual([[], false]);
  late.banned.clear();
  await world.clock.advance(31_000);
  expect(late.sees()).toEqual([1, 2, 3, 4, 5, 6, 7]);
});

test("what the maker's signed root refutes counts against the relay that told it, over restarts", async () => {
  const clock = new VirtualClock(1_795_000_000_000);
  const store = createPeerStore(openInlineDatabase(":memory:", [PEER_SCHEMA]));
  const grades = new RelayGrades({ clock, log: new SilentLog(), store });
  const book = new OrderbookState({ isOwnKey: () => false, follows: () => true, onRefuted: (relay, keys) => grades.refuted(relay, keys) });
  const pair = "AAA:BBB";
  const createdAt = Math.floor(clock.nowMs() / 1_000) - 5;
  for (let n = 1; n <= 5; n++) {
    const pubkey = `02${n.toString(16).padStart(64, "0")}`;
    const order = (id: number, price: bigint) => ({
      ...{ pubkey, base: "AAA", rel: "BBB", price: rational(price), maxVolume: rational(5n), minVolume: rational(1n, 100n) },
      ...{ uuid: orderUuid(id), createdAt },
    });
    const told = [order(10 * n, 1n), order(10 * n + 1, 1n)];
    book.orderbookAnswer(
      { ...nothing, pubkeys: new Map([[pubkey, { lastKeepAlive: createdAt, orders: told }]]) },
      pair,
      "liar",
      clock.nowMs(),
    );
    // the maker has one of the two, at another price
    const real = [order(10 * n, 7n)];
    const asked = [{ pair, root: trieRoot(real.map(trieLeaf)), timestamp: createdAt + 5 }];
    const answer = { ...nothing, pairs: new Map([[pair, { type: "FullTrie" as const, orders: real }]]) };
    expect([n, grades.isDoubted("liar")]).toEqual([n, false]);
    expect(book.syncAnswer(pubkey, asked, answer, "honest", clock.nowMs())).toBe(true);
  }
  expect([grades.isDoubted("liar"), grades.isDoubted("honest")]).toEqual([true, false]);
  await grades.close();
  const later = new RelayGrades({ clock, log: new SilentLog(), store });
  await later.open();
  expect(later.isDoubted("liar")).toBe(true);
  await clock.advance(600_000);
  expect(later.isDoubted("liar")).toBe(false);
});
