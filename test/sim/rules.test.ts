import { expect, test } from "vitest";
import { Watch } from "../../sim/run/watch.ts";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import { isOver } from "./audit.ts";
import { BASE, match, REL, tradingWorld } from "./trade.ts";

// Rules of docs/safety.md that runs of the simulator rarely come to.

test("no refund leaves beside a claim in a block, however long its chain stands still then", async () => {
  const t = await tradingWorld({ seed: 20_261_130, pollMs: 15_000, confirmations: 3 });
  const { world, maker, taker } = t;
  const watch = new Watch(world);
  for (const node of [maker, taker]) {
    node.onStored = (batch) => watch.onStored(node.name, batch);
    node.onBroadcast = (ticker, when, raw) => void (when === "before" && watch.onBroadcast(node.name, ticker, raw));
  }
  const uuid = await match(t, "4", "0.5");
  await world.runUntil("the taker has paid", () => maker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "takerPayment"), HOUR_MS);
  // It would take what it is paid with, and then nothing could go back.
  taker.crash();
  const isClaimed = (): boolean => maker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "takerPaymentSpend" && e.block !== null);
  await world.runUntil("the claim is in a block", isClaimed, HOUR_MS);
  world.chain(REL).chain.autoMine(null);
  await world.advance(5 * HOUR_MS);
  expect(maker.has(uuid, (e) => e.type === "tx_confirmed" && e.slot === "takerPaymentSpend")).toBe(false);
  expect(watch.violations).toEqual([]);
  for (const ticker of [BASE, REL]) world.chain(ticker).chain.autoMine(60_000);
  await taker.start([BASE, REL]);
  await world.runUntil("the swap ends for both", () => isOver(t, uuid), 2 * HOUR_MS);
  expect([maker.outcome(uuid), taker.outcome(uuid)]).toEqual(["success", "success"]);
  expect(watch.violations).toEqual([]);
  await world.close();
});
