import { expect, test } from "vitest";
import type { OrderbookAnswer, SyncAnswer } from "../message/orderbookAnswer.ts";
import type { MakerOrderCreated, OrderbookItem } from "../message/types.ts";
import { rational } from "../money/rational.ts";
import type { AnnouncedRoot, BookChange } from "./bookChange.ts";
import { trieLeaf } from "./bookOrder.ts";
import { type BookOptions, OrderbookState } from "./orderbookState.ts";
import { EMPTY_ROOT, NO_ROOT, trieRoot } from "./trie.ts";

const NOW_SEC = 1_700_000_000;
const NOW = NOW_SEC * 1000;
const MAKER = `02${"11".repeat(32)}`;
const OTHER = `03${"22".repeat(32)}`;
const PAIR = "AAA:BBB";
const uuid = (n: number): string => `00000000-0000-4000-8000-${n.toString(16).padStart(12, "0")}`;

function anOrder(n: number, with_: Partial<OrderbookItem> = {}): OrderbookItem {
  return {
    pubkey: MAKER,
    base: "AAA",
    rel: "BBB",
    price: rational(BigInt(n), 10n),
    maxVolume: rational(5n),
    minVolume: rational(1n, 100n),
    uuid: uuid(n),
    createdAt: NOW_SEC,
    ...with_,
  };
}
function created(item: OrderbookItem, timestamp = NOW_SEC): MakerOrderCreated {
  const { pubkey: _, ...fields } = item;
  const conf = { baseConfs: 1, baseNota: false, relConfs: 1, relNota: false };
  return { ...fields, conf, timestamp, pairTrieRoot: NO_ROOT, baseProtocolInfo: new Uint8Array([1]), relProtocolInfo: new Uint8Array([2]) };
}
const rootOf = (...items: readonly OrderbookItem[]): Uint8Array => trieRoot(items.map(trieLeaf));
const announced = (root: Uint8Array, timestamp = NOW_SEC): AnnouncedRoot => ({ pair: PAIR, root, timestamp });
const extras = { protocolInfos: new Map(), confs: new Map() };
const fullTrie = (...orders: readonly OrderbookItem[]): SyncAnswer => ({
  ...extras,
  pairs: new Map([[PAIR, { type: "FullTrie", orders }]]),
});
const bookAnswer = (...orders: readonly OrderbookItem[]): OrderbookAnswer => ({
  ...extras,
  pubkeys: new Map([[MAKER, { lastKeepAlive: NOW_SEC, orders }]]),
});
const keepAlive = (root: Uint8Array, timestamp = NOW_SEC) => ({ trieRoots: [[PAIR, root] as const], timestamp });
const aBook = (options: Partial<BookOptions> = {}): OrderbookState =>
  new OrderbookState({ isOwnKey: () => false, follows: () => true, ...options });
const uuids = (book: OrderbookState): string[] => Array.from(book.inPair(PAIR), ({ item }) => item.uuid).sort();
const refusal = (reason: string) => ({ kind: "refused", reason });

test("a created order stands confirmed in its pair with the root its maker computes", () => {
  const book = aBook();
  const orders = [1, 2, 3].map((n) => anOrder(n));
  for (const order of orders) expect(book.created(MAKER, created(order), NOW)).toEqual({ kind: "stored" });
  expect(uuids(book)).toEqual([uuid(1), uuid(2), uuid(3)]);
  expect(book.order(MAKER, uuid(1))).toMatchObject({ confirmed: true, source: null, conf: { baseConfs: 1 } });
  expect(book.root(MAKER, PAIR)).toEqual(rootOf(...orders));
  expect(book.keepAlive(MAKER, keepAlive(rootOf(...orders)), NOW)).toEqual({ kind: "alive", differing: [] });
});

test("roots: eight zeros before the first order, the empty hash after the last", () => {
  const book = aBook();
  expect(book.root(MAKER, PAIR)).toEqual(NO_ROOT);
  book.created(MAKER, created(anOrder(1)), NOW);
  book.cancelled(MAKER, { uuid: uuid(1), timestamp: NOW_SEC, pairTrieRoot: NO_ROOT }, NOW);
  expect(book.root(MAKER, PAIR)).toEqual(EMPTY_ROOT);
});

test("the root counts the raw form of a fraction, not its value", () => {
  const book = aBook();
  const unreduced = anOrder(1, { price: { n: 8n, d: 10n } });
  book.created(MAKER, created(unreduced), NOW);
  expect(book.root(MAKER, PAIR)).toEqual(rootOf(unreduced));
  expect(book.root(MAKER, PAIR)).not.toEqual(rootOf(anOrder(1, { price: rational(4n, 5n) })));
});

test("another key can neither overwrite, change nor cancel an order: what it says of the uuid is an order of its own", () => {
  const book = aBook();
  book.created(MAKER, created(anOrder(1)), NOW);
  const theft = anOrder(1, { pubkey: OTHER, price: rational(1n, 1000n) });
  const change = {
    uuid: uuid(1),
    newPrice: rational(9n),
    newMaxVolume: null,
    newMinVolume: null,
    timestamp: NOW_SEC,
    pairTrieRoot: NO_ROOT,
    conf: null,
  };
  expect(book.updated(OTHER, change, NOW)).toEqual(refusal("unknown_order"));
  expect(book.created(OTHER, created(anOrder(1, { pubkey: OTHER, maxVolume: rational(0n) })), NOW)).toEqual({ kind: "removed" });
  expect(book.created(OTHER, created(theft), NOW)).toEqual({ kind: "stored" });
  book.orderbookAnswer({ ...extras, pubkeys: new Map([[OTHER, { lastKeepAlive: NOW_SEC, orders: [theft] }]]) }, PAIR, "relay", NOW);
  book.updated(OTHER, { ...change, newMaxVolume: rational(0n) }, NOW);
  expect(book.cancelled(OTHER, { uuid: uuid(1), timestamp: NOW_SEC, pairTrieRoot: NO_ROOT }, NOW)).toEqual({ kind: "removed" });
  expect(book.order(MAKER, uuid(1))?.item).toEqual(anOrder(1));
  expect([book.order(OTHER, uuid(1)), book.size, book.root(MAKER, PAIR)]).toEqual([undefined, 1, rootOf(anOrder(1))]);
});

test("whoever uses a uuid first keeps nobody out: it may be heard in a request, long before its order is announced", () => {
  const book = aBook();
  const squatted = anOrder(1, { pubkey: OTHER });
  expect(book.created(OTHER, created(squatted), NOW)).toEqual({ kind: "stored" });
  expect(book.created(MAKER, created(anOrder(1)), NOW)).toEqual({ kind: "stored" });
  expect(Array.from(book.inPair(PAIR), ({ item, confirmed }) => [item.pubkey, confirmed])).toEqual([
    [OTHER, true],
    [MAKER, true],
  ]);
  expect([book.root(OTHER, PAIR), book.root(MAKER, PAIR)]).toEqual([rootOf(squatted), rootOf(anOrder(1))]);
  expect(book.keepAlive(MAKER, keepAlive(rootOf(anOrder(1))), NOW)).toEqual({ kind: "alive", differing: [] });
});

test("a uuid that only an unsigned answer gave to another key does not keep its maker out, nor the other way round", () => {
  const book = aBook();
  const told = anOrder(1, { pubkey: OTHER });
  book.orderbookAnswer({ ...extras, pubkeys: new Map([[OTHER, { lastKeepAlive: 0, orders: [told] }]]) }, PAIR, "relay", NOW);
  expect(book.created(MAKER, created(anOrder(1)), NOW)).toEqual({ kind: "stored" });
  expect(book.order(MAKER, uuid(1))).toMatchObject({ confirmed: true });
  expect(book.order(OTHER, uuid(1))).toMatchObject({ confirmed: false });
});

test("an update changes price, maximum and minimum, and one that leaves nothing removes the order", () => {
  const book = aBook();
  book.created(MAKER, created(anOrder(1)), NOW);
  const update = {
    uuid: uuid(1),
    newPrice: null,
    newMaxVolume: rational(2n),
    newMinVolume: null,
    timestamp: NOW_SEC + 1,
    pairTrieRoot: NO_ROOT,
    conf: null,
  };
  expect(book.updated(MAKER, update, NOW)).toEqual({ kind: "stored" });
  expect(book.order(MAKER, uuid(1))?.item).toEqual(anOrder(1, { maxVolume: rational(2n) }));
  expect(book.root(MAKER, PAIR)).toEqual(rootOf(anOrder(1, { maxVolume: rational(2n) })));
  expect(book.updated(MAKER, { ...update, newMaxVolume: rational(0n) }, NOW)).toEqual({ kind: "removed" });
  expect(uuids(book)).toEqual([]);
});

test("of two messages on one order the one the maker sent later stands, however they arrive", () => {
  const book = aBook();
  book.created(MAKER, created(anOrder(1, { price: rational(2n) }), NOW_SEC + 5), NOW);
  expect(book.created(MAKER, created(anOrder(1), NOW_SEC), NOW)).toEqual(refusal("superseded"));
  const cancel = { uuid: uuid(1), timestamp: NOW_SEC + 4, pairTrieRoot: NO_ROOT };
  expect(book.cancelled(MAKER, cancel, NOW)).toEqual(refusal("superseded"));
  const update = { ...cancel, newPrice: rational(3n), newMaxVolume: null, newMinVolume: null, conf: null };
  expect(book.updated(MAKER, update, NOW)).toEqual(refusal("superseded"));
  expect(book.order(MAKER, uuid(1))?.item.price).toEqual(rational(2n));
  expect(book.updated(MAKER, { ...update, timestamp: NOW_SEC + 5 }, NOW)).toEqual({ kind: "stored" });
});

test("what a maker has signed no unsigned answer changes, in its own name or another's", () => {
  const book = aBook();
  book.created(MAKER, created(anOrder(1)), NOW);
  for (const relay of ["first", "second"]) {
    book.orderbookAnswer(bookAnswer(anOrder(1, { price: rational(1n, 1_000n) })), PAIR, relay, NOW);
    expect(book.order(MAKER, uuid(1))).toMatchObject({ confirmed: true, item: anOrder(1) });
  }
});

test("a cancelled order does not come back within 120 s, neither by its own message nor by answers", () => {
  const book = aBook();
  book.created(MAKER, created(anOrder(1)), NOW);
  expect(book.cancelled(MAKER, { uuid: uuid(1), timestamp: NOW_SEC, pairTrieRoot: NO_ROOT }, NOW)).toEqual({ kind: "removed" });
  expect(book.created(MAKER, created(anOrder(1)), NOW + 59_000)).toEqual(refusal("recently_cancelled"));
  const later = NOW + 119_999;
  book.orderbookAnswer(bookAnswer(anOrder(1)), PAIR, "relay", later);
  book.syncAnswer(MAKER, [announced(rootOf(anOrder(1)), NOW_SEC + 119)], fullTrie(anOrder(1)), "relay", later);
  expect(uuids(book)).toEqual([]);
  book.orderbookAnswer(bookAnswer(anOrder(1)), PAIR, "relay", NOW + 120_001);
  expect(uuids(book)).toEqual([uuid(1)]);
});

test("a replayed message with an old time changes nothing and keeps nobody alive", () => {
  const book = aBook();
  const late = NOW + 61_000;
  expect(book.created(MAKER, created(anOrder(1)), late)).toEqual(refusal("stale"));
  expect(book.keepAlive(MAKER, keepAlive(rootOf(anOrder(1))), late)).toEqual(refusal("stale"));
  expect(book.created(MAKER, created(anOrder(1), NOW_SEC + 61), NOW)).toEqual(refusal("stale"));
});

test("orders go 90 s after their key was last heard, and only a keep-alive renews that", () => {
  const book = aBook();
  book.created(MAKER, created(anOrder(1)), NOW);
  book.created(MAKER, created(anOrder(2), NOW_SEC + 80), NOW + 80_000);
  expect(book.prune(NOW + 89_999)).toBe(false);
  expect(book.prune(NOW + 90_000)).toBe(true);
  expect(uuids(book)).toEqual([]);
  expect(book.knowsKey(MAKER)).toBe(false);
  book.created(MAKER, created(anOrder(3), NOW_SEC + 90), NOW + 90_000);
  book.keepAlive(MAKER, keepAlive(rootOf(anOrder(3)), NOW_SEC + 150), NOW + 150_000);
  expect(book.prune(NOW + 239_999)).toBe(false);
  expect(book.prune(NOW + 240_000)).toBe(true);
});

test("own keys are left alone", () => {
  const book = aBook({ isOwnKey: (key) => key === MAKER });
  expect(book.created(MAKER, created(anOrder(1)), NOW)).toEqual(refusal("own_key"));
  book.orderbookAnswer(bookAnswer(anOrder(1)), PAIR, "relay", NOW);
  book.syncAnswer(MAKER, [announced(rootOf(anOrder(1)))], fullTrie(anOrder(1)), "relay", NOW);
  expect(uuids(book)).toEqual([]);
});

test("pairs that are not followed take no room", () => {
  const book = aBook({ follows: (pair) => pair === "AAA:CCC" });
  expect(book.created(MAKER, created(anOrder(1)), NOW)).toEqual(refusal("not_followed"));
  expect(book.keepAlive(MAKER, keepAlive(rootOf(anOrder(1))), NOW)).toEqual({ kind: "alive", differing: [] });
});

test("an unsigned order is unconfirmed until a second relay agrees", () => {
  const book = aBook();
  book.orderbookAnswer(bookAnswer(anOrder(1), anOrder(2)), PAIR, "first", NOW);
  expect(book.order(MAKER, uuid(1))).toMatchObject({ confirmed: false, source: "first" });
  book.orderbookAnswer(bookAnswer(anOrder(1), anOrder(2)), PAIR, "first", NOW);
  expect(book.order(MAKER, uuid(1))?.confirmed).toBe(false);
  book.orderbookAnswer(bookAnswer(anOrder(1), anOrder(2, { price: rational(1n, 99n) })), PAIR, "second", NOW);
  expect(book.order(MAKER, uuid(1))?.confirmed).toBe(true);
  expect(book.order(MAKER, uuid(2))?.confirmed).toBe(false);
});

test("unsigned orders are confirmed when the maker announces the root over them", () => {
  const book = aBook();
  book.orderbookAnswer(bookAnswer(anOrder(1), anOrder(2)), PAIR, "relay", NOW);
  expect(book.keepAlive(MAKER, keepAlive(rootOf(anOrder(1), anOrder(2))), NOW)).toEqual({ kind: "alive", differing: [] });
  expect([1, 2].map((n) => book.order(MAKER, uuid(n))?.confirmed)).toEqual([true, true]);
});

test("a lost order is asked for and, as the answer hashes to the announced root, taken as the maker's word", () => {
  const book = aBook();
  book.created(MAKER, created(anOrder(1), NOW_SEC - 1), NOW);
  const root = rootOf(anOrder(1), anOrder(2));
  expect(book.keepAlive(MAKER, keepAlive(root), NOW)).toEqual({ kind: "alive", differing: [announced(root)] });
  book.syncAnswer(MAKER, [announced(root)], fullTrie(anOrder(1), anOrder(2)), "relay", NOW);
  expect(book.order(MAKER, uuid(2))).toMatchObject({ confirmed: true });
  expect(book.keepAlive(MAKER, keepAlive(root), NOW)).toEqual({ kind: "alive", differing: [] });
});

test("a lost cancellation is repaired at once by an answer that hashes to the announced root", () => {
  const book = aBook();
  for (const n of [1, 2]) book.created(MAKER, created(anOrder(n), NOW_SEC - 5), NOW);
  book.syncAnswer(MAKER, [announced(rootOf(anOrder(2)))], fullTrie(anOrder(2)), "relay", NOW);
  expect(uuids(book)).toEqual([uuid(2)]);
});

test("an answer under another root first casts doubt on a signed order, and wins when repeated", () => {
  const book = aBook();
  for (const n of [1, 2]) book.created(MAKER, created(anOrder(n), NOW_SEC - 5), NOW);
  const forged = anOrder(2, { price: rational(1n, 1000n) });
  const asked = [announced(rootOf(anOrder(7)))];
  book.syncAnswer(MAKER, asked, fullTrie(forged), "liar", NOW);
  expect(book.order(MAKER, uuid(1))).toMatchObject({ confirmed: false, item: anOrder(1) });
  expect(book.order(MAKER, uuid(2))).toMatchObject({ confirmed: false, item: anOrder(2) });
  book.syncAnswer(MAKER, asked, fullTrie(forged), "liar", NOW);
  expect(book.order(MAKER, uuid(1))).toBeUndefined();
  expect(book.order(MAKER, uuid(2))).toMatchObject({ confirmed: false, item: forged });
  book.created(MAKER, created(anOrder(2), NOW_SEC), NOW);
  expect(book.order(MAKER, uuid(2))).toMatchObject({ confirmed: true, item: anOrder(2) });
});

test("an order created after the root was announced survives the answer to that root", () => {
  const book = aBook();
  book.created(MAKER, created(anOrder(1), NOW_SEC - 5), NOW);
  const root = rootOf(anOrder(2));
  book.keepAlive(MAKER, keepAlive(root, NOW_SEC), NOW);
  book.created(MAKER, created(anOrder(3), NOW_SEC + 1), NOW);
  book.syncAnswer(MAKER, [announced(root)], fullTrie(anOrder(2)), "relay", NOW);
  expect(uuids(book)).toEqual([uuid(2), uuid(3)]);
});

test("a delta removes and adds, and is authentic when the result hashes to the announced root", () => {
  const book = aBook();
  for (const n of [1, 2]) book.created(MAKER, created(anOrder(n), NOW_SEC - 5), NOW);
  const changes = [
    [uuid(1), null],
    [uuid(3), anOrder(3)],
  ] as const;
  const answer: SyncAnswer = { ...extras, pairs: new Map([[PAIR, { type: "Delta", changes }]]) };
  book.syncAnswer(MAKER, [announced(rootOf(anOrder(2), anOrder(3)))], answer, "relay", NOW);
  expect(uuids(book)).toEqual([uuid(2), uuid(3)]);
  expect(book.order(MAKER, uuid(3))?.confirmed).toBe(true);
});

test("a keep-alive with the empty root removes what was left of an older time; zeros say nothing", () => {
  const book = aBook();
  book.created(MAKER, created(anOrder(1), NOW_SEC - 5), NOW);
  book.created(MAKER, created(anOrder(2), NOW_SEC), NOW);
  book.keepAlive(MAKER, keepAlive(NO_ROOT, NOW_SEC - 1), NOW);
  expect(uuids(book)).toEqual([uuid(1), uuid(2)]);
  book.keepAlive(MAKER, keepAlive(EMPTY_ROOT), NOW);
  expect(uuids(book)).toEqual([uuid(2)]);
});

test("items under another key or pair than asked for are not taken", () => {
  const book = aBook();
  const foreign = [anOrder(1, { pubkey: OTHER }), anOrder(2, { base: "CCC" }), anOrder(3, { rel: "AAA" }), anOrder(4, { base: "A:A" })];
  book.syncAnswer(MAKER, [announced(rootOf(...foreign))], fullTrie(...foreign), "relay", NOW);
  book.orderbookAnswer(bookAnswer(...foreign), PAIR, "relay", NOW);
  expect([1, 2, 3, 4].map((n) => book.order(MAKER, uuid(n)))).toEqual([undefined, undefined, undefined, undefined]);
});

test("limits hold, and a signed order pushes out an unconfirmed one", () => {
  const book = aBook({ limits: { orders: 3, ordersPerPair: 3, ordersPerKey: 2, shelves: 2 } });
  book.orderbookAnswer(
    { ...extras, pubkeys: new Map([[OTHER, { lastKeepAlive: 0, orders: [8, 9, 10].map((n) => anOrder(n, { pubkey: OTHER })) }]]) },
    PAIR,
    "relay",
    NOW,
  );
  expect(uuids(book)).toEqual([uuid(8), uuid(9)]);
  expect([1, 2, 3].map((n) => book.created(MAKER, created(anOrder(n)), NOW).kind)).toEqual(["stored", "stored", "refused"]);
  expect(uuids(book)).toEqual([uuid(1), uuid(2), uuid(9)]);
  const third = `02${"33".repeat(32)}`;
  expect(book.created(third, created(anOrder(20, { pubkey: third })), NOW)).toEqual(refusal("full"));
});

test("one key cannot fill a pair, nor the book: others get as much room as it has", () => {
  for (const limits of [
    { orders: 99, ordersPerPair: 4, ordersPerKey: 4, shelves: 99 },
    { orders: 4, ordersPerPair: 99, ordersPerKey: 4, shelves: 99 },
  ]) {
    const book = aBook({ limits });
    for (const n of [1, 2, 3, 4]) book.created(MAKER, created(anOrder(n)), NOW);
    const theirs = (n: number): BookChange => book.created(OTHER, created(anOrder(n, { pubkey: OTHER })), NOW);
    expect([11, 12, 13].map((n) => theirs(n).kind)).toEqual(["stored", "stored", "refused"]);
    expect(uuids(book)).toEqual([uuid(1), uuid(2), uuid(11), uuid(12)]);
    // What was pushed out does not push back.
    expect(book.created(MAKER, created(anOrder(3)), NOW)).toEqual(refusal("full"));
    // What no signature covers pushes out nothing.
    const third = `02${"33".repeat(32)}`;
    const told = new Map([[third, { lastKeepAlive: NOW_SEC, orders: [anOrder(21, { pubkey: third })] }]]);
    book.orderbookAnswer({ ...extras, pubkeys: told }, PAIR, "relay", NOW);
    expect(uuids(book)).toEqual([uuid(1), uuid(2), uuid(11), uuid(12)]);
  }
});

test("one key with orders in every pair does not keep others out of theirs", () => {
  const book = aBook({ limits: { orders: 99, ordersPerPair: 99, ordersPerKey: 99, shelves: 3 } });
  for (const [n, rel] of ["BBB", "CCC", "DDD", "EEE"].entries()) book.created(MAKER, created(anOrder(n + 1, { rel })), NOW);
  const told = new Map([[OTHER, { lastKeepAlive: NOW_SEC, orders: [anOrder(11, { pubkey: OTHER })] }]]);
  book.orderbookAnswer({ ...extras, pubkeys: told }, PAIR, "relay", NOW);
  const kept = () => [1, 2, 3, 11].map((n) => book.order(n === 11 ? OTHER : MAKER, uuid(n)) !== undefined);
  expect(kept()).toEqual([true, true, true, false]);
  expect(book.created(OTHER, created(anOrder(11, { pubkey: OTHER })), NOW)).toEqual({ kind: "stored" });
  expect(kept()).toEqual([true, true, false, true]);
});

test("strangers' keys with an order each push out nobody this node has traded with, who push out some of them", () => {
  const key = (n: number): string => `02${n.toString(16).padStart(64, "0")}`;
  for (const limits of [
    { orders: 999, ordersPerPair: 4, ordersPerKey: 200, shelves: 999 },
    { orders: 4, ordersPerPair: 999, ordersPerKey: 200, shelves: 999 },
    { orders: 999, ordersPerPair: 999, ordersPerKey: 200, shelves: 4 },
  ]) {
    const book = aBook({ limits, hasHistory: (pubkey) => pubkey === MAKER });
    const strangers = (n: number): string => book.created(key(n), created(anOrder(n, { pubkey: key(n) })), NOW).kind;
    expect([1, 2, 3, 4, 5].map(strangers)).toEqual(["stored", "stored", "stored", "stored", "refused"]);
    expect(book.created(MAKER, created(anOrder(10)), NOW)).toEqual({ kind: "stored" });
    expect(strangers(6)).toBe("refused");
    expect(uuids(book)).toContain(uuid(10));
    expect(book.size).toBe(4);
  }
});

test("a key with history has room kept for a hundred orders, not for all of a pair", () => {
  const limits = { orders: 999, ordersPerPair: 110, ordersPerKey: 200, shelves: 999 };
  const book = aBook({ limits, hasHistory: (pubkey) => pubkey === MAKER });
  for (let n = 1; n <= 110; n++) book.created(MAKER, created(anOrder(n)), NOW);
  const theirs = Array.from({ length: 8 }, (_, i) => book.created(OTHER, created(anOrder(200 + i, { pubkey: OTHER })), NOW).kind);
  expect(theirs).toEqual(["stored", "stored", "stored", "stored", "stored", "refused", "refused", "refused"]);
  expect(book.size).toBe(110);
});

test("any sequence of messages leaves indexes and roots that agree with a fresh computation", () => {
  // A small linear congruential walk over all operations; the seed is the loop variable printed on failure.
  for (let seed = 1; seed <= 12; seed++) {
    let state = seed;
    const next = (below: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return (state >>> 16) % below;
    };
    const book = aBook({ limits: { orders: 12, ordersPerPair: 10, ordersPerKey: 8, shelves: 3 } });
    const keys = [MAKER, OTHER];
    let now = NOW;
    for (let i = 0; i < 150; i++) {
      now += next(3) * 10_000;
      const key = keys[next(2)] ?? MAKER;
      const sec = Math.floor(now / 1000);
      const direction = next(2) ? { base: "AAA", rel: "BBB" } : { base: "BBB", rel: "CCC" };
      const order = anOrder(next(12), { pubkey: key, price: rational(BigInt(next(4)), 7n), ...direction });
      const op = next(6);
      if (op <= 1) book.created(key, created(order, sec), now);
      else if (op === 2) book.cancelled(key, { uuid: order.uuid, timestamp: sec, pairTrieRoot: NO_ROOT }, now);
      else if (op === 3) book.keepAlive(key, keepAlive(next(2) ? book.root(key, PAIR) : EMPTY_ROOT, sec), now);
      else if (op === 4) book.syncAnswer(key, [announced(rootOf(order), sec)], fullTrie(order), `relay${next(3)}`, now);
      else book.prune(now);
      for (const k of keys) {
        for (const pair of [PAIR, "BBB:CCC"]) {
          const mine = Array.from(book.inPair(pair), ({ item }) => item).filter((item) => item.pubkey === k);
          const shelf = book.shelf(k, pair);
          expect(shelf ? [...shelf.orders.keys()].sort() : [], `seed ${seed} step ${i}`).toEqual(mine.map((item) => item.uuid).sort());
          expect(book.root(k, pair), `seed ${seed} step ${i}`).toEqual(shelf ? rootOf(...mine) : NO_ROOT);
        }
      }
    }
  }
});

test("an order with numbers of hundreds of digits is not kept, and one that gets them by an update goes", () => {
  const book = aBook();
  const long = { n: 1n, d: (1n << 700n) + 1n };
  expect(book.created(MAKER, created(anOrder(1, { price: long })), NOW)).toEqual(refusal("long_numbers"));
  book.created(MAKER, created(anOrder(2)), NOW);
  const update = {
    uuid: uuid(2),
    newPrice: null,
    newMaxVolume: long,
    newMinVolume: null,
    timestamp: NOW_SEC,
    pairTrieRoot: NO_ROOT,
    conf: null,
  };
  expect(book.updated(MAKER, update, NOW)).toEqual(refusal("long_numbers"));
  book.orderbookAnswer(bookAnswer(anOrder(3, { minVolume: long })), PAIR, "relay", NOW);
  expect(uuids(book)).toEqual([]);
});

test("a maker that changes an order between keep-alives cannot have its root worked out each time", () => {
  const book = aBook();
  for (let i = 0; i < 5; i++) {
    const nowMs = NOW + i * 1000;
    book.created(MAKER, created(anOrder(i + 1), NOW_SEC + i), nowMs);
    const outcome = book.keepAlive(MAKER, keepAlive(rootOf(anOrder(99)), NOW_SEC + i), nowMs);
    expect(outcome).toMatchObject({ kind: "alive", differing: i === 0 ? [{}] : [] });
  }
  // The usual rhythm is not affected, and it lives as before.
  expect(book.keepAlive(MAKER, keepAlive(rootOf(anOrder(99)), NOW_SEC + 30), NOW + 30_000)).toMatchObject({ differing: [{}] });
  book.prune(NOW + 119_000);
  expect(uuids(book)).toHaveLength(5);
});

/** How often a book asks for the orders of the key in the 55 minutes in which that announces the same root every 30 s. */
function timesAsked(book: OrderbookState, root: Uint8Array, answer: SyncAnswer, fromSec = 0): number {
  let asked = 0;
  for (let sec = fromSec; sec < fromSec + 3_300; sec += 30) {
    const nowMs = NOW + sec * 1_000;
    const outcome = book.keepAlive(MAKER, keepAlive(root, NOW_SEC + sec), nowMs);
    if (outcome.kind === "refused" || outcome.differing.length === 0) continue;
    asked++;
    book.syncAnswer(MAKER, outcome.differing, answer, "relay", nowMs);
  }
  return asked;
}

test("what a book has no room for is asked for every ten minutes, not at each keep-alive: of a key, and of a pair that others fill", () => {
  const four = [1, 2, 3, 4].map((n) => anOrder(n));
  const full = aBook({ limits: { orders: 9, ordersPerPair: 9, ordersPerKey: 3, shelves: 9 } });
  for (const order of four) full.created(MAKER, created(order), NOW);
  expect([timesAsked(full, rootOf(...four), fullTrie(...four.slice(0, 3))), uuids(full).length]).toEqual([6, 3]);
  const crowded = aBook({ limits: { orders: 9, ordersPerPair: 4, ordersPerKey: 4, shelves: 9 } });
  for (const n of [5, 6]) crowded.created(OTHER, created(anOrder(n, { pubkey: OTHER })), NOW);
  for (const order of four) crowded.created(MAKER, created(order), NOW);
  expect([timesAsked(crowded, rootOf(...four), fullTrie(...four)), uuids(crowded).length]).toEqual([6, 4]);
  // Room comes about: the rest is fetched at once.
  const now = NOW + 3_300_000;
  crowded.cancelled(OTHER, { uuid: uuid(5), timestamp: now / 1_000, pairTrieRoot: NO_ROOT }, now);
  crowded.cancelled(OTHER, { uuid: uuid(6), timestamp: now / 1_000, pairTrieRoot: NO_ROOT }, now);
  const outcome = crowded.keepAlive(MAKER, keepAlive(rootOf(...four), NOW_SEC + 3_300), now);
  expect(outcome).toMatchObject({ differing: [{}] });
  crowded.syncAnswer(MAKER, [announced(rootOf(...four), NOW_SEC + 3_300)], fullTrie(...four), "relay", now);
  expect([uuids(crowded).length, timesAsked(crowded, rootOf(...four), fullTrie(...four), 3_330)]).toEqual([4, 0]);
});

test("more orders than a key may have are asked for every ten minutes, too", () => {
  const book = aBook({ limits: { orders: 9, ordersPerPair: 9, ordersPerKey: 3, shelves: 9 } });
  const four = [1, 2, 3, 4].map((n) => anOrder(n));
  // At the first there is nothing that would remember it.
  expect(timesAsked(book, rootOf(...four), fullTrie(...four))).toBe(7);
  expect(timesAsked(book, rootOf(...four.slice(1)), fullTrie(...four.slice(1)), 3_300)).toBe(1);
});

test("who says that a key has more orders than it may, and not what its maker signed, keeps nobody from being asked for them", () => {
  const book = aBook({ limits: { orders: 9, ordersPerPair: 9, ordersPerKey: 3, shelves: 9 } });
  const [first, ...rest] = [1, 2, 3, 4].map((n) => anOrder(n));
  book.created(MAKER, created(first ?? expect.fail("none")), NOW);
  const root = rootOf(anOrder(1), anOrder(9));
  expect([timesAsked(book, root, fullTrie(...rest, anOrder(1))), uuids(book)]).toEqual([110, [uuid(1)]]);
  expect(timesAsked(book, root, fullTrie(anOrder(1), anOrder(9)), 3_300)).toBe(1);
});

test("made-up orders under a key, of any pair, leave its maker as much room as before", () => {
  const book = aBook({ limits: { orders: 9, ordersPerPair: 9, ordersPerKey: 2, shelves: 9 } });
  const [real, other, third, madeUp] = [anOrder(1), anOrder(2), anOrder(4), anOrder(3, { base: "CCC", rel: "DDD" })];
  expect(book.created(MAKER, created(real), NOW)).toEqual({ kind: "stored" });
  book.orderbookAnswer(bookAnswer(madeUp), "CCC:DDD", "liar", NOW);
  expect([book.size, book.created(MAKER, created(other), NOW), uuids(book)]).toEqual([2, { kind: "stored" }, [uuid(1), uuid(2)]]);
  expect([book.size, timesAsked(book, rootOf(real, other), { ...extras, pairs: new Map() })]).toEqual([2, 0]);
  expect(book.created(MAKER, created(third), NOW)).toEqual(refusal("full"));
});

test("made-up orders of another pair under a key make no room in a full pair", () => {
  const full = (...makers: readonly string[]): OrderbookState => {
    const book = aBook({ limits: { orders: 9, ordersPerPair: 2, ordersPerKey: 2, shelves: 9 } });
    book.orderbookAnswer(
      bookAnswer(anOrder(1, { base: "CCC", rel: "DDD" }), anOrder(2, { base: "CCC", rel: "DDD" })),
      "CCC:DDD",
      "liar",
      NOW,
    );
    for (const [n, maker] of makers.entries()) book.created(maker, created(anOrder(3 + n, { pubkey: maker })), NOW);
    return book;
  };
  const [one, two] = [OTHER, `03${"33".repeat(32)}`];
  const shared = full(one, two);
  expect([shared.created(MAKER, created(anOrder(5)), NOW), uuids(shared)]).toEqual([refusal("full"), [uuid(3), uuid(4)]]);
  const hogged = full(one, one);
  expect([hogged.created(MAKER, created(anOrder(5)), NOW), uuids(hogged), hogged.size]).toEqual([
    { kind: "stored" },
    [uuid(3), uuid(5)],
    3,
  ]);
});

test("an answer with more orders than a key may have is not taken", () => {
  const book = aBook({ limits: { orders: 9, ordersPerPair: 9, ordersPerKey: 3, shelves: 9 } });
  const four = [1, 2, 3, 4].map((n) => anOrder(n));
  expect(book.syncAnswer(MAKER, [announced(rootOf(...four))], fullTrie(...four), "relay", NOW)).toBe(false);
  expect(uuids(book)).toEqual([]);
  expect(book.syncAnswer(MAKER, [announced(rootOf(...four.slice(1)))], fullTrie(...four.slice(1)), "relay", NOW)).toBe(true);
});

test("a clock that was hours ahead and is set right spares no relay for as long that tells of orders nobody has signed", () => {
  const refuted: [string, number][] = [];
  const book = aBook({ onRefuted: (source, keys) => void refuted.push([source, keys]) });
  book.prune(NOW);
  book.prune(NOW + 8 * 3_600_000);
  book.prune(NOW + 30_000);
  book.orderbookAnswer(bookAnswer(anOrder(1)), PAIR, "liar", NOW + 30_000);
  for (let sec = 60; sec <= 180; sec += 30) book.prune(NOW + sec * 1_000);
  expect([refuted, book.size]).toEqual([[["liar", 1]], 0]);
});

test("a clock that is set back by an hour does not keep silent makers on the book for an hour", () => {
  const book = aBook();
  const HOUR = 3_600_000;
  book.created(MAKER, created(anOrder(1), NOW_SEC + 3600), NOW + HOUR);
  book.created(OTHER, created(anOrder(2, { pubkey: OTHER }), NOW_SEC + 3600), NOW + HOUR);
  book.prune(NOW);
  book.prune(NOW + 89_000);
  expect(uuids(book)).toHaveLength(2);
  book.prune(NOW + 91_000);
  expect(uuids(book)).toEqual([]);
});
