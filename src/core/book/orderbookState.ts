import type { OrderbookAnswer, OrderExtras, PairDiff, SyncAnswer } from "../message/orderbookAnswer.ts";
import type { MakerOrderCancelled, MakerOrderCreated, MakerOrderUpdated, OrderbookItem, PubkeyKeepAlive } from "../message/types.ts";
import { equalBytes } from "../util/bytes.ts";
import { type AnnouncedRoot, type BookChange, type BookRefusal, type KeepAliveOutcome, refused } from "./bookChange.ts";
import { type BookOrder, hasShortNumbers, offersSomething, sameItem, trieLeaf } from "./bookOrder.ts";
import { isBookTicker, pairOf } from "./bookPair.ts";
import { CancelMemory } from "./cancelMemory.ts";
import { type BookLimits, DEFAULT_BOOK_LIMITS, OrderStore, type Shelf } from "./orderStore.ts";
import { EMPTY_ROOT, saysNoOrders, trieRoot } from "./trie.ts";

/** Silence after which the orders of a key in a pair are dropped (KDF `maker_order_timeout`). */
const DEFAULT_ORDER_TIMEOUT_MS = 90_000;
/**
 * How far the time inside a maker's message may be from ours. KDF does not look; without a bound a relay could replay
 * an old keep-alive or bring back an order that was cancelled. Twice this is not longer than the cancel memory.
 */
const MAX_MESSAGE_AGE_SEC = 60;
/**
 * The root of a shelf that has changed is worked out for keep-alives at most this often: two thousand orders take a tenth
 * of a second, and their owner could change one of them each time. Keep-alives come every 30 s.
 */
const ROOT_REST_MS = 10_000;
/** Orders taken from one GetOrderbook answer: what KDF answers at most. */
const MAX_ANSWER_ORDERS = 1000;

export type BookOptions = {
  /** Keys whose orders this node keeps itself: nothing from outside changes them. 66 hex. */
  readonly isOwnKey: (pubkey: string) => boolean;
  /** Pairs (`pairOf`) this node keeps a book of: all on a relay, else those subscribed to. */
  readonly follows: (pair: string) => boolean;
  readonly timeoutMs?: number;
  readonly limits?: BookLimits;
  /** Relays whose word counts for nothing: they confirm no order. */
  readonly isDoubted?: (source: string) => boolean;
  /** What a relay told of so many keys without a signature was refuted by one, or nobody has ever signed anything of the kind. */
  readonly onRefuted?: (source: string, keys: number) => void;
};

/**
 * The orders of other nodes, by the rules of reference p2p-wire.md section 9 ("Orderbook upkeep") and three of ours:
 * a uuid belongs to the key that used it first; what no maker's signature covers is kept as unconfirmed; a key stays
 * alive per pair. Deterministic: time comes in with each call, unix milliseconds.
 */
export class OrderbookState {
  readonly #options: BookOptions;
  readonly #timeoutMs: number;
  readonly #limits: BookLimits;
  readonly #store: OrderStore;
  readonly #cancelled = new CancelMemory();

  constructor(options: BookOptions) {
    this.#options = options;
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_ORDER_TIMEOUT_MS;
    this.#limits = options.limits ?? DEFAULT_BOOK_LIMITS;
    this.#store = new OrderStore(this.#limits);
  }

  /** Orders held, of all keys and pairs. */
  get size(): number {
    return this.#store.size;
  }

  // --- signed messages; `pubkey` is the envelope's key, verified, 66 hex ---

  created(pubkey: string, m: MakerOrderCreated, nowMs: number): BookChange {
    const pair = pairOf(m.base, m.rel);
    const reason = this.#refusal(pubkey, m.timestamp, nowMs) ?? this.#pairRefusal(m.base, m.rel, pair);
    if (reason) return refused(reason);
    const known = this.#store.get(m.uuid);
    if (known?.confirmed && known.item.pubkey !== pubkey) return refused("foreign_uuid");
    if (known && known.item.pubkey === pubkey && known.signedAt > m.timestamp) return refused("superseded");
    if (this.#cancelled.has(pubkey, m.uuid, nowMs)) return refused("recently_cancelled");
    const { uuid, base, rel, price, maxVolume, minVolume, createdAt } = m;
    const item: OrderbookItem = { pubkey, base, rel, price, maxVolume, minVolume, uuid, createdAt };
    const { conf, baseProtocolInfo, relProtocolInfo } = m;
    return this.#put({ item, conf, baseProtocolInfo, relProtocolInfo, confirmed: true, source: null, signedAt: m.timestamp }, nowMs);
  }

  updated(pubkey: string, m: MakerOrderUpdated, nowMs: number): BookChange {
    const reason = this.#refusal(pubkey, m.timestamp, nowMs);
    if (reason) return refused(reason);
    const known = this.#store.get(m.uuid);
    if (known?.item.pubkey !== pubkey) return refused("unknown_order");
    if (known.signedAt > m.timestamp) return refused("superseded");
    const item: OrderbookItem = {
      ...known.item,
      price: m.newPrice ?? known.item.price,
      maxVolume: m.newMaxVolume ?? known.item.maxVolume,
      minVolume: m.newMinVolume ?? known.item.minVolume,
    };
    return this.#put({ ...known, item, signedAt: m.timestamp }, nowMs);
  }

  /** Also remembers the cancellation of an order that is not known here. */
  cancelled(pubkey: string, m: MakerOrderCancelled, nowMs: number): BookChange {
    const reason = this.#refusal(pubkey, m.timestamp, nowMs);
    if (reason) return refused(reason);
    const known = this.#store.get(m.uuid);
    if (known?.item.pubkey === pubkey && known.signedAt > m.timestamp) return refused("superseded");
    this.#cancelled.add(pubkey, m.uuid, nowMs);
    if (known && known.item.pubkey !== pubkey) return refused("foreign_uuid");
    this.#store.remove(m.uuid);
    return { kind: "removed" };
  }

  keepAlive(pubkey: string, m: PubkeyKeepAlive, nowMs: number): KeepAliveOutcome {
    const reason = this.#refusal(pubkey, m.timestamp, nowMs);
    if (reason) return { kind: "refused", reason };
    const { timestamp } = m;
    const differing: AnnouncedRoot[] = [];
    for (const [pair, root] of m.trieRoots) {
      if (!this.#options.follows(pair)) continue;
      const said = this.#store.shelf(pubkey, pair)?.announced?.timestamp ?? 0;
      // Said before, or overtaken: whoever says it again must not keep a silent maker's orders alive.
      if (timestamp <= said) continue;
      // A shelf is made only with its first order: a made-up root costs us nothing to keep.
      const shelf = this.#store.shelf(pubkey, pair);
      if (shelf) {
        this.#store.markAlive(shelf, nowMs);
        announce(shelf, { pair, root, timestamp });
      }
      if (saysNoOrders(root)) {
        if (shelf && equalBytes(root, EMPTY_ROOT)) this.#replaceShelf(shelf, [], NO_EXTRAS, "", nowMs);
      } else if (shelf && this.#isRooting(shelf, nowMs)) continue;
      else if (!equalBytes(root, this.#store.root(pubkey, pair))) differing.push({ pair, root, timestamp });
      else if (shelf) this.#confirmShelf(shelf);
    }
    return { kind: "alive", differing };
  }

  // --- unsigned answers; `source` is the peer that gave them ---

  /**
   * Takes a GetOrderbook answer: adds what is missing and confirms what another relay has told alike. Removes nothing
   * and changes nothing that a maker has signed, since messages may have overtaken the answer.
   */
  orderbookAnswer(answer: OrderbookAnswer, pair: string, source: string, nowMs: number): void {
    let taken = 0;
    for (const [pubkey, { orders }] of answer.pubkeys) {
      for (const item of orders) {
        if (taken++ >= MAX_ANSWER_ORDERS) return;
        if (item.pubkey === pubkey && pairOf(item.base, item.rel) === pair) this.#hearsay(item, answer, source, nowMs, false);
      }
      const shelf = this.#store.shelf(pubkey, pair);
      if (shelf?.announced && equalBytes(shelf.announced.root, this.#store.root(pubkey, pair))) this.#confirmShelf(shelf);
    }
  }

  /**
   * Takes the answer to a sync request for `pubkey` and the roots it had announced; other pairs are left aside.
   *
   * @returns whether every pair asked about now has the announced root
   */
  syncAnswer(pubkey: string, asked: readonly AnnouncedRoot[], answer: SyncAnswer, source: string, nowMs: number): boolean {
    if (this.#options.isOwnKey(pubkey)) return true;
    for (const announced of asked) {
      const { pair } = announced;
      const diff = answer.pairs.get(pair);
      if (!diff || !this.#options.follows(pair)) continue;
      const items = itemsAfter(this.#store.shelf(pubkey, pair), diff);
      if (items.length > this.#limits.ordersPerKey) continue;
      const shelf = items.length > 0 ? this.#store.openShelf(pubkey, pair, nowMs) : this.#store.shelf(pubkey, pair);
      if (!shelf) continue;
      announce(shelf, announced);
      this.#replaceShelf(shelf, items, answer, source, nowMs);
    }
    return asked.every(({ pair, root }) => !this.#options.follows(pair) || equalBytes(this.#store.root(pubkey, pair), root));
  }

  /** Drops the orders of keys that have been silent too long. True if any order went. */
  prune(nowMs: number): boolean {
    const before = this.#store.size;
    this.#store.clampTimes(nowMs);
    const invented = new Map<string, number>();
    for (const shelf of this.#store.silentSince(nowMs - this.#timeoutMs)) {
      for (const source of unheardOf(shelf)) invented.set(source, (invented.get(source) ?? 0) + 1);
      this.#store.dropShelf(shelf);
    }
    for (const [source, keys] of invented) this.#options.onRefuted?.(source, keys);
    return this.#store.size !== before;
  }

  // --- reading ---

  order(uuid: string): BookOrder | undefined {
    return this.#store.get(uuid);
  }

  inPair(pair: string): Iterable<BookOrder> {
    return this.#store.inPair(pair);
  }

  /**
   * One order of an unsigned answer as a book that kept its pair would show it, null where it would show none. What the maker
   * has signed since stands. Keeps nothing.
   */
  asTold(item: OrderbookItem, extras: OrderExtras, source: string, nowMs: number): BookOrder | null {
    const { uuid, pubkey, base, rel } = item;
    if (this.#options.isOwnKey(pubkey) || !isBookTicker(base) || !isBookTicker(rel) || base === rel) return null;
    if (!offersSomething(item) || !hasShortNumbers(item) || this.#cancelled.has(pubkey, uuid, nowMs)) return null;
    const known = this.#store.get(uuid);
    if (known?.confirmed) return known.item.pubkey === pubkey ? known : null;
    const info = extras.protocolInfos.get(uuid);
    return {
      item,
      conf: extras.confs.get(uuid) ?? null,
      baseProtocolInfo: info?.base ?? new Uint8Array(),
      relProtocolInfo: info?.rel ?? new Uint8Array(),
      confirmed: false,
      source,
      signedAt: 0,
    };
  }

  /** Pairs that hold at least one order. */
  pairs(): Iterable<string> {
    return this.#store.pairs();
  }

  knowsKey(pubkey: string): boolean {
    return this.#store.knowsKey(pubkey);
  }

  shelf(pubkey: string, pair: string): Readonly<Shelf> | undefined {
    return this.#store.shelf(pubkey, pair);
  }

  root(pubkey: string, pair: string): Uint8Array {
    return this.#store.root(pubkey, pair);
  }

  // --- rules ---

  #refusal(pubkey: string, timestampSec: number, nowMs: number): BookRefusal | null {
    if (this.#options.isOwnKey(pubkey)) return "own_key";
    return Math.abs(timestampSec - nowMs / 1000) > MAX_MESSAGE_AGE_SEC ? "stale" : null;
  }

  #pairRefusal(base: string, rel: string, pair: string): BookRefusal | null {
    if (!isBookTicker(base) || !isBookTicker(rel) || base === rel) return "bad_ticker";
    return this.#options.follows(pair) ? null : "not_followed";
  }

  #put(order: BookOrder, nowMs: number): BookChange {
    if (!offersSomething(order.item)) {
      this.#store.remove(order.item.uuid);
      return { kind: "removed" };
    }
    if (!hasShortNumbers(order.item)) {
      // An order that became one we cannot keep must not stand as it was.
      this.#store.remove(order.item.uuid);
      return refused("long_numbers");
    }
    return this.#store.put(order, nowMs) ? { kind: "stored" } : refused("full");
  }

  /**
   * Makes a shelf hold `items`. If they hash to the root the maker has signed, they are the maker's word. If not, the
   * first contradiction of something signed only casts doubt on it, the second one wins: one relay alone can hide an
   * order but not pass off another as confirmed. What the maker said after that root stands either way.
   */
  #replaceShelf(shelf: Shelf, items: readonly OrderbookItem[], extras: OrderExtras, source: string, nowMs: number): void {
    const { announced } = shelf;
    const authentic = announced !== null && equalBytes(announced.root, trieRoot(items.map(trieLeaf)));
    const isNewer = (order: BookOrder): boolean => announced !== null && order.signedAt >= announced.timestamp;
    const told = new Set(items.map((item) => item.uuid));
    if (authentic) this.#blame(shelf, items, isNewer);
    for (const order of [...shelf.orders.values()]) {
      if (told.has(order.item.uuid) || isNewer(order)) continue;
      if (order.confirmed && !authentic) this.#store.relabel(order.item.uuid, { confirmed: false, source });
      else this.#store.remove(order.item.uuid);
    }
    for (const item of items) {
      const known = shelf.orders.get(item.uuid);
      if (item.pubkey !== shelf.pubkey || pairOf(item.base, item.rel) !== shelf.pair || (known && isNewer(known))) continue;
      if (known?.confirmed && !authentic && !sameItem(known.item, item)) {
        this.#store.relabel(item.uuid, { confirmed: false, source });
      } else {
        this.#hearsay(item, extras, source, nowMs, authentic);
      }
    }
  }

  /** Takes one order from an unsigned answer. `authentic`: a root the maker signed covers it. */
  #hearsay(item: OrderbookItem, extras: OrderExtras, source: string, nowMs: number, authentic: boolean): void {
    const { uuid, pubkey } = item;
    if (this.#options.isOwnKey(pubkey) || this.#pairRefusal(item.base, item.rel, pairOf(item.base, item.rel))) return;
    if (!offersSomething(item) || !hasShortNumbers(item) || this.#cancelled.has(pubkey, uuid, nowMs)) return;
    const known = this.#store.get(uuid);
    if (known && sameItem(known.item, item)) {
      if (known.confirmed) return;
      const second = known.source !== null && known.source !== source && !this.#isDoubted(source);
      if (!authentic && second && this.#isDoubted(known.source)) this.#store.relabel(uuid, { confirmed: false, source });
      else if (authentic || second) this.#store.relabel(uuid, { confirmed: true, source: known.source });
      return;
    }
    if (known?.confirmed && (known.item.pubkey !== pubkey || !authentic)) return;
    const info = extras.protocolInfos.get(uuid);
    this.#store.put(
      {
        item,
        conf: extras.confs.get(uuid) ?? known?.conf ?? null,
        baseProtocolInfo: info?.base ?? new Uint8Array(),
        relProtocolInfo: info?.rel ?? new Uint8Array(),
        confirmed: authentic,
        source,
        signedAt: known?.item.pubkey === pubkey ? known.signedAt : 0,
      },
      nowMs,
    );
  }

  #isDoubted(source: string | null): boolean {
    return source !== null && this.#options.isDoubted?.(source) === true;
  }

  /** `items` are what the maker signed: whoever has told otherwise, as long as the maker said nothing newer, was wrong. */
  #blame(shelf: Shelf, items: readonly OrderbookItem[], isNewer: (order: BookOrder) => boolean): void {
    const signed = new Map(items.map((item) => [item.uuid, item]));
    const wrong = new Set<string>();
    for (const order of shelf.orders.values()) {
      const item = signed.get(order.item.uuid);
      if (!order.confirmed && order.source && !isNewer(order) && !(item && sameItem(item, order.item))) wrong.add(order.source);
    }
    for (const source of wrong) this.#options.onRefuted?.(source, 1);
  }

  /** Whether the root of a changed shelf was worked out too recently to do it again; if not, it is about to be. */
  #isRooting(shelf: Shelf, nowMs: number): boolean {
    if (shelf.root !== null) return false;
    if (Math.abs(nowMs - shelf.rootedMs) < ROOT_REST_MS) return true;
    shelf.rootedMs = nowMs;
    return false;
  }

  /** The maker's signed root covers all orders of the shelf. */
  #confirmShelf(shelf: Shelf): void {
    for (const { item, confirmed, source } of [...shelf.orders.values()]) {
      if (!confirmed) this.#store.relabel(item.uuid, { confirmed: true, source });
    }
  }
}

/** Relays that told of orders under a key that nobody has heard sign anything while they were kept. */
function unheardOf(shelf: Shelf): ReadonlySet<string> {
  const sources = new Set<string>();
  if (shelf.announced !== null) return sources;
  for (const { confirmed, source, signedAt } of shelf.orders.values()) if (!confirmed && source && signedAt === 0) sources.add(source);
  return sources;
}

const NO_EXTRAS: OrderExtras = { protocolInfos: new Map(), confs: new Map() };

/** Keeps the newest root; messages may overtake each other. */
function announce(shelf: Shelf, { root, timestamp }: AnnouncedRoot): void {
  if (!shelf.announced || shelf.announced.timestamp <= timestamp) shelf.announced = { root, timestamp };
}

/** What a shelf holds when a diff is applied to it; each uuid once. */
function itemsAfter(shelf: Shelf | undefined, diff: PairDiff): readonly OrderbookItem[] {
  if (diff.type === "FullTrie") return [...new Map(diff.orders.map((item) => [item.uuid, item])).values()];
  const items = new Map(Array.from(shelf?.orders.values() ?? [], ({ item }) => [item.uuid, item]));
  for (const [uuid, item] of diff.changes) {
    if (item) items.set(uuid, item);
    else items.delete(uuid);
  }
  return [...items.values()];
}
