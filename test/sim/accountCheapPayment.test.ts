import { afterEach, expect, test } from "vitest";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import { leftovers, outcomes } from "./accountAudit.ts";
import { type AccountWorld, ALL, accountWorld, ETH, UTXO } from "./accountTrade.ts";
import { isOver } from "./audit.ts";
import { claimBehindPayment } from "./claimBehindPayment.ts";

const SEED = 20_261_123;
const TIMEOUT_MS = 120_000;

let t: AccountWorld;
afterEach(() => t.world.close());

test.each(["runs", "waits for its other coin"] as const)(
  "a payment that pools have below the base fee, and whose swap %s, costs no other swap the claim behind it",
  async (how) => {
    t = await accountWorld({ seed: SEED, pollMs: 15_000 });
    const { taker, world } = t;
    const chain = world.accountChain(ETH);
    const { first, second } = await claimBehindPayment(t, 1.4 * HOUR_MS);
    chain.spike(30n, 5 * HOUR_MS, true);
    if (how === "waits for its other coin") {
      taker.crash();
      await taker.start(ALL.filter((coin) => coin !== UTXO));
    }
    await world.advance(5 * 60_000);
    chain.held.clear();
    await world.runUntil("the first one ends", () => taker.outcome(first) !== null, 10 * HOUR_MS);
    if (how === "waits for its other coin") await taker.enable([UTXO]);
    await world.runUntil("both end", () => [first, second].every((uuid) => isOver(t, uuid)), 10 * HOUR_MS);
    expect([outcomes(t, first), outcomes(t, second)]).toEqual(["success success", "refunded cancelled"]);
    expect(leftovers(t)).toEqual([]);
  },
  TIMEOUT_MS,
);
