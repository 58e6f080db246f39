import { err, ok, type Result } from "../../core/util/result.ts";
import type { Log } from "../../ports/log.ts";
import type { OrderStore } from "../../ports/orderStore.ts";
import type { OrderLedger } from "./orderLedger.ts";
import { type OwnOrder, parseOrderRecord } from "./orderRecord.ts";

/** Stored orders read at a time: reading one takes a tenth of a millisecond, and others wait for the thread. */
const DETAILS_AT_ONCE = 100;

/** An order of the history, as it is now or was at its end. */
export type HistoryOrder = { readonly own: OwnOrder; readonly isLive: boolean };

export type OrderStatus = {
  readonly own: OwnOrder;
  /** Null while the order is live, else `status` of its history row. */
  readonly cancellationReason: string | null;
};

export type OrderNotFound = { readonly kind: "OrderNotFound"; readonly uuid: string };

/** Finds own orders, the open ones in memory and those that have ended in the store. */
export class OrderLookup {
  readonly #ledger: OrderLedger;
  readonly #store: OrderStore;
  readonly #log: Log;

  constructor(ledger: OrderLedger, store: OrderStore, log: Log) {
    this.#ledger = ledger;
    this.#store = store;
    this.#log = log;
  }

  async status(uuid: string): Promise<Result<OrderStatus, OrderNotFound>> {
    const live = this.#live(uuid);
    if (live) return ok({ own: live, cancellationReason: null });
    const ended = await this.#store.ended(uuid);
    return ended ? ok({ own: parseOrderRecord(ended.order), cancellationReason: ended.status }) : err({ kind: "OrderNotFound", uuid });
  }

  /** Those of some uuids. What cannot be found or read is left out, and what is damaged is logged. */
  async details(uuids: readonly string[]): Promise<ReadonlyMap<string, HistoryOrder>> {
    const found = new Map<string, HistoryOrder>();
    const ended: string[] = [];
    for (const uuid of uuids) {
      const own = this.#live(uuid);
      if (own) found.set(uuid, { own, isLive: true });
      else ended.push(uuid);
    }
    for (let from = 0; from < ended.length; from += DETAILS_AT_ONCE) {
      for (const stored of await this.#store.endedOrders(ended.slice(from, from + DETAILS_AT_ONCE))) {
        try {
          found.set(stored.uuid, { own: parseOrderRecord(stored), isLive: false });
        } catch (error) {
          this.#log.error("order_unreadable", { order: stored.uuid, error });
        }
      }
    }
    return found;
  }

  #live(uuid: string): OwnOrder | null {
    const maker = this.#ledger.makers.get(uuid);
    if (maker) return { kind: "Maker", order: maker };
    const taker = this.#ledger.takers.get(uuid);
    return taker ? { kind: "Taker", order: taker } : null;
  }
}
