import type { OrderbookAnswer, OrderExtras, PairDiff, SyncAnswer } from "../message/orderbookAnswer.ts";
import type { OrderbookItem } from "../message/types.ts";
import { equalBytes } from "../util/bytes.ts";
import type { AnnouncedRoot } from "./bookChange.ts";
import { type BookOrder, hasShortNumbers, offersSomething, sameItem, trieLeaf } from "./bookOrder.ts";
import { isPair, pairOf } from "./bookPair.ts";
import type { CancelMemory } from "./cancelMemory.ts";
import type { BookLimits, OrderStore, Shelf } from "./orderStore.ts";
import { trieRoot } from "./trie.ts";

/** Orders taken from one GetOrderbook answer: what KDF answers at most. */
const MAX_ANSWER_ORDERS = 1000;

/** Whose word counts for what. */
export type AnswerRules = {
  /** Keys whose orders this node keeps itself: nothing from outside changes them. 66 hex. */
  readonly isOwnKey: (pubkey: string) => boolean;
  /** Pairs (`pairOf`) this node keeps a book of: all on a relay, else those subscribed to. */
  readonly follows: (pair: string) => boolean;
  /** Relays whose word counts for nothing: they confirm no order. */
  readonly isDoubted?: (source: string) => boolean;
  /** What a relay told of so many keys without a signature was refuted by one, or nobody has ever signed anything of the kind. */
  readonly onRefuted?: (source: string, keys: number) => void;
};

/**
 * What relays tell of the orders of others without their signatures. What no maker's signature covers is kept as unconfirmed until
 * another relay tells alike; what a maker has said since stands. `source` is the peer that gave an answer.
 */
export class UnsignedAnswers {
  readonly #rules: AnswerRules;
  readonly #limits: BookLimits;
  readonly #store: OrderStore;
  readonly #cancelled: CancelMemory;

  constructor(rules: AnswerRules, limits: BookLimits, store: OrderStore, cancelled: CancelMemory) {
    this.#rules = rules;
    this.#limits = limits;
    this.#store = store;
    this.#cancelled = cancelled;
  }

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
      if (shelf?.announced && equalBytes(shelf.announced.root, this.#store.root(pubkey, pair))) this.confirm(shelf);
    }
  }

  /**
   * Takes the answer to a sync request for `pubkey` and the roots it had announced; other pairs are left aside.
   *
   * @returns whether every pair asked about now has the announced root
   */
  syncAnswer(pubkey: string, asked: readonly AnnouncedRoot[], answer: SyncAnswer, source: string, nowMs: number): boolean {
    if (this.#rules.isOwnKey(pubkey)) return true;
    for (const announced of asked) {
      const { pair } = announced;
      const diff = answer.pairs.get(pair);
      if (!diff || !this.#rules.follows(pair)) continue;
      const items = itemsAfter(this.#store.shelf(pubkey, pair), diff);
      const isTooMany = items.length > this.#limits.ordersPerKey;
      // Anybody could say so of a key: only what its maker has signed keeps others from being asked for ten minutes.
      if (isTooMany && !isOf(announced.root, items)) continue;
      const shelf = items.length > 0 ? this.#store.openShelf(pubkey, pair, true, nowMs) : this.#store.shelf(pubkey, pair);
      if (!shelf) continue;
      if (isTooMany) {
        shelf.lacks = "too_many";
        continue;
      }
      announce(shelf, announced);
      this.#replaceShelf(shelf, items, answer, source, nowMs);
    }
    return asked.every(({ pair, root }) => !this.#rules.follows(pair) || equalBytes(this.#store.root(pubkey, pair), root));
  }

  /**
   * One order of an unsigned answer as a book that kept its pair would show it, null where it would show none. What the maker
   * has signed since stands. Keeps nothing.
   */
  asTold(item: OrderbookItem, extras: OrderExtras, source: string, nowMs: number): BookOrder | null {
    const { uuid, pubkey, base, rel } = item;
    if (this.#rules.isOwnKey(pubkey) || !isPair(base, rel)) return null;
    if (!offersSomething(item) || !hasShortNumbers(item) || this.#cancelled.has(pubkey, uuid, nowMs)) return null;
    const known = this.#store.get(pubkey, uuid);
    if (known?.confirmed) return known;
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

  /** The maker has signed that it has no orders of this pair. */
  clear(shelf: Shelf, nowMs: number): void {
    this.#replaceShelf(shelf, [], NO_EXTRAS, "", nowMs);
  }

  /** The maker's signed root covers all orders of the shelf. */
  confirm(shelf: Shelf): void {
    shelf.lacks = null;
    for (const { item, confirmed, source } of [...shelf.orders.values()]) {
      if (!confirmed) this.#store.relabel(item, { confirmed: true, source });
    }
  }

  /**
   * Makes a shelf hold `items`. If they hash to the root the maker has signed, they are the maker's word. If not, the
   * first contradiction of something signed only casts doubt on it, the second one wins: one relay alone can hide an
   * order but not pass off another as confirmed. What the maker said after that root stands either way.
   */
  #replaceShelf(shelf: Shelf, items: readonly OrderbookItem[], extras: OrderExtras, source: string, nowMs: number): void {
    const { announced } = shelf;
    const authentic = announced !== null && isOf(announced.root, items);
    const isNewer = (order: BookOrder): boolean => announced !== null && order.signedAt >= announced.timestamp;
    const told = new Set(items.map((item) => item.uuid));
    if (authentic) this.#blame(shelf, items, isNewer);
    for (const order of [...shelf.orders.values()]) {
      if (told.has(order.item.uuid) || isNewer(order)) continue;
      if (order.confirmed && !authentic) this.#store.relabel(order.item, { confirmed: false, source });
      else this.#store.remove(shelf.pubkey, order.item.uuid);
    }
    for (const item of items) {
      const known = shelf.orders.get(item.uuid);
      if (item.pubkey !== shelf.pubkey || pairOf(item.base, item.rel) !== shelf.pair || (known && isNewer(known))) continue;
      if (known?.confirmed && !authentic && !sameItem(known.item, item)) {
        this.#store.relabel(item, { confirmed: false, source });
      } else {
        this.#hearsay(item, extras, source, nowMs, authentic);
      }
    }
  }

  /** Takes one order from an unsigned answer. `authentic`: a root the maker signed covers it. */
  #hearsay(item: OrderbookItem, extras: OrderExtras, source: string, nowMs: number, authentic: boolean): void {
    const { uuid, pubkey } = item;
    if (this.#rules.isOwnKey(pubkey) || !this.#isBookPair(item)) return;
    if (!offersSomething(item) || !hasShortNumbers(item) || this.#cancelled.has(pubkey, uuid, nowMs)) return;
    const known = this.#store.get(pubkey, uuid);
    if (known && sameItem(known.item, item)) {
      if (known.confirmed) return;
      const second = known.source !== null && known.source !== source && !this.#isDoubted(source);
      if (!authentic && second && this.#isDoubted(known.source)) this.#store.relabel(item, { confirmed: false, source });
      else if (authentic || second) this.#store.relabel(item, { confirmed: true, source: known.source });
      return;
    }
    if (known?.confirmed && !authentic) return;
    const info = extras.protocolInfos.get(uuid);
    this.#store.put(
      {
        item,
        conf: extras.confs.get(uuid) ?? known?.conf ?? null,
        baseProtocolInfo: info?.base ?? new Uint8Array(),
        relProtocolInfo: info?.rel ?? new Uint8Array(),
        confirmed: authentic,
        source,
        signedAt: known?.signedAt ?? 0,
      },
      nowMs,
    );
  }

  #isBookPair({ base, rel }: OrderbookItem): boolean {
    return isPair(base, rel) && this.#rules.follows(pairOf(base, rel));
  }

  #isDoubted(source: string | null): boolean {
    return source !== null && this.#rules.isDoubted?.(source) === true;
  }

  /** `items` are what the maker signed: whoever has told otherwise, as long as the maker said nothing newer, was wrong. */
  #blame(shelf: Shelf, items: readonly OrderbookItem[], isNewer: (order: BookOrder) => boolean): void {
    const signed = new Map(items.map((item) => [item.uuid, item]));
    const wrong = new Set<string>();
    for (const order of shelf.orders.values()) {
      const item = signed.get(order.item.uuid);
      if (!order.confirmed && order.source && !isNewer(order) && !(item && sameItem(item, order.item))) wrong.add(order.source);
    }
    for (const source of wrong) this.#rules.onRefuted?.(source, 1);
  }
}

/** Relays that told of orders under a key that nobody has heard sign anything while they were kept. */
export function unheardOf(shelf: Shelf): ReadonlySet<string> {
  const sources = new Set<string>();
  if (shelf.announced !== null) return sources;
  for (const { confirmed, source, signedAt } of shelf.orders.values()) if (!confirmed && source && signedAt === 0) sources.add(source);
  return sources;
}

const NO_EXTRAS: OrderExtras = { protocolInfos: new Map(), confs: new Map() };

/** Whether a root is that of all these orders. */
const isOf = (root: Uint8Array, items: readonly OrderbookItem[]): boolean => equalBytes(root, trieRoot(items.map(trieLeaf)));

/** Keeps the newest root; messages may overtake each other. */
export function announce(shelf: Shelf, { root, timestamp }: AnnouncedRoot): void {
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
