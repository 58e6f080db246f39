import { expect, test } from "vitest";
import { orderConf, orderUuid } from "../../../test/fakes/bookWorld.ts";
import { OrderbookState } from "../../core/book/orderbookState.ts";
import { parseDepthAnswer, parseOrderbookAnswer, parseSyncAnswer } from "../../core/message/orderbookAnswer.ts";
import { encodeP2pRequest } from "../../core/message/requestMessage.ts";
import { rational } from "../../core/money/rational.ts";
import type { OwnOrderView } from "../orders/ownOrders.ts";
import { answerRequest } from "./answerRequest.ts";
import { OwnBook } from "./ownBook.ts";

const NOW_MS = 1_700_000_000_000;
const keyOf = (n: number): string => `02${n.toString(16).padStart(64, "0")}`;

/** The book of a relay that has so many orders of AAA:BBB of the keys 1, 2 and so on. */
function bookOf(counts: readonly number[]): OrderbookState {
  const book = new OrderbookState({ isOwnKey: () => false, follows: () => true });
  let uuid = 0;
  for (const [n, count] of counts.entries()) {
    for (let i = 0; i < count; i++) {
      const order = {
        ...{ uuid: orderUuid(uuid++), base: "AAA", rel: "BBB", price: rational(1n), maxVolume: rational(1n), minVolume: rational(1n) },
        ...{ createdAt: NOW_MS / 1000, timestamp: NOW_MS / 1000, pairTrieRoot: new Uint8Array(8), conf: orderConf },
        ...{ baseProtocolInfo: new Uint8Array(), relProtocolInfo: new Uint8Array() },
      };
      expect(book.created(keyOf(n + 1), order, NOW_MS).kind).toBe("stored");
    }
  }
  return book;
}

/** What a relay with such a book tells of each key. */
function told(...counts: readonly number[]): readonly number[] {
  const book = bookOf(counts);
  const own = new OwnBook({ orders: () => [], onChange: () => () => undefined }, keyOf(0));
  const request = encodeP2pRequest({ type: "GetOrderbook", base: "AAA", rel: "BBB" });
  const answer = answerRequest(request, { isRelay: true, book, own, isBanned: () => false }, NOW_MS);
  if (answer.kind !== "ok") throw new Error(answer.kind);
  const parsed = parseOrderbookAnswer(answer.data);
  if (!parsed.ok) throw new Error(parsed.error.detail);
  return counts.map((_, n) => parsed.value.pubkeys.get(keyOf(n + 1))?.orders.length ?? 0);
}

test("one key with very many orders does not keep all others of the pair from being told", () => {
  expect(told(2, 1_500, 3)).toEqual([2, 0, 3]);
  expect(told(400, 600)).toEqual([400, 600]);
  expect(told(700, 400, 300, 1)).toEqual([0, 400, 300, 1]);
});

test("a pair is counted once, however often a question about depths names it", () => {
  const book = bookOf([2, 3]);
  let counted = 0;
  const inPair = book.inPair.bind(book);
  book.inPair = (pair) => {
    counted++;
    return inPair(pair);
  };
  const own = new OwnBook({ orders: () => [], onChange: () => () => undefined }, keyOf(0));
  const pairs = Array.from({ length: 1_000 }, (_, i) => (i % 2 === 0 ? ["AAA", "BBB"] : ["BBB", "AAA"]) as [string, string]);
  const request = encodeP2pRequest({ type: "OrderbookDepth", pairs });
  const answer = answerRequest(request, { isRelay: true, book, own, isBanned: (key) => key === keyOf(1) }, NOW_MS);
  const parsed = answer.kind === "ok" ? parseDepthAnswer(answer.data) : undefined;
  expect(parsed?.ok && [...parsed.value.slice(0, 2), parsed.value.length]).toEqual([
    { base: "AAA", rel: "BBB", asks: 3, bids: 0 },
    { base: "BBB", rel: "AAA", asks: 0, bids: 3 },
    1_000,
  ]);
  expect(counted).toBe(1);
});

test("a pair with more own orders than an answer can hold is not told, and keeps no other from it", () => {
  const viewOf = (n: number, rel: string): OwnOrderView => ({
    ...{ uuid: orderUuid(n), base: "AAA", rel, price: rational(1n), maxVolume: rational(1n), minVolume: rational(1n) },
    ...{ createdAt: 1, conf: orderConf, baseProtocolInfo: new Uint8Array(), relProtocolInfo: new Uint8Array() },
  });
  const views = [...Array.from({ length: 4_001 }, (_, n) => viewOf(n, "BBB")), viewOf(5_000, "CCC")];
  const own = new OwnBook({ orders: () => views, onChange: () => () => undefined }, keyOf(1));
  const ask = (...pairs: readonly string[]) => {
    const trieRoots = pairs.map((pair) => [pair, new Uint8Array(8)] as const);
    const request = encodeP2pRequest({ type: "SyncPubkeyOrderbookState", pubkey: keyOf(1), trieRoots });
    const answer = answerRequest(request, { isRelay: false, book: bookOf([]), own, isBanned: () => false }, NOW_MS);
    const parsed = answer.kind === "ok" ? parseSyncAnswer(answer.data) : undefined;
    return parsed?.ok ? [...parsed.value.pairs.keys()] : answer.kind;
  };
  expect(ask("AAA:BBB", "AAA:CCC")).toEqual(["AAA:CCC"]);
  expect(ask("AAA:BBB")).toBe("err");
});
