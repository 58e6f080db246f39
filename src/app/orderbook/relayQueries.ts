import type { BookOrder } from "../../core/book/bookOrder.ts";
import { isBookTicker, otherCoin } from "../../core/book/bookPair.ts";
import type { Depth } from "../../core/book/depths.ts";
import type { OrderbookState } from "../../core/book/orderbookState.ts";
import { type BestOrdersLimit, selectBest } from "../../core/book/selection.ts";
import { type BestOrdersAnswer, parseBestOrdersAnswer, parseDepthAnswer } from "../../core/message/orderbookAnswer.ts";
import { type BestOrdersAction, encodeP2pRequest } from "../../core/message/requestMessage.ts";
import { Aborted, type Clock } from "../../ports/clock.ts";
import type { PeerId } from "../../ports/network.ts";
import { type AskingDeps, askAnyRelay, type Told } from "./askAnyRelay.ts";
import type { BookEntry } from "./orderbookService.ts";
import type { OwnBook } from "./ownBook.ts";

/** Orders of one reply at most, all coins together: what a relay of ours tells at most. */
const MAX_BEST_ORDERS = 1000;

/** By the ticker of the other coin. */
export type BestOrders = ReadonlyMap<string, readonly BookEntry[]>;

type Deps = AskingDeps & {
  readonly clock: Clock;
  readonly book: OrderbookState;
  readonly own: OwnBook;
  /** `pubkey`: 66 hex. */
  readonly isBanned: (pubkey: string) => boolean;
};

/** Questions about pairs whose book this node does not keep (reference p2p-wire.md 5.2). A relay keeps all and asks nobody. */
export class RelayQueries {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** See `OrderbookService.bestOrders`. */
  async bestOrders(coin: string, action: BestOrdersAction, limit: BestOrdersLimit, signal: AbortSignal): Promise<BestOrders | null> {
    const { p2p, own } = this.#deps;
    // No book has such a coin, and a relay would hold the question against us.
    if (!isBookTicker(coin)) return null;
    const others = p2p.isRelay ? this.#kept(coin) : await this.#askBest(coin, action, limit, signal);
    if (others === null) return null;
    const entries = new Map<string, Map<string, BookEntry>>();
    const add = (order: BookOrder, isMine: boolean): void => {
      const { base, rel, uuid, pubkey } = order.item;
      const other = action === "buy" ? rel : base;
      if ((action === "buy" ? base : rel) !== coin || other === coin) return;
      const ofPair = entries.get(other) ?? new Map<string, BookEntry>();
      const name = `${pubkey} ${uuid}`;
      if (!ofPair.has(name)) entries.set(other, ofPair.set(name, { ...order, isMine }));
    };
    for (const order of own.all()) add(order, true);
    for (const order of others) if (!this.#deps.isBanned(order.item.pubkey)) add(order, false);
    return cutToLimit(entries, action, limit);
  }

  /** By `base:rel`, as a relay tells it: pairs it left out are missing, and others may be there. */
  async depths(pairs: readonly (readonly [base: string, rel: string])[], signal: AbortSignal): Promise<ReadonlyMap<string, Depth>> {
    const depths = new Map<string, Depth>();
    if (pairs.length === 0) return depths;
    const told = await this.#ask("depths", encodeP2pRequest({ type: "OrderbookDepth", pairs }), parseDepthAnswer, signal);
    for (const { base, rel, asks, bids } of told?.answer ?? []) depths.set(`${base}:${rel}`, { asks, bids });
    return depths;
  }

  #kept(coin: string): readonly BookOrder[] {
    const orders: BookOrder[] = [];
    for (const pair of this.#deps.book.pairs()) if (otherCoin(pair, coin) !== undefined) orders.push(...this.#deps.book.inPair(pair));
    return orders;
  }

  async #askBest(
    coin: string,
    action: BestOrdersAction,
    limit: BestOrdersLimit,
    signal: AbortSignal,
  ): Promise<readonly BookOrder[] | null> {
    const request = encodeP2pRequest(
      "count" in limit
        ? { type: "BestOrdersByNumber", coin, action, number: limit.count }
        : { type: "BestOrders", coin, action, volume: limit.volume },
    );
    const told = await this.#ask("best orders", request, parseBestOrdersAnswer, signal);
    return told && this.#believable(told);
  }

  /** What the book would make of it. Under which coin the relay lists an order says nothing: the order itself does. */
  #believable({ peer, answer }: Told<BestOrdersAnswer>): readonly BookOrder[] {
    const { book, clock } = this.#deps;
    const nowMs = clock.nowMs();
    const orders: BookOrder[] = [];
    for (const items of answer.orders.values()) {
      for (const item of items) {
        const order = book.asTold(item, answer, peer, nowMs);
        if (order) orders.push(order);
      }
    }
    return orders;
  }

  /** Null also when the question was broken off. */
  async #ask<T>(
    about: string,
    request: Uint8Array,
    parse: Parameters<typeof askAnyRelay<T>>[2],
    signal: AbortSignal,
  ): Promise<{ readonly peer: PeerId; readonly answer: T } | null> {
    try {
      return await askAnyRelay(this.#deps, request, parse, { about, signal });
    } catch (cause) {
      if (cause instanceof Aborted) return null;
      throw cause;
    }
  }
}

function cutToLimit(
  entries: ReadonlyMap<string, ReadonlyMap<string, BookEntry>>,
  action: BestOrdersAction,
  limit: BestOrdersLimit,
): BestOrders {
  const best = new Map<string, readonly BookEntry[]>();
  let left = MAX_BEST_ORDERS;
  for (const [other, ofPair] of entries) {
    const chosen = selectBest([...ofPair.values()], action, limit).slice(0, left);
    if (chosen.length === 0) continue;
    best.set(other, chosen);
    left -= chosen.length;
  }
  return best;
}
