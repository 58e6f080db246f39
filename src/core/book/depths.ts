import type { BookOrder } from "./bookOrder.ts";
import { pairOf } from "./bookPair.ts";

export type Depth = { readonly asks: number; readonly bids: number };

/**
 * How many orders pairs have. Each pair is counted once, however often it is asked about: a stranger may name the fullest one a thousand
 * times in one question.
 */
export class Depths {
  readonly #inPair: (pair: string) => Iterable<BookOrder>;
  readonly #counted = new Map<string, ReadonlyMap<string, number>>();

  constructor(inPair: (pair: string) => Iterable<BookOrder>) {
    this.#inPair = inPair;
  }

  of(base: string, rel: string): Depth {
    const pair = pairOf(base, rel);
    const sold = this.#counted.get(pair) ?? this.#count(pair);
    return { asks: sold.get(base) ?? 0, bids: sold.get(rel) ?? 0 };
  }

  /** Orders of a pair by the coin they sell. */
  #count(pair: string): ReadonlyMap<string, number> {
    const sold = new Map<string, number>();
    for (const { item } of this.#inPair(pair)) sold.set(item.base, (sold.get(item.base) ?? 0) + 1);
    this.#counted.set(pair, sold);
    return sold;
  }
}
