import type { SimNode } from "../../sim/world/simNode.ts";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import type { Role, SwapEvent } from "../../src/core/swap/events.ts";
import { isOver } from "./audit.ts";
import type { TradingWorld } from "./trade.ts";

/** Where a node fails: at its `n`-th attempt to store a swap event, or at its `n`-th broadcast, both from 0. */
export type CrashPoint = {
  readonly who: Role;
  readonly at: "store_refused" | "before_store" | "after_store" | "before_broadcast" | "after_broadcast";
  readonly n: number;
  /** How long it stays down; nothing for a refused write, which it survives. */
  readonly downMs: number;
  /** Whether its data is lost meanwhile, but for the copies of its open swaps. */
  readonly losesData?: boolean;
};

/** The node dies once, right after it has stored the first such event. @returns whether it has */
export function diesOnceAfter(node: SimNode, isIt: (event: SwapEvent) => boolean): () => boolean {
  let hasDied = false;
  node.storeFault = (_uuid, { event }) => {
    if (hasDied || !isIt(event)) return undefined;
    hasDied = true;
    return "crash_after";
  };
  return () => hasDied;
}

/** A maker dies once, right after the mark of its claim is stored. @returns whether it has */
export const diesAtMark = (maker: SimNode): (() => boolean) =>
  diesOnceAfter(maker, (event) => event.type === "tx_attempted" && event.slot === "takerPaymentSpend");

/** Time in which a handshake has either stored its swap on both sides or never will. */
export const MATCHED_MS = 120_000;
/** Virtual time a swap may take to its final end, refunds included. */
const LIMIT_MS = 8 * HOUR_MS;
const STORES = { store_refused: "refuse", before_store: "crash_before", after_store: "crash_after" } as const;

/**
 * One swap with one failure; both nodes run again at the end.
 * @param coins that the victim has when it is started again
 * @param begin makes the orders that match. @returns the swap's uuid
 * @returns with it, whether the point was reached at all; if not, there are no more such points
 */
export async function swapWithCrash(
  t: TradingWorld,
  point: CrashPoint,
  coins: readonly string[],
  begin: () => Promise<string>,
): Promise<{ readonly uuid: string; readonly hit: boolean }> {
  const { world, maker, taker } = t;
  const victim = t[point.who];
  let hit = false;
  let left = point.n;
  const isNow = (): boolean => {
    if (hit || left-- > 0) return false;
    hit = true;
    return true;
  };
  const former = new Set(victim.swaps.keys());
  victim.storeFault = (uuid) => {
    if (former.has(uuid) || point.at === "before_broadcast" || point.at === "after_broadcast") return undefined;
    return isNow() ? STORES[point.at] : undefined;
  };
  victim.onBroadcast = (_ticker, when) => {
    if (point.at === `${when}_broadcast` && isNow()) victim.crash();
  };
  await world.runUntil("both have a relay", () => [maker, taker].every((n) => n.p2p.relays().length > 0));
  const startMs = world.clock.nowMs();
  const uuid = await begin();
  const isDone = (): boolean => world.clock.nowMs() - startMs > MATCHED_MS && isOver(t, uuid);
  await world.runUntil("the failure or the end", () => !victim.isRunning || isDone(), LIMIT_MS);
  if (!victim.isRunning) {
    await world.advance(point.downMs);
    if (point.losesData) await victim.loseData();
    await victim.start(coins);
    await world.runUntil("the swap ends for both", isDone, LIMIT_MS);
  }
  victim.storeFault = () => undefined;
  victim.onBroadcast = () => undefined;
  return { uuid, hit };
}
