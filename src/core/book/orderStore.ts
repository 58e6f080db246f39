import { type BookOrder, trieLeaf } from "./bookOrder.ts";
import { pairOf } from "./bookPair.ts";
import { NO_ROOT, trieRoot } from "./trie.ts";

/** What the book holds at most. An order takes about 2.1 kB (`npm run bench -- book`), never more than 4.2, so the defaults bound it at 42 and 85 MB. */
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
};

type Pair = {
  readonly orders: Map<string, BookOrder>;
  /** How many of them are each key's. */
  readonly keys: Map<string, number>;
};

/** The orders of the book, found by uuid, by pair and by shelf. Keeps the indexes and limits, knows no other rule. */
export class OrderStore {
  readonly #limits: BookLimits;
  readonly #hasHistory: (pubkey: string) => boolean;
  readonly #orders = new Map<string, BookOrder>();
  readonly #pairs = new Map<string, Pair>();
  /** Longest silent first: a shelf that is heard of moves to the end. */
  readonly #shelves = new Map<string, Shelf>();
  readonly #keys = new Map<string, { shelves: number; orders: number }>();

  /** @param hasHistory whether this node has traded well with a key */
  constructor(limits: BookLimits, hasHistory: (pubkey: string) => boolean) {
    this.#limits = limits;
    this.#hasHistory = hasHistory;
  }

  get size(): number {
    return this.#orders.size;
  }

  get(uuid: string): BookOrder | undefined {
    return this.#orders.get(uuid);
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
      const spare = signed ? this.#spareShelf(pubkey) : undefined;
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
    };
    this.#shelves.set(shelfName(pubkey, pair), shelf);
    const key = this.#keys.get(pubkey) ?? { shelves: 0, orders: 0 };
    this.#keys.set(pubkey, { ...key, shelves: key.shelves + 1 });
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
    for (const uuid of [...shelf.orders.keys()]) this.remove(uuid);
    this.#shelves.delete(shelfName(shelf.pubkey, shelf.pair));
    const key = this.#keys.get(shelf.pubkey);
    if (key && key.shelves > 1) this.#keys.set(shelf.pubkey, { ...key, shelves: key.shelves - 1 });
    else this.#keys.delete(shelf.pubkey);
  }

  /**
   * Inserts or replaces by uuid. False when there is no room. Where the pair or the book is full, a confirmed order pushes out an
   * unconfirmed one, else the newest of the key with most there: keys cost nothing, but one must not keep all others off the book.
   */
  put(order: BookOrder, nowMs: number): boolean {
    const { uuid, pubkey, base, rel } = order.item;
    const pair = pairOf(base, rel);
    const known = this.#orders.get(uuid);
    if (known && known.item.pubkey === pubkey && known.item.base === base && known.item.rel === rel) {
      this.#replace(order, pair);
      return true;
    }
    this.remove(uuid);
    if (!this.#makeRoom(pubkey, pair, order.confirmed)) return false;
    const shelf = this.openShelf(pubkey, pair, order.confirmed, nowMs);
    if (!shelf) return false;
    shelf.orders.set(uuid, order);
    shelf.root = null;
    this.#orders.set(uuid, order);
    const inPair: Pair = this.#pairs.get(pair) ?? { orders: new Map(), keys: new Map() };
    inPair.orders.set(uuid, order);
    inPair.keys.set(pubkey, (inPair.keys.get(pubkey) ?? 0) + 1);
    this.#pairs.set(pair, inPair);
    const key = this.#keys.get(pubkey);
    if (key) key.orders++;
    return true;
  }

  remove(uuid: string): boolean {
    const order = this.#orders.get(uuid);
    if (!order) return false;
    const { pubkey, base, rel } = order.item;
    const pair = pairOf(base, rel);
    this.#orders.delete(uuid);
    this.#removeFromPair(uuid, pubkey, pair);
    const shelf = this.shelf(pubkey, pair);
    shelf?.orders.delete(uuid);
    if (shelf) shelf.root = null;
    const key = this.#keys.get(pubkey);
    if (key) key.orders--;
    return true;
  }

  #removeFromPair(uuid: string, pubkey: string, pair: string): void {
    const inPair = this.#pairs.get(pair);
    if (!inPair?.orders.delete(uuid)) return;
    const left = (inPair.keys.get(pubkey) ?? 0) - 1;
    if (left > 0) inPair.keys.set(pubkey, left);
    else inPair.keys.delete(pubkey);
    if (inPair.orders.size === 0) this.#pairs.delete(pair);
  }

  /** Changes what is known about an order but not what it offers, so roots stay. */
  relabel(uuid: string, labels: Pick<BookOrder, "confirmed" | "source">): void {
    const order = this.#orders.get(uuid);
    if (!order) return;
    const { base, rel } = order.item;
    this.#replace({ ...order, ...labels }, pairOf(base, rel), false);
  }

  /** Puts an order in the place of one with the same uuid, key and pair. */
  #replace(order: BookOrder, pair: string, changesRoot = true): void {
    const { uuid, pubkey } = order.item;
    this.#orders.set(uuid, order);
    this.#pairs.get(pair)?.orders.set(uuid, order);
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

  #makeRoom(pubkey: string, pair: string, confirmed: boolean): boolean {
    if ((this.#keys.get(pubkey)?.orders ?? 0) >= this.#limits.ordersPerKey) return false;
    const inPair = this.#pairs.get(pair);
    const isPairFull = (inPair?.orders.size ?? 0) >= this.#limits.ordersPerPair;
    if (!isPairFull && this.#orders.size < this.#limits.orders) return true;
    if (!confirmed) return false;
    const spare =
      firstUnconfirmed(inPair?.orders.values() ?? []) ?? (isPairFull ? this.#spareInPair(pubkey, pair) : this.#spareInBook(pubkey));
    return spare !== undefined && this.remove(spare.item.uuid);
  }

  #spareInPair(newcomer: string, pair: string): BookOrder | undefined {
    const { keys } = this.#pairs.get(pair) ?? { keys: new Map<string, number>() };
    const most = this.#keyWithMost(keys.keys(), (key) => keys.get(key) ?? 0, newcomer);
    return most === undefined ? undefined : newestOf(this.shelf(most, pair));
  }

  #spareInBook(newcomer: string): BookOrder | undefined {
    const most = this.#keyWithMost(this.#keys.keys(), (key) => this.#keys.get(key)?.orders ?? 0, newcomer);
    let largest: Shelf | undefined;
    for (const shelf of this.#shelves.values())
      if (shelf.pubkey === most && shelf.orders.size > (largest?.orders.size ?? 0)) largest = shelf;
    return newestOf(largest);
  }

  /** Of the key with most shelves, the one heard of last. */
  #spareShelf(newcomer: string): Shelf | undefined {
    const most = this.#keyWithMost(this.#keys.keys(), (key) => this.#keys.get(key)?.shelves ?? 0, newcomer);
    let last: Shelf | undefined;
    for (const shelf of this.#shelves.values()) if (shelf.pubkey === most) last = shelf;
    return last;
  }

  /** The key that has most, of what counts; undefined if with one more `newcomer` had as much. */
  #keyWithMost(keys: Iterable<string>, heldBy: (pubkey: string) => number, newcomer: string): string | undefined {
    const counting = (pubkey: string, held: number): number => (this.#hasHistory(pubkey) ? Math.max(0, held - KNOWN_KEY_ROOM) : held);
    let most = counting(newcomer, heldBy(newcomer) + 1);
    let found: string | undefined;
    for (const key of keys) {
      const held = heldBy(key);
      if (held <= most) continue;
      const counts = counting(key, held);
      if (counts > most) [most, found] = [counts, key];
    }
    return found;
  }
}

const shelfName = (pubkey: string, pair: string): string => `${pubkey} ${pair}`;

function firstUnconfirmed(orders: Iterable<BookOrder>): BookOrder | undefined {
  for (const order of orders) if (!order.confirmed) return order;
  return undefined;
}

function newestOf(shelf: Shelf | undefined): BookOrder | undefined {
  let newest: BookOrder | undefined;
  for (const order of shelf?.orders.values() ?? []) newest = order;
  return newest;
}
