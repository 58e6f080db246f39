import type { OrdersService } from "../../../src/app/orders/ordersService.ts";
import { decimal } from "../../../src/core/money/rational.ts";
import { err, ok } from "../../../src/core/util/result.ts";
import type { BookEntry, OrderbookApi } from "../../../src/rpc/ctx/orders.ts";
import { ADDRESS, NODE_KEY } from "./fakeRpcCoin.ts";

/** The order of the recorded replies, as a second node saw it. */
export const RECORDED_ORDER: BookEntry = {
  uuid: "144ce75d-d765-4ecc-b29a-1504c99c1112",
  pubkey: NODE_KEY,
  base: "DOC",
  rel: "MARTY",
  price: decimal("2.5"),
  maxVolume: decimal("3"),
  minVolume: decimal("0.0001"),
  createdAt: 1_795_228_902,
  conf: { baseConfs: 1, baseNota: false, relConfs: 1, relNota: false },
  isMine: false,
  address: ADDRESS,
};

/** A book of own orders and those of `others`. A relay tells of coins that have any. */
export function fakeBook(orders: OrdersService, others: readonly BookEntry[]): OrderbookApi {
  const all = (): readonly BookEntry[] => {
    const mine = orders.myOrders().makers.map(
      (o): BookEntry => ({
        ...{ uuid: o.uuid, base: o.base, rel: o.rel, price: o.price, maxVolume: o.maxBaseVol, minVolume: o.minBaseVol, conf: o.conf },
        ...{ pubkey: NODE_KEY, createdAt: Math.floor(o.createdAtMs / 1000), isMine: true, address: ADDRESS },
      }),
    );
    return [...mine, ...others];
  };
  const of = (base: string, rel: string): readonly BookEntry[] => all().filter((o) => o.base === base && o.rel === rel);
  return {
    async pair(base, rel) {
      return ok({ size: of(base, rel).length + of(rel, base).length, read: async () => ({ asks: of(base, rel), bids: of(rel, base) }) });
    },
    async best(coin, action, limit) {
      const best = new Map<string, BookEntry[]>();
      for (const order of all()) {
        const [own, other] = action === "buy" ? [order.base, order.rel] : [order.rel, order.base];
        if (own === coin) best.set(other, [...(best.get(other) ?? []), order]);
      }
      if (best.size === 0) return err({ kind: "NoPeerAnswered" });
      return ok(new Map([...best].map(([other, entries]) => [other, "count" in limit ? entries.slice(0, limit.count) : entries])));
    },
    async depths(pairs) {
      return ok(pairs.map(([base, rel]) => ({ asks: of(base, rel).length, bids: of(rel, base).length })));
    },
    originalTickers: () => ({}),
  };
}
