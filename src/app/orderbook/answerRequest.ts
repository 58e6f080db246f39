import type { BookOrder } from "../../core/book/bookOrder.ts";
import { otherCoin, pairOf } from "../../core/book/bookPair.ts";
import { Depths } from "../../core/book/depths.ts";
import type { OrderbookState } from "../../core/book/orderbookState.ts";
import { DEFAULT_BOOK_LIMITS } from "../../core/book/orderStore.ts";
import { type BestOrdersLimit, ordersFrom, selectBest } from "../../core/book/selection.ts";
import { NO_ROOT } from "../../core/book/trie.ts";
import {
  encodeBestOrdersAnswer,
  encodeDepthAnswer,
  encodeOrderbookAnswer,
  encodeSyncAnswer,
  type OrderExtras,
  type PairDiff,
  type PubkeyOrders,
} from "../../core/message/orderbookAnswer.ts";
import { type BestOrdersAction, type P2pRequest, parseP2pRequest } from "../../core/message/requestMessage.ts";
import type { OrderbookItem } from "../../core/message/types.ts";
import { equalBytes } from "../../core/util/bytes.ts";
import { assertNever } from "../../core/util/result.ts";
import type { PeerAnswer } from "../../ports/network.ts";
import type { OwnBook } from "./ownBook.ts";

/** Orders in one answer at most. KDF refuses a book with more as a whole, and whoever has announced so many has closed the pair to all who join. */
const MAX_ANSWER_ORDERS = 1000;

/** Orders of one sync answer at most: all that a key may have in our book. A longer answer than a frame holds is refused by the network layer. */
const MAX_SYNC_ORDERS = DEFAULT_BOOK_LIMITS.ordersPerKey;

/** Orders of one pair beyond which no answer can hold them: each has 250 bytes there at least, and a frame a megabyte. */
const MOST_IN_FRAME = 4_000;

/** What answers are made from. */
export type AnswerSources = {
  /** A relay answers from the whole book, a light node for its own orders only. */
  readonly isRelay: boolean;
  readonly book: OrderbookState;
  readonly own: OwnBook;
  /** `pubkey`: 66 hex. Orders of banned keys are left out. */
  readonly isBanned: (pubkey: string) => boolean;
};

/**
 * Answers an order-book request of another node (reference p2p-wire.md 5.2 and 5.3). Orders that no maker's signature
 * covers are never passed on: an asker counts two relays that agree as proof.
 *
 * @param request MessagePack of a P2PRequest
 */
export function answerRequest(request: Uint8Array, from: AnswerSources, nowMs: number): PeerAnswer {
  const parsed = parseP2pRequest(request);
  if (!parsed.ok) return { kind: "err", message: `not a known request: ${parsed.error.detail}` };
  if (from.isRelay) from.book.prune(nowMs);
  return answer(parsed.value, from, nowMs);
}

function answer(request: P2pRequest, from: AnswerSources, nowMs: number): PeerAnswer {
  switch (request.type) {
    case "GetOrderbook":
      return orderbook(request.base, request.rel, from, nowMs);
    case "SyncPubkeyOrderbookState":
      return syncState(request.pubkey, request.trieRoots, from);
    case "BestOrders":
      return bestOrders(request.coin, request.action, { volume: request.volume }, from);
    case "BestOrdersByNumber":
      return bestOrders(request.coin, request.action, { count: request.number }, from);
    case "OrderbookDepth": {
      const depths = new Depths((pair) => inPair(pair, from));
      return { kind: "ok", data: encodeDepthAnswer(request.pairs.map(([base, rel]) => ({ base, rel, ...depths.of(base, rel) }))) };
    }
    case "GetMm2Version":
    case "GetPeerUtcTimestamp":
      // Answered by the network layer; here only if it ever passes one on.
      return { kind: "none" };
    default:
      return assertNever(request);
  }
}

function inPair(pair: string, { isRelay, book, own, isBanned }: AnswerSources): BookOrder[] {
  const orders = [...own.inPair(pair)];
  if (!isRelay) return orders;
  for (const order of book.inPair(pair)) if (order.confirmed && !isBanned(order.item.pubkey)) orders.push(order);
  return orders;
}

function orderbook(base: string, rel: string, from: AnswerSources, nowMs: number): PeerAnswer {
  const pair = pairOf(base, rel);
  const byKey = new Map<string, BookOrder[]>();
  for (const order of inPair(pair, from)) {
    const { pubkey } = order.item;
    const known = byKey.get(pubkey);
    if (known) known.push(order);
    else byKey.set(pubkey, [order]);
  }
  const told: BookOrder[] = [];
  const pubkeys = new Map<string, PubkeyOrders>();
  // Those with most orders last: one key must not keep the others out. Of a key all or none, or its root would not fit.
  for (const [pubkey, orders] of [...byKey].sort(([, a], [, b]) => a.length - b.length)) {
    if (told.length + orders.length > MAX_ANSWER_ORDERS) break;
    told.push(...orders);
    const aliveAtMs = from.book.shelf(pubkey, pair)?.aliveAtMs ?? nowMs;
    pubkeys.set(pubkey, { lastKeepAlive: Math.floor(aliveAtMs / 1000), orders: orders.map(({ item }) => item) });
  }
  return { kind: "ok", data: encodeOrderbookAnswer({ pubkeys, ...extrasOf(told) }) };
}

/**
 * Always whole tries: correct whatever state the asker is in (reference p2p-wire.md section 10). Pairs that do not fit any more are left
 * out: their roots still differ at the next keep-alive, and they are asked for then. So is one that no answer can hold: it must not keep the others from
 * being told, and to write it takes a quarter of a second, for nothing.
 */
function syncState(pubkey: string, roots: readonly (readonly [pair: string, root: Uint8Array])[], from: AnswerSources): PeerAnswer {
  const { isRelay, book, own } = from;
  const isOwn = pubkey === own.pubkey;
  if (!isOwn && !(isRelay && book.knowsKey(pubkey))) return { kind: "none" };
  const pairs = new Map<string, PairDiff>();
  const told: BookOrder[] = [];
  for (const [pair] of roots) {
    const known = isOwn ? !equalBytes(own.root(pair), NO_ROOT) : book.shelf(pubkey, pair) !== undefined;
    if (!known) return { kind: "err", message: `No pair trie root for ${pair}` };
    const orders = isOwn ? own.inPair(pair) : [...(book.shelf(pubkey, pair)?.orders.values() ?? [])].filter(({ confirmed }) => confirmed);
    if (orders.length > MOST_IN_FRAME || (told.length > 0 && told.length + orders.length > MAX_SYNC_ORDERS)) continue;
    pairs.set(pair, { type: "FullTrie", orders: orders.map(({ item }) => item) });
    told.push(...orders);
  }
  if (pairs.size === 0 && roots.length > 0) return { kind: "err", message: "more orders than an answer can hold" };
  return { kind: "ok", data: encodeSyncAnswer({ pairs, ...extrasOf(told) }) };
}

function bestOrders(coin: string, action: BestOrdersAction, limit: BestOrdersLimit, from: AnswerSources): PeerAnswer {
  const pairs = new Set(from.own.pairs());
  if (from.isRelay) for (const pair of from.book.pairs()) pairs.add(pair);
  const orders = new Map<string, readonly OrderbookItem[]>();
  const told: BookOrder[] = [];
  let heardOf = false;
  for (const pair of pairs) {
    const other = otherCoin(pair, coin);
    if (other === undefined) continue;
    heardOf = true;
    const [base, rel] = action === "buy" ? [coin, other] : [other, coin];
    const best = selectBest(ordersFrom(inPair(pair, from), base, rel), action, limit).slice(0, MAX_ANSWER_ORDERS - told.length);
    if (best.length > 0)
      orders.set(
        other,
        best.map(({ item }) => item),
      );
    told.push(...best);
  }
  return heardOf ? { kind: "ok", data: encodeBestOrdersAnswer({ orders, ...extrasOf(told) }) } : { kind: "none" };
}

function extrasOf(orders: readonly BookOrder[]): OrderExtras {
  return {
    protocolInfos: new Map(
      orders.map(({ item, baseProtocolInfo, relProtocolInfo }) => [item.uuid, { base: baseProtocolInfo, rel: relProtocolInfo }]),
    ),
    confs: new Map(orders.flatMap(({ item, conf }) => (conf ? [[item.uuid, conf] as const] : []))),
  };
}
