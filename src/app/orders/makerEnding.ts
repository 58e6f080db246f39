import type { MakerEndReason, MakerOrder } from "../../core/order/makerOrder.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { FundsHolds } from "./fundsHolds.ts";
import type { OrderAnnouncer } from "./orderAnnouncer.ts";
import type { LedgerStep, OrderLedger } from "./orderLedger.ts";

export type MakerEndingDeps = {
  readonly clock: Clock;
  readonly log: Log;
  readonly ledger: OrderLedger;
  readonly holds: FundsHolds;
  readonly announcer: OrderAnnouncer;
};

export type EndedMaker = { readonly order: MakerOrder; readonly reason: MakerEndReason };

/**
 * Ends maker orders, together with `more` in one write. Stored first; then funds of open handshakes are free (their
 * takers' `connect` will find nothing) and the network hears Cancelled. Swaps already begun go on.
 */
export async function endMakers(deps: MakerEndingDeps, ended: readonly EndedMaker[], more: readonly LedgerStep[] = []): Promise<void> {
  const steps: LedgerStep[] = ended.map(({ order, reason }) => ({ step: "endMaker", order, reason }));
  if (steps.length + more.length === 0) return;
  await deps.ledger.commit([...steps, ...more]);
  for (const { order } of ended) {
    for (const [uuid, match] of order.matches) if (match.connectedAtMs === null) deps.holds.release(uuid);
  }
  deps.announcer.withdrawAll(ended, ({ order, reason }) => deps.log.info("maker_order_ended", { order: order.uuid, reason }));
}
