import { type BookOrder, trieLeaf } from "../../core/book/bookOrder.ts";
import { pairOf } from "../../core/book/bookPair.ts";
import { EMPTY_ROOT, NO_ROOT, type TrieEntry, trieRoot } from "../../core/book/trie.ts";
import { dropOldest } from "../../core/util/dropOldest.ts";
import type { OwnOrders, OwnOrderView } from "../orders/ownOrders.ts";

/** Pairs remembered after their last own order, to answer "no orders" instead of "never heard of". */
const MAX_PAST_PAIRS = 1000;

type OwnOrder = { readonly order: BookOrder; readonly leaf: () => TrieEntry };
/** `root`: null until it is asked for. */
type OwnPair = { readonly orders: BookOrder[]; readonly leaves: (() => TrieEntry)[]; root: Uint8Array | null };

/** Own announced orders in the book's terms, with their roots. Follows the source; computes only after a change. */
export class OwnBook {
  /** Compressed node key, 66 hex. */
  readonly pubkey: string;
  readonly #source: OwnOrders;
  readonly #unsubscribe: () => void;
  readonly #pastPairs = new Set<string>();
  #pairs: ReadonlyMap<string, OwnPair> | null = null;
  /** Hashing an order takes some 40 microseconds, there may be ten thousand, and each match changes one of them. */
  readonly #known = new WeakMap<OwnOrderView, OwnOrder>();

  constructor(source: OwnOrders, pubkey: string) {
    this.pubkey = pubkey;
    this.#source = source;
    this.#unsubscribe = source.onChange(() => {
      this.#pairs = null;
    });
  }

  close(): void {
    this.#unsubscribe();
  }

  has(uuid: string): boolean {
    return this.#source.orders().some((order) => order.uuid === uuid);
  }

  inPair(pair: string): readonly BookOrder[] {
    return this.#current().get(pair)?.orders ?? [];
  }

  all(): readonly BookOrder[] {
    return Array.from(this.#current().values(), ({ orders }) => orders).flat();
  }

  /** Pairs with open orders. */
  pairs(): Iterable<string> {
    return this.#current().keys();
  }

  /** Root of one pair; eight zeros if this node never had an order in it. */
  root(pair: string): Uint8Array {
    const own = this.#current().get(pair);
    if (own) return rootOf(own);
    return this.#pastPairs.has(pair) ? EMPTY_ROOT : NO_ROOT;
  }

  #current(): ReadonlyMap<string, OwnPair> {
    if (this.#pairs) return this.#pairs;
    const pairs = new Map<string, OwnPair>();
    for (const view of this.#source.orders()) {
      const pair = pairOf(view.base, view.rel);
      const own = pairs.get(pair) ?? { orders: [], leaves: [], root: null };
      const { order, leaf } = this.#known.get(view) ?? this.#read(view);
      own.orders.push(order);
      own.leaves.push(leaf);
      pairs.set(pair, own);
      this.#remember(pair);
    }
    this.#pairs = pairs;
    return pairs;
  }

  #read(view: OwnOrderView): OwnOrder {
    const order = viewToBookOrder(view, this.pubkey);
    let entry: TrieEntry | null = null;
    const leaf = (): TrieEntry => {
      entry ??= [...trieLeaf(order.item), { depth: -1, ref: NO_ROOT }];
      return entry;
    };
    const own = { order, leaf };
    this.#known.set(view, own);
    return own;
  }

  #remember(pair: string): void {
    this.#pastPairs.add(pair);
    dropOldest(this.#pastPairs, MAX_PAST_PAIRS);
  }
}

const rootOf = (own: OwnPair): Uint8Array => {
  own.root ??= trieRoot(own.leaves.map((leaf) => leaf()));
  return own.root;
};

function viewToBookOrder(view: OwnOrderView, pubkey: string): BookOrder {
  const { uuid, base, rel, price, maxVolume, minVolume, createdAt, conf, baseProtocolInfo, relProtocolInfo } = view;
  const item = { pubkey, base, rel, price, maxVolume, minVolume, uuid, createdAt };
  return { item, conf, baseProtocolInfo, relProtocolInfo, confirmed: true, source: null, signedAt: createdAt };
}
