import type { OrderbookItem } from "../message/types.ts";
import { type BookOrder, trieLeaf } from "./bookOrder.ts";
import { pairOf } from "./bookPair.ts";
import { Holdings } from "./holdings.ts";
import { NO_ROOT, trieRoot } from "./trie.ts";

/** What the book holds at most. An order takes about 2.3 kB (`npm run bench -- book`), never more than 4.9, so the defaults bound it at 46 and 98 MB. */
export type BookLimits = {
  readonly orders: number;
  readonly ordersPerPair: number;
  readonly ordersPerKey: number;
  /** One shelf = the orders of one key in one pair. */
  readonly shelves: number;
};

/**
 * So many orders, and as many pairs, of a key with history count for nothing where room is short: strangers' keys cost nothing, and
 * thousands with an order each must not push those off the book that this node has traded with.
 */
const KNOWN_KEY_ROOM = 100;

export const DEFAULT_BOOK_LIMITS: BookLimits = { orders: 20_000, ordersPerPair: 5_000, ordersPerKey: 2_000, shelves: 20_000 };

/** All orders of one key in one pair, both directions: the unit of keep-alives, roots and syncs. */
export type Shelf = {
  readonly pubkey: string;
  readonly pair: string;
  readonly orders: Map<string, BookOrder>;
  /** When the key was first seen in the pair or last said it is alive, unix ms. */
  aliveAtMs: number;
  /** Newest root the key itself announced, with the time in that message (unix seconds). */
  announced: { readonly root: Uint8Array; readonly timestamp: number } | null;
  /** Cached; null after a change. */
  root: Uint8Array | null;
  /** When a peer's message last had the root worked out anew, unix ms. */
  rootedMs: number;
  /** What this book cannot keep of it: an order that found no room, or as many as no key may have. Null once the root was as announced. */
  lacks: "room" | "too_many" | null;
  /** When what it lacks was last asked for, unix ms. */
  askedMs: number;
};

/** What is held of one pair; orders by `nameOf`. */
type PairOrders = { readonly orders: Map<string, BookOrder>; readonly unconfirmed: Set<string>; readonly byKey: Holdings };
/** What is held of one key, oldest first; orders by `nameOf`. */
type KeyOrders = { readonly orders: Set<string>; readonly unconfirmed: Set<string>; readonly shelves: Set<Shelf> };

/**
 * The orders of the book, found by key and uuid, by pair and by shelf. Keeps the indexes and limits, knows no other rule. A uuid alone names
 * no order: everybody hears it, of a taker's request before it is an order, and could be the first to use it.
 */
export class OrderStore {
  readonly #limits: BookLimits;
  readonly #freeRoomOf: (pubkey: string) => number;
  readonly #orders = new Map<string, BookOrder>();
  readonly #pairs = new Map<string, PairOrders>();
  /** Longest silent first: a shelf that is heard of moves to the end. */
  readonly #shelves = new Map<string, Shelf>();
  readonly #keys = new Map<string, KeyOrders>();
  readonly #ordersByKey: Holdings;
  readonly #shelvesByKey: Holdings;

  /** @param hasHistory whether this node has traded well with a key */
  constructor(limits: BookLimits, hasHistory: (pubkey: string) => boolean) {
    this.#limits = limits;
    this.#freeRoomOf = (pubkey) => (hasHistory(pubkey) ? KNOWN_KEY_ROOM : 0);
    this.#ordersByKey = new Holdings(this.#freeRoomOf);
    this.#shelvesByKey = new Holdings(this.#freeRoomOf);
  }

  get size(): number {
    return this.#orders.size;
  }

  get(pubkey: string, uuid: string): BookOrder | undefined {
    return this.#orders.get(nameOf(pubkey, uuid));
  }

  inPair(pair: string): Iterable<BookOrder> {
    return this.#pairs.get(pair)?.orders.values() ?? [];
  }

  pairs(): Iterable<string> {
    return this.#pairs.keys();
  }

  knowsKey(pubkey: string): boolean {
    return this.#keys.has(pubkey);
  }

  shelf(pubkey: string, pair: string): Shelf | undefined {
    return this.#shelves.get(shelfName(pubkey, pair));
  }

  /** The shelf, made if need be; undefined when there is no room for another. Where all are taken, the key with most gives one up for what is `signed`. */
  openShelf(pubkey: string, pair: string, signed: boolean, nowMs: number): Shelf | undefined {
    const found = this.shelf(pubkey, pair);
    if (found) return found;
    if (this.#shelves.size >= this.#limits.shelves) {
      const most = signed ? this.#shelvesByKey.mostBeside(pubkey) : undefined;
      const spare = most === undefined ? undefined : lastOf(this.#keys.get(most)?.shelves ?? []);
      if (!spare) return undefined;
      this.dropShelf(spare);
    }
    const shelf: Shelf = {
      pubkey,
      pair,
      orders: new Map(),
      aliveAtMs: nowMs,
      announced: null,
      root: null,
      rootedMs: Number.NEGATIVE_INFINITY,
      lacks: null,
      askedMs: Number.NEGATIVE_INFINITY,
    };
    this.#shelves.set(shelfName(pubkey, pair), shelf);
    const key = this.#keys.get(pubkey) ?? { orders: new Set(), unconfirmed: new Set(), shelves: new Set() };
    key.shelves.add(shelf);
    this.#keys.set(pubkey, key);
    this.#shelvesByKey.add(pubkey);
    return shelf;
  }

  markAlive(shelf: Shelf, nowMs: number): void {
    shelf.aliveAtMs = nowMs;
    const name = shelfName(shelf.pubkey, shelf.pair);
    this.#shelves.delete(name);
    this.#shelves.set(name, shelf);
  }

  /** After the clock was set back: nobody has been heard of later than now. */
  clampTimes(nowMs: number): void {
    const [first] = this.#shelves.values();
    if (first === undefined || first.aliveAtMs <= nowMs) return;
    for (const shelf of this.#shelves.values()) shelf.aliveAtMs = Math.min(shelf.aliveAtMs, nowMs);
  }

  /** Shelves not heard of since `beforeMs`, longest silent first. Asked with every message, so the usual "none" is quick. */
  silentSince(beforeMs: number): readonly Shelf[] {
    const silent: Shelf[] = [];
    for (const shelf of this.#shelves.values()) {
      if (shelf.aliveAtMs > beforeMs) break;
      silent.push(shelf);
    }
    return silent;
  }

  dropShelf(shelf: Shelf): void {
    for (const uuid of [...shelf.orders.keys()]) this.remove(shelf.pubkey, uuid);
    this.#shelves.delete(shelfName(shelf.pubkey, shelf.pair));
    const key = this.#keys.get(shelf.pubkey);
    if (!key?.shelves.delete(shelf)) return;
    this.#shelvesByKey.take(shelf.pubkey);
    if (key.shelves.size === 0) this.#keys.delete(shelf.pubkey);
  }

  /**
   * Inserts or replaces by key and uuid. False when there is no room. Where the pair or the book is full, a confirmed order pushes out an
   * unconfirmed one, else the newest of the key with most there: keys cost nothing, but one must not keep all others off the book. Where the key has
   * as many as it may, an unconfirmed one of its own: what somebody made up under it must not keep its maker's off. That one goes beside
   * what makes room in a full pair.
   */
  put(order: BookOrder, nowMs: number): boolean {
    const { uuid, pubkey, base, rel } = order.item;
    const pair = pairOf(base, rel);
    const name = nameOf(pubkey, uuid);
    const known = this.#orders.get(name);
    if (known && known.item.base === base && known.item.rel === rel) {
      this.#replace(order, pair);
      return true;
    }
    this.#remove(name);
    const spare = this.#spareFor(pubkey, pair, order.confirmed);
    if (spare === undefined) {
      const full = this.shelf(pubkey, pair);
      if (full) full.lacks ??= "room";
      return false;
    }
    for (const other of spare) this.#remove(other);
    const shelf = this.openShelf(pubkey, pair, order.confirmed, nowMs);
    if (!shelf) return false;
    shelf.orders.set(uuid, order);
    shelf.root = null;
    this.#orders.set(name, order);
    const inPair = this.#pairs.get(pair) ?? { orders: new Map(), unconfirmed: new Set(), byKey: new Holdings(this.#freeRoomOf) };
    this.#pairs.set(pair, inPair);
    inPair.orders.set(name, order);
    inPair.byKey.add(pubkey);
    if (!order.confirmed) inPair.unconfirmed.add(name);
    const ofKey = this.#keys.get(pubkey);
    ofKey?.orders.add(name);
    if (!order.confirmed) ofKey?.unconfirmed.add(name);
    this.#ordersByKey.add(pubkey);
    return true;
  }

  remove(pubkey: string, uuid: string): boolean {
    return this.#remove(nameOf(pubkey, uuid));
  }

  #remove(name: string): boolean {
    const order = this.#orders.get(name);
    if (!order) return false;
    const { pubkey, uuid, base, rel } = order.item;
    const pair = pairOf(base, rel);
    this.#orders.delete(name);
    const inPair = this.#pairs.get(pair);
    inPair?.orders.delete(name);
    inPair?.unconfirmed.delete(name);
    inPair?.byKey.take(pubkey);
    if (inPair?.orders.size === 0) this.#pairs.delete(pair);
    const shelf = this.shelf(pubkey, pair);
    shelf?.orders.delete(uuid);
    if (shelf) shelf.root = null;
    const ofKey = this.#keys.get(pubkey);
    ofKey?.orders.delete(name);
    ofKey?.unconfirmed.delete(name);
    this.#ordersByKey.take(pubkey);
    return true;
  }

  /** Changes what is known about an order but not what it offers, so roots stay. */
  relabel({ pubkey, uuid }: OrderbookItem, labels: Pick<BookOrder, "confirmed" | "source">): void {
    const order = this.get(pubkey, uuid);
    if (!order) return;
    const { base, rel } = order.item;
    this.#replace({ ...order, ...labels }, pairOf(base, rel), false);
  }

  /** Puts an order in the place of one with the same key, uuid and pair. */
  #replace(order: BookOrder, pair: string, changesRoot = true): void {
    const { uuid, pubkey } = order.item;
    const name = nameOf(pubkey, uuid);
    this.#orders.set(name, order);
    const inPair = this.#pairs.get(pair);
    inPair?.orders.set(name, order);
    for (const unconfirmed of [inPair?.unconfirmed, this.#keys.get(pubkey)?.unconfirmed])
      if (order.confirmed) unconfirmed?.delete(name);
      else unconfirmed?.add(name);
    const shelf = this.shelf(pubkey, pair);
    shelf?.orders.set(uuid, order);
    if (shelf && changesRoot) shelf.root = null;
  }

  /** Root over the orders of a key in a pair as known here; eight zeros when the key was never seen in it. */
  root(pubkey: string, pair: string): Uint8Array {
    const shelf = this.shelf(pubkey, pair);
    if (!shelf) return NO_ROOT;
    shelf.root ??= trieRoot(Array.from(shelf.orders.values(), ({ item }) => trieLeaf(item)));
    return shelf.root;
  }

  /** Whether one more order that is confirmed would be kept. */
  hasRoom(pubkey: string, pair: string): boolean {
    return this.#spareFor(pubkey, pair, true) !== undefined;
  }

  /** Names of the orders that make room for one more, none where there is some; undefined: none can be made. */
  #spareFor(pubkey: string, pair: string, confirmed: boolean): readonly string[] | undefined {
    const isKeyFull = this.#ordersByKey.of(pubkey) >= this.#limits.ordersPerKey;
    const inPair = this.#pairs.get(pair);
    const isPairFull = (inPair?.orders.size ?? 0) >= this.#limits.ordersPerPair;
    if (!isKeyFull && !isPairFull && this.#orders.size < this.#limits.orders) return [];
    if (!confirmed) return undefined;
    const own = isKeyFull ? firstOf(this.#keys.get(pubkey)?.unconfirmed) : null;
    if (own === undefined) return undefined;
    if (own !== null && (!isPairFull || inPair?.orders.has(own))) return [own];
    const unconfirmed = firstOf(inPair?.unconfirmed);
    const spare = unconfirmed ?? (isPairFull && inPair ? this.#newestInPair(inPair, pair, pubkey) : this.#newestInBook(pubkey));
    if (spare === undefined) return undefined;
    return own === null ? [spare] : [own, spare];
  }

  /** Of what the key with most has in the pair, the newest order; undefined if with one more `newcomer` had as much as that key. */
  #newestInPair({ byKey }: PairOrders, pair: string, newcomer: string): string | undefined {
    const most = byKey.mostBeside(newcomer);
    const newest = most === undefined ? undefined : lastOf(this.shelf(most, pair)?.orders.keys() ?? []);
    return most === undefined || newest === undefined ? undefined : nameOf(most, newest);
  }

  /** The same of all pairs. */
  #newestInBook(newcomer: string): string | undefined {
    const most = this.#ordersByKey.mostBeside(newcomer);
    return most === undefined ? undefined : lastOf(this.#keys.get(most)?.orders ?? []);
  }
}

const shelfName = (pubkey: string, pair: string): string => `${pubkey} ${pair}`;
const nameOf = (pubkey: string, uuid: string): string => `${pubkey} ${uuid}`;

const firstOf = <T>(all: Iterable<T> = []): T | undefined => {
  const [first] = all;
  return first;
};
/** One key holds some thousands of anything at most. */
function lastOf<T>(all: Iterable<T>): T | undefined {
  let last: T | undefined;
  for (const one of all) last = one;
  return last;
}
