import { HOUR_MS } from "../../sim/world/simWorld.ts";
import { decimal } from "../../src/core/money/rational.ts";
import { books, isOver, outcomes, wrongs } from "./accountAudit.ts";
import { type AccountWorld, ALL, type Ticker } from "./accountTrade.ts";
import type { CrashPoint } from "./crashRun.ts";

export type AccountCrash = {
  readonly uuid: string;
  /** Whether the point was reached at all; if not, there are no more such points. */
  readonly hit: boolean;
  readonly ends: string;
  /** What went wrong; empty when nobody lost. */
  readonly wrongs: readonly string[];
};

/** Time in which a handshake has either stored its swap on both sides or never will. */
const MATCHED_MS = 120_000;
const LIMIT_MS = 8 * HOUR_MS;

/** One swap of `base` for `rel` with one failure. Both nodes run again at the end, and nothing may be locked any more. */
export async function accountCrash(t: AccountWorld, base: Ticker, rel: Ticker, point: CrashPoint): Promise<AccountCrash> {
  const { world, maker, taker } = t;
  const victim = t[point.who];
  const before = books(t);
  let hit = false;
  let left = point.n;
  const isNow = (): boolean => {
    if (hit || left-- > 0) return false;
    hit = true;
    return true;
  };
  const stores = { store_refused: "refuse", before_store: "crash_before", after_store: "crash_after" } as const;
  const former = new Set(victim.swaps.keys());
  victim.storeFault = (uuid) => {
    if (former.has(uuid) || point.at === "before_broadcast" || point.at === "after_broadcast") return undefined;
    return isNow() ? stores[point.at] : undefined;
  };
  victim.onBroadcast = (_ticker, when) => {
    if (point.at === `${when}_broadcast` && isNow()) victim.crash();
  };
  await world.runUntil("both have a relay", () => [maker, taker].every((n) => n.p2p.relays().length > 0));
  const startMs = world.clock.nowMs();
  const common = { base, rel, price: decimal("0.5"), volume: decimal("4") };
  const offered = await world.settle(maker.node.orders.placeMakerOrder({ ...common, cancelPrevious: false }));
  if (!offered.ok) throw new Error(`setprice refused: ${offered.error.kind}`);
  const placed = await world.settle(taker.node.orders.placeTakerOrder({ ...common, action: "Buy" }));
  if (!placed.ok) throw new Error(`buy refused: ${placed.error.kind}`);
  const { uuid } = placed.value;
  const isDone = (): boolean => world.clock.nowMs() - startMs > MATCHED_MS && isOver(t, uuid);
  await world.runUntil("the failure or the end", () => !victim.isRunning || isDone(), LIMIT_MS);
  if (!victim.isRunning) {
    await world.advance(point.downMs);
    await victim.start(ALL);
    await world.runUntil("the swap ends for both", isDone, LIMIT_MS);
  }
  victim.storeFault = () => undefined;
  victim.onBroadcast = () => undefined;
  // The fee of a swap that came to nothing may still be on its way.
  await world.advance(MATCHED_MS);
  for (const n of [maker, taker]) await world.settle(n.node.orders.cancelAllOrders({ type: "All" }));
  return { uuid, hit, ends: outcomes(t, uuid), wrongs: wrongs(t, [uuid], before) };
}
