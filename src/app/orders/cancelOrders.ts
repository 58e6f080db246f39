import { isHalfMatched, type MakerOrder } from "../../core/order/makerOrder.ts";
import type { TakerOrder } from "../../core/order/takerOrder.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import { endMakers, type MakerEndingDeps } from "./makerEnding.ts";
import type { TakerSide } from "./takerSide.ts";

/** Which orders `cancel_all_orders` means. `Pair` is directional, `Coin` matches either side (reference rpc.md 4.3). */
export type CancelBy =
  | { readonly type: "All" }
  | { readonly type: "Pair"; readonly base: string; readonly rel: string }
  | { readonly type: "Coin"; readonly ticker: string };

export type CancelledOrders = { readonly cancelled: readonly string[]; readonly currentlyMatching: readonly string[] };
export type CancelError =
  | { readonly kind: "OrderNotFound"; readonly uuid: string }
  | { readonly kind: "BeingMatched"; readonly uuid: string };

const isMeant = (by: CancelBy, order: MakerOrder | TakerOrder): boolean => {
  if (by.type === "All") return true;
  if (by.type === "Pair") return order.base === by.base && order.rel === by.rel;
  return order.base === by.ticker || order.rel === by.ticker;
};

const isMatching = (order: MakerOrder | TakerOrder): boolean => ("matches" in order ? isHalfMatched(order) : order.match !== null);

/** Orders a condition means that are being matched now, and those that could be cancelled. */
export function sortOrders(orders: MakerEndingDeps, by: CancelBy) {
  const makers = [...orders.ledger.makers.values()].filter((o) => isMeant(by, o));
  const takers = [...orders.ledger.takers.values()].filter((o) => isMeant(by, o));
  return {
    makers: makers.filter((o) => !isMatching(o)),
    takers: takers.filter((o) => !isMatching(o)),
    matching: [...makers, ...takers].filter(isMatching).map((o) => o.uuid),
  };
}

/** `cancel_all_orders`: all of them in one write, and orders being matched stay as they are. */
export async function cancelAllOrders(orders: MakerEndingDeps, takerSide: TakerSide, by: CancelBy): Promise<CancelledOrders> {
  const { makers, takers, matching } = sortOrders(orders, by);
  await endMakers(
    orders,
    makers.map((order) => ({ order, reason: "Cancelled" })),
    takers.map((order) => ({ step: "endTaker", order, reason: "Cancelled" })),
  );
  for (const order of takers) takerSide.ended(order, "Cancelled");
  return { cancelled: [...makers, ...takers].map((o) => o.uuid), currentlyMatching: matching };
}

/** `cancel_order`. */
export async function cancelOrder(orders: MakerEndingDeps, takerSide: TakerSide, uuid: string): Promise<Result<void, CancelError>> {
  const maker = orders.ledger.makers.get(uuid);
  const taker = orders.ledger.takers.get(uuid);
  const order = maker ?? taker;
  if (!order) return err({ kind: "OrderNotFound", uuid });
  if (isMatching(order)) return err({ kind: "BeingMatched", uuid });
  if (maker) await endMakers(orders, [{ order: maker, reason: "Cancelled" }]);
  else if (taker) await takerSide.end(taker, "Cancelled");
  return ok(undefined);
}
