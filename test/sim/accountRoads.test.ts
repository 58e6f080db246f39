import { afterEach, expect, test } from "vitest";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import type { Role } from "../../src/core/swap/events.ts";
import { swapStatus } from "../../src/core/swap/swapStatus.ts";
import { books, change, dexBalance, expectNobodyLost, leftovers, minerFees, outcomes } from "./accountAudit.ts";
import { type AccountWorld, ALL, accountWorld, ETH, match, type Ticker, TOKEN, USDT, UTXO } from "./accountTrade.ts";
import { isOver } from "./audit.ts";

const SEED = 20_241_123;
const POLL_MS = 15_000;
const LOCK_MS = 7_800_000;
const MINUTE_MS = 60_000;
/** Base units of one coin. */
const UNIT: Readonly<Record<Ticker, bigint>> = { [UTXO]: 10n ** 8n, [ETH]: 10n ** 18n, [TOKEN]: 10n ** 6n, [USDT]: 10n ** 6n };

type Pair = readonly [Ticker, Ticker];
const PAIRS: readonly Pair[] = [
  [UTXO, ETH],
  [ETH, UTXO],
  [UTXO, TOKEN],
  [TOKEN, ETH],
  [ETH, TOKEN],
];
/** Roads that take hours: each coin in each role. */
const LONG_PAIRS: readonly Pair[] = [
  [ETH, UTXO],
  [UTXO, TOKEN],
  [TOKEN, ETH],
];

let t: AccountWorld;
afterEach(() => t.world.close());

const events = (role: Role, uuid: string) => (t[role].swaps.get(uuid) ?? []).map((e) => e.event);
const shown = (role: Role, uuid: string) => swapStatus(t[role].swaps.get(uuid) ?? []);

/** Everything either node keeps for swaps goes once nothing is left to settle. */
async function expectNothingLeft(): Promise<void> {
  for (const node of [t.maker, t.taker]) await t.world.settle(node.node.orders.cancelAllOrders({ type: "All" }));
  await t.world.advance(20 * MINUTE_MS);
  expect(leftovers(t)).toEqual([]);
}

test.each(PAIRS)("a swap of %s for %s: every base unit is where it belongs, and nothing is kept", async (base, rel) => {
  t = await accountWorld({ seed: SEED });
  const before = books(t);
  const uuid = await match(t, base, rel, "4", "0.5");
  await t.world.runUntil("the swap ends for both", () => isOver(t, uuid));
  expect(outcomes(t, uuid)).toBe("success success");
  const [first] = events("taker", uuid);
  if (first?.type !== "started") throw new Error("no start");
  const { dexFeePubkey, dexFeeUnits } = first.terms;
  const [gave, got, fee] = [4n * UNIT[base], 2n * UNIT[rel], BigInt(dexFeeUnits)];
  expect(fee).toBe((2n * UNIT[rel]) / 777n);
  const none = { [UTXO]: 0n, [ETH]: 0n, [TOKEN]: 0n, [USDT]: 0n };
  const maker = { ...none, [base]: -gave, [rel]: got };
  const taker = { ...none, [base]: gave, [rel]: -got - fee };
  maker[UTXO] -= minerFees(t, "maker", uuid);
  taker[UTXO] -= minerFees(t, "taker", uuid);
  expect({ maker: change(t, "maker", before), taker: change(t, "taker", before) }).toEqual({ maker, taker });
  if (rel !== UTXO) expect(dexBalance(t, rel, dexFeePubkey ?? "")).toBe(fee);
  for (const role of ["maker", "taker"] as const) expect(shown(role, uuid)).toMatchObject({ is_finished: true, is_success: true });
  expectNobodyLost(t, [uuid], before);
  await expectNothingLeft();
});

test.each(LONG_PAIRS)(
  "%s for %s: a taker that vanishes after the maker has paid costs the maker its gas and no more",
  async (base, rel) => {
    t = await accountWorld({ seed: SEED, pollMs: POLL_MS });
    const before = books(t);
    const uuid = await match(t, base, rel, "4", "0.5");
    const startMs = t.world.clock.nowMs();
    await t.world.runUntil("the maker pays", () => t.maker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "makerPayment"));
    t.taker.crash();
    await t.world.runUntil("the maker ends", () => t.maker.outcome(uuid) !== null, 8 * HOUR_MS);
    expect(t.maker.outcome(uuid)).toBe("refunded");
    expect(t.world.clock.nowMs() - startMs).toBeGreaterThan(2 * LOCK_MS);
    await t.taker.start(ALL);
    await t.world.runUntil("the taker ends", () => t.taker.outcome(uuid) !== null);
    expect(t.taker.outcome(uuid)).toBe("failed");
    expect(shown("maker", uuid)).toMatchObject({ is_finished: true, is_success: false });
    expectNobodyLost(t, [uuid], before);
    await expectNothingLeft();
  },
);

test.each(LONG_PAIRS)("%s for %s: a maker that vanishes after the taker has paid: each has its own back", async (base, rel) => {
  t = await accountWorld({ seed: SEED, pollMs: POLL_MS });
  const before = books(t);
  const uuid = await match(t, base, rel, "4", "0.5");
  const startMs = t.world.clock.nowMs();
  await t.world.runUntil("the taker pays", () => t.taker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "takerPayment"));
  t.maker.crash();
  await t.world.runUntil("the taker ends", () => t.taker.outcome(uuid) !== null, 8 * HOUR_MS);
  expect(t.taker.outcome(uuid)).toBe("refunded");
  expect(t.world.clock.nowMs() - startMs).toBeGreaterThan(LOCK_MS);
  await t.maker.start(ALL);
  await t.world.runUntil("the maker ends", () => t.maker.outcome(uuid) !== null, 8 * HOUR_MS);
  expect(t.maker.outcome(uuid)).toBe("refunded");
  expectNobodyLost(t, [uuid], before);
  await expectNothingLeft();
});

test.each(LONG_PAIRS)("%s for %s: a taker that was down while the maker claimed learns the secret when it is back", async (base, rel) => {
  t = await accountWorld({ seed: SEED, pollMs: POLL_MS });
  const before = books(t);
  const uuid = await match(t, base, rel, "4", "0.5");
  await t.world.runUntil("the taker pays", () => t.taker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "takerPayment"));
  t.taker.crash();
  await t.world.runUntil("the maker ends", () => t.maker.outcome(uuid) !== null, 3 * HOUR_MS);
  expect(t.maker.outcome(uuid)).toBe("success");
  // Past its own lock, before the maker's: it must not take its payment back, it is gone.
  await t.world.advance(3 * HOUR_MS);
  await t.taker.start(ALL);
  await t.world.runUntil("the taker ends", () => t.taker.outcome(uuid) !== null);
  expect(t.taker.outcome(uuid)).toBe("success");
  expectNobodyLost(t, [uuid], before);
  await expectNothingLeft();
});

test.each(LONG_PAIRS)(
  "%s for %s: a maker back after its limit to reveal the secret keeps it, and both take their own back",
  async (base, rel) => {
    t = await accountWorld({ seed: SEED, pollMs: POLL_MS });
    const before = books(t);
    const uuid = await match(t, base, rel, "4", "0.5");
    const startMs = t.world.clock.nowMs();
    t.maker.storeFault = (_uuid, { event }) => (event.type === "tx_confirmed" && event.slot === "takerPayment" ? "crash_after" : undefined);
    await t.world.runUntil("the taker payment is confirmed", () => !t.maker.isRunning);
    t.maker.storeFault = () => undefined;
    await t.world.advance(startMs + (4 * LOCK_MS) / 5 + MINUTE_MS - t.world.clock.nowMs());
    await t.maker.start(ALL);
    await t.world.runUntil("both end", () => isOver(t, uuid), 8 * HOUR_MS);
    expect(outcomes(t, uuid)).toBe("refunded refunded");
    expectNobodyLost(t, [uuid], before);
    await expectNothingLeft();
  },
);

test.each(LONG_PAIRS)("%s for %s: a maker whose claim waits until just before the taker's lock still has it in time", async (base, rel) => {
  t = await accountWorld({ seed: SEED, pollMs: POLL_MS });
  const before = books(t);
  const uuid = await match(t, base, rel, "4", "0.5");
  const startMs = t.world.clock.nowMs();
  t.maker.storeFault = (_uuid, { event }) =>
    event.type === "tx_attempted" && event.slot === "takerPaymentSpend" ? "crash_after" : undefined;
  await t.world.runUntil("the claim is about to leave", () => !t.maker.isRunning);
  t.maker.storeFault = () => undefined;
  await t.world.advance(startMs + LOCK_MS - 10 * MINUTE_MS - t.world.clock.nowMs());
  await t.maker.start(ALL);
  await t.world.runUntil("both end", () => isOver(t, uuid), 8 * HOUR_MS);
  expect(outcomes(t, uuid)).toBe("success success");
  expectNobodyLost(t, [uuid], before);
  await expectNothingLeft();
});
