import type { OrderbookAnswer, OrderExtras, SyncAnswer } from "../message/orderbookAnswer.ts";
import type { MakerOrderCancelled, MakerOrderCreated, MakerOrderUpdated, OrderbookItem, PubkeyKeepAlive } from "../message/types.ts";
import { equalBytes } from "../util/bytes.ts";
import { type AnnouncedRoot, type BookChange, type BookRefusal, type KeepAliveOutcome, refused } from "./bookChange.ts";
import { type BookOrder, hasShortNumbers, offersSomething } from "./bookOrder.ts";
import { isPair, pairOf } from "./bookPair.ts";
import { CancelMemory } from "./cancelMemory.ts";
import { type BookLimits, DEFAULT_BOOK_LIMITS, OrderStore, type Shelf } from "./orderStore.ts";
import { EMPTY_ROOT, saysNoOrders } from "./trie.ts";
import { type AnswerRules, announce, UnsignedAnswers, unheardOf } from "./unsignedAnswers.ts";

/** Silence after which the orders of a key in a pair are dropped (KDF `maker_order_timeout`). */
const DEFAULT_ORDER_TIMEOUT_MS = 90_000;
/**
 * How far the time inside a maker's message may be from ours. KDF does not look; without a bound a relay could replay
 * an old keep-alive or bring back an order that was cancelled. Twice this is not longer than the cancel memory.
 */
const MAX_MESSAGE_AGE_SEC = 60;
export const isOutdated = (timestampSec: number, nowMs: number): boolean => Math.abs(timestampSec - nowMs / 1000) > MAX_MESSAGE_AGE_SEC;
/**
 * The root of a shelf that has changed is worked out for keep-alives at most this often: two thousand orders take a tenth
 * of a second, and their owner could change one of them each time. Keep-alives come every 30 s.
 */
const ROOT_REST_MS = 10_000;
/**
 * What a full book has no room for is asked for again after this long, though its owner announces it every 30 s: two thousand orders
 * are half a megabyte, of every relay and for every node that follows the pair.
 */
const FULL_REST_MS = 600_000;
/** Whoever prunes does so every 30 s: two calls further apart mean that the machine slept in between. */
const MOST_APART_MS = 45_000;

export type BookOptions = AnswerRules & {
  readonly timeoutMs?: number;
  readonly limits?: BookLimits;
  /** Whether this node has nobody to hear makers from. */
  readonly isDeaf?: () => boolean;
  /** Keys this node does not hear: that it has heard nothing signed of them refutes nobody who told of their orders. */
  readonly isBanned?: (pubkey: string) => boolean;
  /** Whether this node has traded well with a key: where the book is full, strangers make room for it. */
  readonly hasHistory?: (pubkey: string) => boolean;
};

/**
 * The orders of other nodes, by the rules of reference p2p-wire.md section 9 ("Orderbook upkeep") and three of ours:
 * a uuid is one order of each key that uses it; what no maker's signature covers is kept as unconfirmed; a key stays
 * alive per pair. Deterministic: time comes in with each call, unix milliseconds.
 */
export class OrderbookState {
  readonly #options: BookOptions;
  readonly #timeoutMs: number;
  readonly #store: OrderStore;
  readonly #cancelled = new CancelMemory();
  readonly #unsigned: UnsignedAnswers;
  /** When `prune` was called last, and since when this node has heard makers without a break, as far as that noticed; unix ms. */
  #prunedMs = Number.POSITIVE_INFINITY;
  #hearsSinceMs = Number.NEGATIVE_INFINITY;

  constructor(options: BookOptions) {
    this.#options = options;
    this.#timeoutMs = options.timeoutMs ?? DEFAULT_ORDER_TIMEOUT_MS;
    const limits = options.limits ?? DEFAULT_BOOK_LIMITS;
    this.#store = new OrderStore(limits, options.hasHistory ?? (() => false));
    this.#unsigned = new UnsignedAnswers(options, limits, this.#store, this.#cancelled);
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
    const known = this.#store.get(pubkey, m.uuid);
    if (known && known.signedAt > m.timestamp) return refused("superseded");
    if (this.#cancelled.has(pubkey, m.uuid, nowMs)) return refused("recently_cancelled");
    const { uuid, base, rel, price, maxVolume, minVolume, createdAt } = m;
    const item: OrderbookItem = { pubkey, base, rel, price, maxVolume, minVolume, uuid, createdAt };
    const { conf, baseProtocolInfo, relProtocolInfo } = m;
    return this.#put({ item, conf, baseProtocolInfo, relProtocolInfo, confirmed: true, source: null, signedAt: m.timestamp }, nowMs);
  }

  updated(pubkey: string, m: MakerOrderUpdated, nowMs: number): BookChange {
    const reason = this.#refusal(pubkey, m.timestamp, nowMs);
    if (reason) return refused(reason);
    const known = this.#store.get(pubkey, m.uuid);
    if (!known) return refused("unknown_order");
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
    const known = this.#store.get(pubkey, m.uuid);
    if (known && known.signedAt > m.timestamp) return refused("superseded");
    this.#cancelled.add(pubkey, m.uuid, nowMs);
    this.#store.remove(pubkey, m.uuid);
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
        if (shelf && equalBytes(root, EMPTY_ROOT)) this.#unsigned.clear(shelf, nowMs);
      } else if (shelf && this.#isRooting(shelf, nowMs)) continue;
      else if (equalBytes(root, this.#store.root(pubkey, pair))) {
        if (shelf) this.#unsigned.confirm(shelf);
      } else if (!shelf || !this.#asksInVain(shelf, nowMs)) differing.push({ pair, root, timestamp });
    }
    return { kind: "alive", differing };
  }

  // --- unsigned answers; `source` is the peer that gave them ---

  orderbookAnswer(answer: OrderbookAnswer, pair: string, source: string, nowMs: number): void {
    this.#unsigned.orderbookAnswer(answer, pair, source, nowMs);
  }

  /** @returns whether every pair asked about now has the announced root */
  syncAnswer(pubkey: string, asked: readonly AnnouncedRoot[], answer: SyncAnswer, source: string, nowMs: number): boolean {
    return this.#unsigned.syncAnswer(pubkey, asked, answer, source, nowMs);
  }

  /** Drops the orders of keys that have been silent too long. True if any order went. To be called every 30 s at least. */
  prune(nowMs: number): boolean {
    const before = this.#store.size;
    this.#store.clampTimes(nowMs);
    const wasDeaf = nowMs - this.#prunedMs > MOST_APART_MS || this.#options.isDeaf?.() === true;
    // A clock that was ahead and was set back since must not have it deaf until then.
    if (wasDeaf || this.#hearsSinceMs > nowMs) this.#hearsSinceMs = nowMs;
    this.#prunedMs = nowMs;
    const invented = new Map<string, number>();
    for (const shelf of this.#store.silentSince(nowMs - this.#timeoutMs)) {
      const isOurFault = shelf.aliveAtMs < this.#hearsSinceMs || this.#options.isBanned?.(shelf.pubkey);
      const sources = isOurFault ? [] : unheardOf(shelf);
      for (const source of sources) invented.set(source, (invented.get(source) ?? 0) + 1);
      this.#store.dropShelf(shelf);
    }
    for (const [source, keys] of invented) this.#options.onRefuted?.(source, keys);
    return this.#store.size !== before;
  }

  // --- reading ---

  order(pubkey: string, uuid: string): BookOrder | undefined {
    return this.#store.get(pubkey, uuid);
  }

  inPair(pair: string): Iterable<BookOrder> {
    return this.#store.inPair(pair);
  }

  /** One order of an unsigned answer as a book that kept its pair would show it, null where it would show none. Keeps nothing. */
  asTold(item: OrderbookItem, extras: OrderExtras, source: string, nowMs: number): BookOrder | null {
    return this.#unsigned.asTold(item, extras, source, nowMs);
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
    return isOutdated(timestampSec, nowMs) ? "stale" : null;
  }

  #pairRefusal(base: string, rel: string, pair: string): BookRefusal | null {
    if (!isPair(base, rel)) return "bad_ticker";
    return this.#options.follows(pair) ? null : "not_followed";
  }

  #put(order: BookOrder, nowMs: number): BookChange {
    if (!offersSomething(order.item)) {
      this.#store.remove(order.item.pubkey, order.item.uuid);
      return { kind: "removed" };
    }
    if (!hasShortNumbers(order.item)) {
      // An order that became one we cannot keep must not stand as it was.
      this.#store.remove(order.item.pubkey, order.item.uuid);
      return refused("long_numbers");
    }
    return this.#store.put(order, nowMs) ? { kind: "stored" } : refused("full");
  }

  /** Whether the book still cannot keep what the shelf lacks, and asked not long ago; if not, it is about to. */
  #asksInVain(shelf: Shelf, nowMs: number): boolean {
    const { pubkey, pair, lacks, askedMs } = shelf;
    if (lacks === null || (lacks === "room" && this.#store.hasRoom(pubkey, pair))) return false;
    if (Math.abs(nowMs - askedMs) < FULL_REST_MS) return true;
    shelf.askedMs = nowMs;
    return false;
  }

  /** Whether the root of a changed shelf was worked out too recently to do it again; if not, it is about to be. */
  #isRooting(shelf: Shelf, nowMs: number): boolean {
    if (shelf.root !== null) return false;
    if (Math.abs(nowMs - shelf.rootedMs) < ROOT_REST_MS) return true;
    shelf.rootedMs = nowMs;
    return false;
  }
}
