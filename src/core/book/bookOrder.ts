import { MsgpackWriter } from "../message/msgpackWriter.ts";
import type { ConfSettings, OrderbookItem } from "../message/types.ts";
import { uuidToBytes, writeOrderbookItem } from "../message/wireShapes.ts";
import { cmp, isPositive, isShort, lt, ZERO } from "../money/rational.ts";

/** One open maker order. Volumes in whole base coins, price in rel per base, tickers as on the wire. */
export type BookOrder = {
  readonly item: OrderbookItem;
  /** null when an unsigned answer did not say. */
  readonly conf: ConfSettings | null;
  /** Empty when the maker sent none. */
  readonly baseProtocolInfo: Uint8Array;
  readonly relProtocolInfo: Uint8Array;
  /**
   * True once the maker's signature covers it (its own message, or a signed root over all its orders) or two relays
   * have told the same. Only then may its price be acted on.
   */
  readonly confirmed: boolean;
  /** The relay whose unsigned answer told us, or last contradicted us; null if only the maker spoke. */
  readonly source: string | null;
  /** Time inside the maker's last message on this order, unix seconds; 0 if none was seen. */
  readonly signedAt: number;
};

/** An order that offers nothing is no order: KDF drops it from the book. */
export function offersSomething(item: OrderbookItem): boolean {
  return isPositive(item.price) && isPositive(item.maxVolume) && !lt(item.minVolume, ZERO);
}

/** Whether all numbers of an order are of a length that somebody could mean. */
export const hasShortNumbers = (item: OrderbookItem): boolean => [item.price, item.maxVolume, item.minVolume].every(isShort);

/** Leaf of the pair trie: the raw form of the rationals counts (reference p2p-wire.md section 10). */
export function trieLeaf(item: OrderbookItem): readonly [key: Uint8Array, value: Uint8Array] {
  const w = new MsgpackWriter();
  writeOrderbookItem(w, item);
  return [uuidToBytes(item.uuid), w.finish()];
}

export function sameItem(a: OrderbookItem, b: OrderbookItem): boolean {
  return (
    a.uuid === b.uuid &&
    a.pubkey === b.pubkey &&
    a.base === b.base &&
    a.rel === b.rel &&
    a.createdAt === b.createdAt &&
    cmp(a.price, b.price) === 0 &&
    cmp(a.maxVolume, b.maxVolume) === 0 &&
    cmp(a.minVolume, b.minVolume) === 0
  );
}

/** Cheapest first; equal prices by uuid, as KDF orders its book. */
export function byPrice(a: BookOrder, b: BookOrder): number {
  return cmp(a.item.price, b.item.price) || (a.item.uuid < b.item.uuid ? -1 : a.item.uuid > b.item.uuid ? 1 : 0);
}
