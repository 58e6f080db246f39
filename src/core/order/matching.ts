import type { MakerReserved, TakerRequest } from "../message/types.ts";
import { cmp, div, eq, gt, gte, isPositive, lt, mul, product, type Rational } from "../money/rational.ts";
import { err, ok, type Result } from "../util/result.ts";
import { availableVolume, type MakerOrder } from "./makerOrder.ts";
import type { TakerOrder } from "./takerOrder.ts";

/** Numerators and denominators we calculate with stay below this. Legitimate ones have less than 400 bits; this bounds a peer's work on us. */
const AMOUNT_LIMIT = 1n << 1_024n;
const isReasonable = (n: bigint): boolean => n < AMOUNT_LIMIT && n > -AMOUNT_LIMIT;

const isAmount = (a: Rational): boolean => a.d !== 0n && isReasonable(a.n) && isReasonable(a.d) && isPositive(a);

const tickerFits = (theirs: string, ticker: string, orderbookTicker: string | null): boolean =>
  theirs === ticker || (orderbookTicker !== null && theirs === orderbookTicker);

/** Amounts of a swap, whole coins, exact. Both sides take them from MakerReserved. */
export type SwapAmounts = { readonly maker: Rational; readonly taker: Rational };

export type RequestRefusal = "BadAmounts" | "NotForUs" | "OtherPair" | "PriceTooLow" | "VolumeOutOfRange";

/**
 * Whether a maker order serves a taker's request, and with which amounts. The maker's price applies; the taker only
 * gains when it asked for a worse one. No rounding. Source: reference p2p-wire.md section 9.
 *
 * @param ownKey X coordinate of this node's persistent key, 64 hex: what `match_by` Pubkeys names
 */
export function matchMakerWithRequest(order: MakerOrder, request: TakerRequest, ownKey: string): Result<SwapAmounts, RequestRefusal> {
  if (!isAmount(request.baseAmount) || !isAmount(request.relAmount) || !isPositive(order.price)) return err("BadAmounts");
  if (request.matchBy.type === "Pubkeys" && !request.matchBy.data.includes(ownKey)) return err("NotForUs");
  if (request.matchBy.type === "Orders" && !request.matchBy.data.includes(order.uuid)) return err("NotForUs");
  const buy = request.action === "Buy";
  const [wanted, given] = buy ? [request.base, request.rel] : [request.rel, request.base];
  if (!tickerFits(wanted, order.base, order.baseOrderbookTicker)) return err("OtherPair");
  if (!tickerFits(given, order.rel, order.relOrderbookTicker)) return err("OtherPair");
  const [wantedAmount, givenAmount] = buy ? [request.baseAmount, request.relAmount] : [request.relAmount, request.baseAmount];
  if (lt(givenAmount, product(order.price, wantedAmount))) return err("PriceTooLow");
  const amounts: SwapAmounts = buy
    ? { maker: request.baseAmount, taker: mul(request.baseAmount, order.price) }
    : { maker: div(request.baseAmount, order.price), taker: request.baseAmount };
  if (lt(amounts.maker, order.minBaseVol) || gt(amounts.maker, availableVolume(order))) return err("VolumeOutOfRange");
  return ok(amounts);
}

/** Orders or makers that a request names which is kept with a match. */
const MAX_NAMED = 20;

/**
 * The request as it is kept with a match. One may name a thousand orders or makers, 90 kB, and an order is stored whole with each match: of
 * many names only ours stays.
 */
export function keptRequest(request: TakerRequest, orderUuid: string, ownKey: string): TakerRequest {
  const { matchBy } = request;
  if (matchBy.type === "Any" || matchBy.data.length <= MAX_NAMED) return request;
  return { ...request, matchBy: { type: matchBy.type, data: [matchBy.type === "Orders" ? orderUuid : ownKey] } };
}

/**
 * Own orders that serve the request, cheapest for the taker first, then oldest, then by uuid. KDF answers with
 * whichever it meets first; the best offer is likelier to be taken.
 */
export function fittingOrders(
  orders: Iterable<MakerOrder>,
  request: TakerRequest,
  ownKey: string,
): readonly { readonly order: MakerOrder; readonly amounts: SwapAmounts }[] {
  const fitting: { order: MakerOrder; amounts: SwapAmounts }[] = [];
  for (const order of orders) {
    const amounts = matchMakerWithRequest(order, request, ownKey);
    if (amounts.ok) fitting.push({ order, amounts: amounts.value });
  }
  return fitting.sort(
    (a, b) => cmp(a.order.price, b.order.price) || a.order.createdAtMs - b.order.createdAtMs || compareText(a.order.uuid, b.order.uuid),
  );
}

export type OfferRefusal = "AlreadyMatched" | "BadAmounts" | "NotWanted" | "OtherPair" | "WrongVolume" | "WorsePrice";

/**
 * Whether a taker order takes a maker's offer: the full amount, at the asked price or better. Protocol infos are the
 * coins' affair. Source: reference p2p-wire.md section 9.
 *
 * @param makerKey X coordinate of the sender's envelope key, 64 hex
 */
export function takerAcceptsReserved(order: TakerOrder, reserved: MakerReserved, makerKey: string): Result<SwapAmounts, OfferRefusal> {
  if (order.match) return err("AlreadyMatched");
  if (!isAmount(reserved.baseAmount) || !isAmount(reserved.relAmount)) return err("BadAmounts");
  if (order.matchBy.type === "Orders" && !order.matchBy.data.includes(reserved.makerOrderUuid)) return err("NotWanted");
  if (order.matchBy.type === "Pubkeys" && !order.matchBy.data.includes(makerKey)) return err("NotWanted");
  const buy = order.action === "Buy";
  const [ownBase, ownRel] = buy ? [reserved.base, reserved.rel] : [reserved.rel, reserved.base];
  if (!tickerFits(ownBase, order.base, order.baseOrderbookTicker)) return err("OtherPair");
  if (!tickerFits(ownRel, order.rel, order.relOrderbookTicker)) return err("OtherPair");
  if (buy) {
    if (!eq(reserved.baseAmount, order.baseAmount)) return err("WrongVolume");
    if (gt(reserved.relAmount, order.relAmount)) return err("WorsePrice");
  } else {
    if (!eq(reserved.relAmount, order.baseAmount)) return err("WrongVolume");
    if (!gte(reserved.baseAmount, order.relAmount)) return err("WorsePrice");
  }
  return ok({ maker: reserved.baseAmount, taker: reserved.relAmount });
}

/** An offer that passed `takerAcceptsReserved`. `maker`: envelope key, 66 hex. */
export type Offer = { readonly reserved: MakerReserved; readonly maker: string };

/** Best first: least rel per base; equals by order uuid, then by maker key, so that every run chooses alike. Amounts must be positive. */
export function compareOffers(a: Offer, b: Offer): number {
  return (
    cmp(product(a.reserved.relAmount, b.reserved.baseAmount), product(b.reserved.relAmount, a.reserved.baseAmount)) ||
    compareText(a.reserved.makerOrderUuid, b.reserved.makerOrderUuid) ||
    compareText(a.maker, b.maker)
  );
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
