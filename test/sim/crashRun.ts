import { purses, wrongs } from "./audit.ts";
import { type CrashPoint, swapWithCrash } from "./crashPoint.ts";
import { buy, COINS, offer, type TradingWorld } from "./trade.ts";

export type CrashRun = {
  readonly uuid: string;
  /** Whether the point was reached at all; if not, there are no more such points. */
  readonly hit: boolean;
  readonly makerOutcome: string | null;
  readonly takerOutcome: string | null;
  /** What went wrong; empty when nobody lost. */
  readonly wrongs: readonly string[];
};

/** One swap of 4 DOC for 2 MARTY with one failure. Both nodes run again at the end, and nothing may be locked any more. */
export async function crashRun(t: TradingWorld, point: CrashPoint): Promise<CrashRun> {
  const { world, maker, taker } = t;
  const before = purses(t);
  const { uuid, hit } = await swapWithCrash(t, point, COINS, async () => {
    await offer(world, maker, "4", "0.5");
    return buy(world, taker, "4", "0.5");
  });
  for (const n of [maker, taker]) await world.settle(n.node.orders.cancelAllOrders({ type: "All" }));
  return { uuid, hit, makerOutcome: maker.outcome(uuid), takerOutcome: taker.outcome(uuid), wrongs: wrongs(t, uuid, before) };
}
