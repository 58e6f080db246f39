import { expect, test } from "vitest";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import type { Role } from "../../src/core/swap/events.ts";
import { leftovers } from "../sim/accountAudit.ts";
import { type AccountCrash, accountCrash } from "../sim/accountCrashRun.ts";
import { accountWorld, ETH, type Ticker, TOKEN, UTXO } from "../sim/accountTrade.ts";
import type { CrashPoint } from "../sim/crashPoint.ts";

const SEED = 20_241_124;
const SECOND_MS = 1_000;
const FIVE_MINUTES_MS = 300_000;
/** Past the taker's lock of 2 h 10 min, before the maker's of 4 h 20 min. */
const AFTER_LOCK_MS = 2.5 * HOUR_MS;
/** More events and broadcasts than any swap has. */
const MAX_POINTS = 70;
const TIMEOUT_MS = 600_000;

const PAIRS: readonly (readonly [Ticker, Ticker])[] = [
  [ETH, UTXO],
  [UTXO, TOKEN],
  [TOKEN, ETH],
];
const WHO: readonly Role[] = ["maker", "taker"];

/** A swap for every point there is, one after the other in one world, until a point is not reached any more. */
async function allPoints(base: Ticker, rel: Ticker, point: Omit<CrashPoint, "n">): Promise<readonly AccountCrash[]> {
  const t = await accountWorld({ seed: SEED, ...(point.downMs > HOUR_MS ? { pollMs: 15_000 } : {}) });
  const runs: AccountCrash[] = [];
  for (let n = 0; n < MAX_POINTS; n++) {
    const run = await accountCrash(t, base, rel, { ...point, n });
    const where = `${base}/${rel} ${point.who} ${point.at} ${n}, down for ${point.downMs} ms; seed ${SEED}\n${run.wrongs.length > 0 ? t.world.report() : ""}`;
    expect(run.wrongs, where).toEqual([]);
    if (!run.hit) break;
    runs.push(run);
  }
  await t.world.advance(FIVE_MINUTES_MS);
  // What was approved for a payment that was given up may stay.
  if (!point.losesData) expect(leftovers(t, 4_000_000n)).toEqual([]);
  await t.world.close();
  expect(runs.length).toBeGreaterThan(0);
  expect(runs.length).toBeLessThan(MAX_POINTS);
  return runs;
}

const KEPT = ["failed failed", "failed null", "null failed", "null null"];

const all = PAIRS.flatMap(([base, rel]) => WHO.map((who) => [base, rel, who] as const));

test.each(all)(
  "%s for %s: a %s that dies right after any event was stored and is back a second later finishes the swap",
  async (base, rel, who) => {
    const runs = await allPoints(base, rel, { who, at: "after_store", downMs: SECOND_MS });
    expect(runs.length).toBeGreaterThan(15);
    for (const run of runs) expect(run.ends).toBe("success success");
  },
  TIMEOUT_MS,
);

test.each(all)(
  "%s for %s: a %s that dies right before any event is stored: both trade or both keep their own",
  async (base, rel, who) => {
    const runs = await allPoints(base, rel, { who, at: "before_store", downMs: SECOND_MS });
    expect(runs.length).toBeGreaterThan(15);
    for (const run of runs.slice(1)) expect(run.ends).toBe("success success");
  },
  TIMEOUT_MS,
);

test.each(all)(
  "%s for %s: a %s whose store refuses any one event goes on and nobody loses",
  async (base, rel, who) => {
    const runs = await allPoints(base, rel, { who, at: "store_refused", downMs: 0 });
    expect(runs.length).toBeGreaterThan(15);
    for (const run of runs.slice(1)) expect(run.ends).toBe("success success");
  },
  TIMEOUT_MS,
);

test.each(all.flatMap((pair) => (["before_broadcast", "after_broadcast"] as const).map((at) => [...pair, at] as const)))(
  "%s for %s: a %s that dies %s of any of its transactions sends it, once, when it is back",
  async (base, rel, who, at) => {
    const runs = await allPoints(base, rel, { who, at, downMs: FIVE_MINUTES_MS });
    for (const run of runs) expect(run.ends).toBe("success success");
  },
  TIMEOUT_MS,
);

test.each(all)(
  "%s for %s: a %s that dies after any event and is back only after the taker's lock loses nothing",
  async (base, rel, who) => {
    const runs = await allPoints(base, rel, { who, at: "after_store", downMs: AFTER_LOCK_MS });
    expect(runs.length).toBeGreaterThan(15);
    for (const run of runs) {
      const [maker, taker] = run.ends.split(" ");
      expect(
        [...KEPT, "success success"].includes(run.ends) || [maker, taker].some((end) => end === "refunded" || end === "cancelled"),
      ).toBe(true);
    }
  },
  TIMEOUT_MS,
);

test.each(all)(
  "%s for %s: a %s that dies after any of its broadcasts, and has nothing left but the copies of its open swaps, loses nothing",
  async (base, rel, who) => {
    const runs = await allPoints(base, rel, { who, at: "after_broadcast", downMs: SECOND_MS, losesData: true });
    expect(runs.filter((run) => run.ends === "success success").length).toBeGreaterThan(1);
  },
  TIMEOUT_MS,
);
