import { expect, test } from "vitest";
import type { SimNode } from "../../sim/world/simNode.ts";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import { expectNobodyLost, isOver, purses } from "./audit.ts";
import { buy, COINS, match, offer, tradingWorld } from "./trade.ts";

const SEED = 30_030;
const MINUTE_MS = 60_000;
const SECOND_MS = 1_000;

const offers = (node: SimNode): readonly string[] => node.node.orders.myOrders().makers.map((o) => o.uuid);
const clockWarnings = (node: SimNode): readonly string[] => node.log.lines.filter((line) => line.includes("peer_clock_differs"));

test.each([
  [19, -19],
  [-19, 19],
])("clocks %i s and %i s off keep their relay, trade, and neither side loses", async (makerSec, takerSec) => {
  const t = await tradingWorld({ seed: SEED, makerSkewMs: makerSec * SECOND_MS, takerSkewMs: takerSec * SECOND_MS });
  const before = purses(t);
  const uuid = await match(t, "4", "0.5");
  await t.world.runUntil("the swap ends for both", () => isOver(t, uuid), HOUR_MS);
  expect([t.maker.outcome(uuid), t.taker.outcome(uuid)]).toEqual(["success", "success"]);
  expectNobodyLost(t, uuid, before);
  await t.world.close();
});

test.each([30, -30])(
  "a node that comes up with its clock %i s off is left by its relay, says why, and keeps its order, which trades once the clock is right",
  async (offSec) => {
    const t = await tradingWorld({ seed: SEED });
    const { world, maker, taker } = t;
    const before = purses(t);
    await maker.stop();
    maker.skewMs = offSec * SECOND_MS;
    await maker.start(COINS);
    const order = await offer(world, maker, "4", "0.5");
    await world.advance(10 * MINUTE_MS);
    expect(maker.p2p.relays()).toEqual([]);
    expect(clockWarnings(maker).at(-1)).toContain(`"gap_sec":${-offSec},"limit_sec":20`);
    // Once a minute at most: it is polite about it.
    expect(clockWarnings(maker).length).toBeLessThan(20);
    expect(offers(maker)).toEqual([order]);
    maker.skewMs = 0;
    await world.runUntil("the maker has a relay", () => maker.p2p.relays().length > 0, 3 * MINUTE_MS);
    await world.advance(MINUTE_MS);
    const uuid = await buy(world, taker, "4", "0.5");
    await world.runUntil("the swap ends for both", () => maker.swaps.has(uuid) && isOver(t, uuid), HOUR_MS);
    expect([maker.outcome(uuid), taker.outcome(uuid)]).toEqual(["success", "success"]);
    expectNobodyLost(t, uuid, before);
    await world.close();
  },
);

test.each([
  ["maker", 30],
  ["maker", -30],
  ["taker", 30],
  ["taker", -30],
] as const)(
  "a %s restarted in the middle of a swap with its clock %i s off finishes it from the chains, without a relay",
  async (who, offSec) => {
    const t = await tradingWorld({ seed: SEED });
    const { world, maker, taker } = t;
    const before = purses(t);
    const uuid = await match(t, "4", "0.5");
    await world.runUntil("the taker has paid", () => maker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "takerPayment"));
    await t[who].stop();
    t[who].skewMs = offSec * SECOND_MS;
    await t[who].start(COINS);
    await world.runUntil("the swap ends for both", () => isOver(t, uuid), HOUR_MS);
    expect(t[who].p2p.relays()).toEqual([]);
    expect([maker.outcome(uuid), taker.outcome(uuid)]).toEqual(["success", "success"]);
    expectNobodyLost(t, uuid, before);
    await world.close();
  },
);
