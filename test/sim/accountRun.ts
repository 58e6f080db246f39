import { expect } from "vitest";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import { type Books, expectNobodyLost, leftovers, outcomes } from "./accountAudit.ts";
import { type AccountWorld, match, type Ticker } from "./accountTrade.ts";
import { isOver } from "./audit.ts";

const LIMIT_MS = 10 * HOUR_MS;
/** After so long nothing goes on any more. */
const QUIET_MS = 20 * 60_000;

/** Nobody lost by these swaps, and nothing of them is kept, once nothing goes on any more. */
export async function audit(t: AccountWorld, uuids: readonly string[], before: Books, allowances = 0n): Promise<void> {
  for (const node of [t.maker, t.taker]) await t.world.settle(node.node.orders.cancelAllOrders({ type: "All" }));
  await t.world.advance(QUIET_MS);
  expectNobodyLost(t, uuids, before);
  expect(leftovers(t, allowances), t.world.report()).toEqual([]);
}

/** Waits until a swap is over for both, and audits it: nothing lost, nothing kept. @returns its outcomes */
export async function ended(t: AccountWorld, uuid: string, before: Books, allowances = 0n): Promise<string> {
  await t.world.runUntil("both end", () => isOver(t, uuid), LIMIT_MS);
  expectNobodyLost(t, [uuid], before);
  await audit(t, [uuid], before, allowances);
  return outcomes(t, uuid);
}

/** Matches two orders and runs the swap to its end: see `ended`. */
export async function runSwap(t: AccountWorld, before: Books, base: Ticker, rel: Ticker, allowances = 0n): Promise<string> {
  return ended(t, await match(t, base, rel, "4", "0.5"), before, allowances);
}
