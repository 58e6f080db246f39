import { expect, test } from "vitest";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import { change, expectNobodyLost, isOver, leftovers, lockedContracts, minerFee, purses } from "./audit.ts";
import { COINS, match, tradingWorld } from "./trade.ts";

const SEED = 20_240_001;
/** What the swap is about: 4 DOC for 2 MARTY. */
const DOC_UNITS = 400_000_000n;
const MARTY_UNITS = 200_000_000n;
/** 2 MARTY / 777, cut to units: the taker's dex fee in the `spec` profile. */
const DEX_FEE = 200_000_000n / 777n;
/** Time locks of the profile: the taker payment opens after L, the maker payment after 2 L. */
const LOCK_MS = 7_800_000;

test("a swap between two whole nodes succeeds and every satoshi is where it belongs on both chains", async () => {
  const t = await tradingWorld({ seed: SEED });
  const { world, maker, taker } = t;
  const before = purses(t);
  const uuid = await match(t, "4", "0.5");
  await world.runUntil("the swap ends for both", () => isOver(t, uuid));
  expect([maker.outcome(uuid), taker.outcome(uuid)]).toEqual(["success", "success"]);
  const after = purses(t);
  expect(change(before.maker, after.maker)).toEqual({
    DOC: -DOC_UNITS - minerFee(world, maker, uuid, "DOC", "makerPayment"),
    MARTY: MARTY_UNITS - minerFee(world, maker, uuid, "MARTY", "takerPaymentSpend"),
  });
  const feeAndPayment = minerFee(world, taker, uuid, "MARTY", "fee") + minerFee(world, taker, uuid, "MARTY", "takerPayment");
  expect(change(before.taker, after.taker)).toEqual({
    DOC: DOC_UNITS - minerFee(world, taker, uuid, "DOC", "makerPaymentSpend"),
    MARTY: -MARTY_UNITS - DEX_FEE - feeAndPayment,
  });
  expect(lockedContracts(t, uuid)).toEqual([]);
  expectNobodyLost(t, uuid, before);
  await world.close();
});

test("a taker that vanishes after the maker has paid: the maker has its coins back hours later, not before its lock", async () => {
  const t = await tradingWorld({ seed: SEED, pollMs: 15_000 });
  const { world, maker, taker } = t;
  const before = purses(t);
  const uuid = await match(t, "4", "0.5");
  const startMs = world.clock.nowMs();
  await world.runUntil("the maker pays", () => maker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "makerPayment"));
  taker.crash();
  await world.runUntil("the maker ends", () => maker.outcome(uuid) !== null, 8 * HOUR_MS);
  expect(maker.outcome(uuid)).toBe("refunded");
  expect(world.clock.nowMs() - startMs).toBeGreaterThan(2 * LOCK_MS);
  const fees = minerFee(world, maker, uuid, "DOC", "makerPayment") + minerFee(world, maker, uuid, "DOC", "makerPaymentRefund");
  expect(change(before.maker, purses(t).maker)).toEqual({ DOC: -fees, MARTY: 0n });
  await taker.start(COINS);
  await world.runUntil("the taker ends", () => taker.outcome(uuid) !== null);
  expect(taker.outcome(uuid)).toBe("failed");
  expectNobodyLost(t, uuid, before);
  await world.close();
});

test("a maker that vanishes after the taker has paid: the taker has its coins back after its lock, and so has the maker when it returns", async () => {
  const t = await tradingWorld({ seed: SEED, pollMs: 15_000 });
  const { world, maker, taker } = t;
  const before = purses(t);
  const uuid = await match(t, "4", "0.5");
  const startMs = world.clock.nowMs();
  await world.runUntil("the taker pays", () => taker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "takerPayment"));
  maker.crash();
  await world.runUntil("the taker ends", () => taker.outcome(uuid) !== null, 8 * HOUR_MS);
  expect(taker.outcome(uuid)).toBe("refunded");
  expect(world.clock.nowMs() - startMs).toBeGreaterThan(LOCK_MS);
  await maker.start(COINS);
  await world.runUntil("the maker ends", () => maker.outcome(uuid) !== null, 8 * HOUR_MS);
  expect(maker.outcome(uuid)).toBe("refunded");
  expectNobodyLost(t, uuid, before);
  await world.close();
});

test("both nodes are stopped in good order in the middle of a swap and started again: it succeeds", async () => {
  const t = await tradingWorld({ seed: SEED });
  const { world, maker, taker } = t;
  const before = purses(t);
  const uuid = await match(t, "4", "0.5");
  await world.runUntil("the maker pays", () => maker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "makerPayment"));
  for (const node of [maker, taker]) await node.stop();
  await world.advance(300_000);
  for (const node of [taker, maker]) await node.start(COINS);
  await world.runUntil("the swap ends for both", () => isOver(t, uuid));
  expect([maker.outcome(uuid), taker.outcome(uuid)]).toEqual(["success", "success"]);
  expectNobodyLost(t, uuid, before);
  await world.close();
});

test("a maker that is back only after its limit to reveal the secret keeps it, and both sides take their own back", async () => {
  const t = await tradingWorld({ seed: SEED, pollMs: 15_000 });
  const { world, maker, taker } = t;
  const before = purses(t);
  const uuid = await match(t, "4", "0.5");
  const startMs = world.clock.nowMs();
  maker.storeFault = (_uuid, { event }) => (event.type === "tx_confirmed" && event.slot === "takerPayment" ? "crash_after" : undefined);
  await world.runUntil("the taker payment is confirmed", () => !maker.isRunning);
  maker.storeFault = () => undefined;
  // Past 4 L / 5, and the taker's lock is still closed.
  await world.advance(startMs + (4 * LOCK_MS) / 5 + 60_000 - world.clock.nowMs());
  await maker.start(COINS);
  await world.runUntil("both end", () => isOver(t, uuid), 8 * HOUR_MS);
  expect([maker.outcome(uuid), taker.outcome(uuid)]).toEqual(["refunded", "refunded"]);
  expect(maker.has(uuid, (e) => e.type === "tx_attempted" && e.slot === "takerPaymentSpend")).toBe(false);
  expectNobodyLost(t, uuid, before);
  await world.close();
});

test("a maker that died between marking its payment and sending it, and is back too late to send it, has its coins free again at once", async () => {
  const t = await tradingWorld({ seed: SEED });
  const { world, maker, taker } = t;
  const before = purses(t);
  const uuid = await match(t, "4", "0.5");
  maker.onBroadcast = (ticker, when) => {
    if (ticker === "DOC" && when === "before") maker.crash();
  };
  await world.runUntil("the maker dies", () => !maker.isRunning);
  maker.onBroadcast = () => undefined;
  await world.advance(HOUR_MS);
  const backMs = world.clock.nowMs();
  await maker.start(COINS);
  await world.runUntil("both end", () => isOver(t, uuid));
  expect([maker.outcome(uuid), taker.outcome(uuid)]).toEqual(["cancelled", "failed"]);
  expect(world.clock.nowMs() - backMs).toBeLessThan(300_000);
  expectNobodyLost(t, uuid, before);
  await world.advance(HOUR_MS);
  expect(leftovers(t)).toEqual([]);
  await world.close();
});
