import { expect, test } from "vitest";
import { buy, offer, tradingWorld } from "./trade.ts";

test("the profile's waits decide how long a silent counterparty is waited for", async () => {
  const t = await tradingWorld({ seed: 61, profile: { negotiationWaitSec: 20, messageGraceSec: 10 } });
  const { world, maker, taker } = t;
  taker.onEvent = () => world.net.cut(world.node("relay").p2p.peerId, taker.p2p.peerId);
  await offer(world, maker, "4", "0.5");
  const uuid = await buy(world, taker, "4", "0.5");
  await world.runUntil("both have the swap", () => maker.swaps.has(uuid) && taker.swaps.has(uuid), 60_000);
  const startMs = world.clock.nowMs();
  await world.runUntil("both gave up", () => [maker, taker].every((n) => n.outcome(uuid) === "failed"), 60_000);
  // 30 s, and until the next look; with the usual values it would be three minutes.
  const tookMs = world.clock.nowMs() - startMs;
  expect([tookMs > 29_000, tookMs < 50_000]).toEqual([true, true]);
  expect(maker.has(uuid, (e) => e.type === "abandoned" && e.failure.reason.includes("within 30 s"))).toBe(true);
  await world.close();
});
