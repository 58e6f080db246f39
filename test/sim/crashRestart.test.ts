import { expect, test } from "vitest";
import type { Role } from "../../src/core/swap/events.ts";
import { leftovers } from "./audit.ts";
import type { CrashPoint } from "./crashPoint.ts";
import { type CrashRun, crashRun } from "./crashRun.ts";
import { tradingWorld } from "./trade.ts";

const SEED = 20_240_002;
const SECOND_MS = 1_000;
const FIVE_MINUTES_MS = 300_000;
/** More events and broadcasts than any swap has. */
const MAX_POINTS = 60;
const TIMEOUT_MS = 120_000;

/** A swap for every point there is, one after the other in one world, until a point is not reached any more. */
async function allPoints(point: Omit<CrashPoint, "n">): Promise<readonly CrashRun[]> {
  const t = await tradingWorld({ seed: SEED });
  const runs: CrashRun[] = [];
  for (let n = 0; n < MAX_POINTS; n++) {
    const run = await crashRun(t, { ...point, n });
    const where = `${point.who} ${point.at} ${n}, down for ${point.downMs} ms; seed ${SEED}\n${run.wrongs.length > 0 ? t.world.report() : ""}`;
    expect(run.wrongs, where).toEqual([]);
    if (!run.hit) break;
    runs.push(run);
  }
  // What is not settled is settled some blocks later; then nothing of all these swaps may be left.
  for (const { chain } of t.world.chains.values()) expect(chain.mine(12).ok).toBe(true);
  await t.world.advance(FIVE_MINUTES_MS);
  expect(leftovers(t)).toEqual([]);
  await t.world.close();
  expect(runs.length).toBeGreaterThan(0);
  expect(runs.length).toBeLessThan(MAX_POINTS);
  return runs;
}

const ended = (run: CrashRun): string => `${run.makerOutcome} ${run.takerOutcome}`;
const who: readonly Role[] = ["maker", "taker"];

test.each(who)(
  "a %s that dies right after any event was stored and is back a second later finishes the swap",
  async (role) => {
    const runs = await allPoints({ who: role, at: "after_store", downMs: SECOND_MS });
    expect(runs.length).toBeGreaterThan(15);
    for (const run of runs) expect(ended(run)).toBe("success success");
  },
  TIMEOUT_MS,
);

test.each(who)(
  "a %s that dies right after any event was stored and is back after five minutes: both trade or both keep their own",
  async (role) => {
    const runs = await allPoints({ who: role, at: "after_store", downMs: FIVE_MINUTES_MS });
    expect(runs.length).toBeGreaterThan(15);
    // Only a negotiation does not survive so long, and then nothing but the dex fee was ever sent.
    for (const run of runs) expect(["success success", "failed failed", "failed null"]).toContain(ended(run));
    expect(runs.filter((r) => ended(r) === "success success").length).toBeGreaterThan(12);
  },
  TIMEOUT_MS,
);

test.each(who)(
  "a %s whose store refuses any one event goes on and nobody loses",
  async (role) => {
    const runs = await allPoints({ who: role, at: "store_refused", downMs: 0 });
    expect(runs.length).toBeGreaterThan(15);
    for (const run of runs.slice(1)) expect(ended(run)).toBe("success success");
  },
  TIMEOUT_MS,
);

test.each(who)(
  "a %s that dies right before an event is stored: both trade or both keep their own",
  async (role) => {
    const runs = await allPoints({ who: role, at: "before_store", downMs: SECOND_MS });
    expect(runs.length).toBeGreaterThan(15);
    for (const run of runs.slice(1)) expect(ended(run)).toBe("success success");
  },
  TIMEOUT_MS,
);

test.each(who.flatMap((role) => (["before_broadcast", "after_broadcast"] as const).map((at) => [role, at] as const)))(
  "a %s that dies %s of any of its transactions sends it, once, when it is back",
  async (role, at) => {
    const runs = await allPoints({ who: role, at, downMs: FIVE_MINUTES_MS });
    for (const run of runs) expect(ended(run)).toBe("success success");
  },
  TIMEOUT_MS,
);

test.each(who)(
  "a %s that dies after any event, and has nothing left but the copies of its open swaps, loses nothing",
  async (role) => {
    const ends: string[] = [];
    for (let n = 0; n < MAX_POINTS; n++) {
      // Each in a world of its own: what a payment was signed with serves no other until a day past the lock, for it may have left.
      const t = await tradingWorld({ seed: SEED });
      const run = await crashRun(t, { who: role, at: "after_store", n, downMs: SECOND_MS, losesData: true });
      expect(run.wrongs, `${role} ${n}; seed ${SEED}\n${run.wrongs.length > 0 ? t.world.report() : ""}`).toEqual([]);
      await t.world.close();
      if (!run.hit) break;
      ends.push(ended(run));
    }
    expect(ends.length).toBeGreaterThan(15);
    // Once its payment may have left, it finishes the swap.
    expect(ends.filter((end) => end === "success success").length).toBeGreaterThan(8);
  },
  TIMEOUT_MS,
);
