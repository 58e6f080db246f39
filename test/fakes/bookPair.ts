import type { Node } from "../../src/app/node.ts";

/** Both sides of a pair of orderbook tickers as a node knows them; the first call for a pair waits for a relay's book. */
export async function bookPair({ book }: Node, base: string, rel: string) {
  await book.subscribePair(base, rel);
  return { asks: book.entries(base, rel), bids: book.entries(rel, base) };
}
