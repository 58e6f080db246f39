import { decimal } from "../../src/core/money/rational.ts";
import { books, outcomes, wrongs } from "./accountAudit.ts";
import { type AccountWorld, ALL, type Ticker } from "./accountTrade.ts";
import { type CrashPoint, MATCHED_MS, swapWithCrash } from "./crashPoint.ts";

export type AccountCrash = {
  readonly uuid: string;
  /** Whether the point was reached at all; if not, there are no more such points. */
  readonly hit: boolean;
  readonly ends: string;
  /** What went wrong; empty when nobody lost. */
  readonly wrongs: readonly string[];
};

/** One swap of `base` for `rel` with one failure. Both nodes run again at the end, and nothing may be locked any more. */
export async function accountCrash(t: AccountWorld, base: Ticker, rel: Ticker, point: CrashPoint): Promise<AccountCrash> {
  const { world, maker, taker } = t;
  const before = books(t);
  const { uuid, hit } = await swapWithCrash(t, point, ALL, async () => {
    const common = { base, rel, price: decimal("0.5"), volume: decimal("4") };
    const offered = await world.settle(maker.node.orders.placeMakerOrder({ ...common, cancelPrevious: false }));
    if (!offered.ok) throw new Error(`setprice refused: ${offered.error.kind}`);
    const placed = await world.settle(taker.node.orders.placeTakerOrder({ ...common, action: "Buy" }));
    if (!placed.ok) throw new Error(`buy refused: ${placed.error.kind}`);
    return placed.value.uuid;
  });
  // The fee of a swap that came to nothing may still be on its way.
  await world.advance(MATCHED_MS);
  for (const n of [maker, taker]) await world.settle(n.node.orders.cancelAllOrders({ type: "All" }));
  return { uuid, hit, ends: outcomes(t, uuid), wrongs: wrongs(t, [uuid], before) };
}
