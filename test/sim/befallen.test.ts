import { expect, test } from "vitest";
import type { Fault } from "../../sim/run/faults.ts";
import { DEFAULTS, type SimRunOptions } from "../../sim/run/options.ts";
import { simRun } from "../../sim/run/simRun.ts";

const HOUR_MS = 3_600_000;

/** One maker, one taker, one chain of each kind, and no trouble but what is asked for. */
const WORLD: SimRunOptions = { ...DEFAULTS, seed: 3, makers: 1, takers: 1, coins: 1, accounts: 1, faults: 0, reorg: 0 };

const TRADE = { id: 0, atMs: 60_000, taker: 0, action: "Buy", base: "ETHX", rel: "SEG", milli: 100 } as const;

/** From before the swap until long after it. */
const lies = (node: string): Fault => ({
  id: 0,
  atMs: 0,
  node,
  coin: "ETHX",
  kind: "daemon_lies",
  delta: 2,
  forMs: 2 * HOUR_MS,
  envelope: "outside",
});

test.each(["maker0", "taker0"])("a swap that begins while %s's nodes already lie is befallen, whoever stores it first", async (node) => {
  const run = await simRun(WORLD, { trades: [TRADE], faults: [lies(node)] });
  expect(run.violations).toEqual([]);
  expect([...run.swaps.values()].map(({ outside, misled }) => [[...outside], [...misled]])).toEqual([[[0], [node]]]);
});
