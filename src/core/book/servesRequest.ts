import type { OrderbookItem, TakerRequest } from "../message/types.ts";
import { gte, isPositive, lte, product, type Rational } from "../money/rational.ts";

/**
 * Whether a maker's order, as the book has it, serves a taker's request in full (reference p2p-wire.md section 9,
 * "Maker on a TakerRequest"). What the maker has reserved since is not known here.
 */
export function servesRequest(item: OrderbookItem, request: TakerRequest): boolean {
  const { matchBy, baseAmount, relAmount } = request;
  if (matchBy.type === "Orders" && !matchBy.data.includes(item.uuid)) return false;
  if (matchBy.type === "Pubkeys" && !matchBy.data.includes(item.pubkey.slice(2))) return false;
  if (!isPositive(baseAmount) || !isPositive(relAmount)) return false;
  const buy = request.action === "Buy";
  const [base, rel] = buy ? [request.base, request.rel] : [request.rel, request.base];
  if (item.base !== base || item.rel !== rel) return false;
  const [wanted, given] = buy ? [baseAmount, relAmount] : [relAmount, baseAmount];
  if (!gte(given, product(item.price, wanted))) return false;
  // Of a seller's amount in rel, the volume is amount / price; both sides times the price.
  const inTheirs = (volume: Rational): Rational => (buy ? volume : product(volume, item.price));
  return gte(baseAmount, inTheirs(item.minVolume)) && lte(baseAmount, inTheirs(item.maxVolume));
}
