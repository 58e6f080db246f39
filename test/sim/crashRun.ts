import { HOUR_MS } from "../../sim/world/simWorld.ts";
import type { Role } from "../../src/core/swap/events.ts";
import { isOver, purses, wrongs } from "./audit.ts";
import { buy, COINS, offer, type TradingWorld } from "./trade.ts";

/** Where a node fails: at its `n`-th attempt to store a swap event, or at its `n`-th broadcast, both from 0. */
export type CrashPoint = {
  readonly who: Role;
  readonly at: "store_refused" | "before_store" | "after_store" | "before_broadcast" | "after_broadcast";
  readonly n: number;
  /** How long it stays down; nothing for a refused write, which it survives. */
  readonly downMs: number;
};

export type CrashRun = {
  readonly uuid: string;
  /** Whether the point was reached at all; if not, there are no more such points. */
  readonly hit: boolean;
  readonly makerOutcome: string | null;
  readonly takerOutcome: string | null;
  /** What went wrong; empty when nobody lost. */
  readonly wrongs: readonly string[];
};

/** Time in which a handshake has either stored its swap on both sides or never will. */
const MATCHED_MS = 120_000;
/** Virtual time a swap may take to its final end, refunds included. */
const LIMIT_MS = 8 * HOUR_MS;

/** One swap of 4 DOC for 2 MARTY with one failure. Both nodes run again at the end, and nothing may be locked any more. */
export async function crashRun(t: TradingWorld, point: CrashPoint): Promise<CrashRun> {
  const { world, maker, taker } = t;
  const victim = point.who === "maker" ? maker : taker;
  const before = purses(t);
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
  await offer(world, maker, "4", "0.5");
  const uuid = await buy(world, taker, "4", "0.5");
  const isDone = (): boolean => world.clock.nowMs() - startMs > MATCHED_MS && isOver(t, uuid);
  await world.runUntil("the failure or the end", () => !victim.isRunning || isDone(), LIMIT_MS);
  if (!victim.isRunning) {
    await world.advance(point.downMs);
    await victim.start(COINS);
    await world.runUntil("the swap ends for both", isDone, LIMIT_MS);
  }
  victim.storeFault = () => undefined;
  victim.onBroadcast = () => undefined;
  for (const n of [maker, taker]) await world.settle(n.node.orders.cancelAllOrders({ type: "All" }));
  return { uuid, hit, makerOutcome: maker.outcome(uuid), takerOutcome: taker.outcome(uuid), wrongs: wrongs(t, uuid, before) };
}
