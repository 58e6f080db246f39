import type { BestOrdersAction } from "../message/requestMessage.ts";
import { addCut, gt, gte, product, type Rational, ZERO } from "../money/rational.ts";
import { type BookOrder, byPrice } from "./bookOrder.ts";

/** How much of each pair a best-orders request wants: until `volume` (whole units of the coin) is reached, or the first `count`. */
export type BestOrdersLimit = { readonly volume: Rational } | { readonly count: number };

/**
 * The best orders of one direction of one pair (reference p2p-wire.md 5.3): cheapest first; by volume, orders whose
 * minimum is above it are passed over and the last one taken may exceed it.
 *
 * @param orders all of one (base, rel); `buy` takes volumes as they are (base), `sell` times the price (rel)
 */
export function selectBest<T extends BookOrder>(orders: readonly T[], action: BestOrdersAction, limit: BestOrdersLimit): readonly T[] {
  const sorted = [...orders].sort(byPrice);
  if ("count" in limit) return sorted.slice(0, limit.count);
  const inCoin = (volume: Rational, price: Rational): Rational => (action === "buy" ? volume : product(volume, price));
  const chosen: T[] = [];
  let collected = ZERO;
  for (const order of sorted) {
    if (gte(collected, limit.volume)) break;
    const { minVolume, maxVolume, price } = order.item;
    if (gt(inCoin(minVolume, price), limit.volume)) continue;
    chosen.push(order);
    collected = addCut(collected, inCoin(maxVolume, price));
  }
  return chosen;
}

/** Orders of exactly (base, rel). */
export function ordersFrom(orders: Iterable<BookOrder>, base: string, rel: string): BookOrder[] {
  return [...orders].filter(({ item }) => item.base === base && item.rel === rel);
}
