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

const MINUTE_MS = 60_000;

test.each([-6, 6])(
  "a clock %i hours wrong befalls the swaps of its time; those after are inside the envelope, and succeed",
  async (hours) => {
    const atMs = 2 * MINUTE_MS;
    const restart = { afterMs: MINUTE_MS, forMs: 1_000 };
    const set: Fault = {
      ...{ id: 0, atMs, node: "taker0", kind: "clock_set", skewMs: hours * HOUR_MS, restart, forMs: 20 * MINUTE_MS, envelope: "outside" },
    } as const;
    const trades = [1, 4, 30].map((minutes, id) => ({ ...TRADE, id, atMs: minutes * MINUTE_MS }));
    const run = await simRun(WORLD, { trades, faults: [set] });
    expect(run.violations).toEqual([]);
    const swaps = [...run.swaps.values()].toSorted((a, b) => a.startedMs - b.startedMs);
    expect(swaps.map(({ outside }) => outside.size)).toEqual([1, 0]);
    expect(Object.values(swaps[1]?.sides ?? {}).map((side) => side.state.finished)).toEqual(["success", "success"]);
    expect([run.lives[0]?.endedMs, run.checks.get("caught up")]).toEqual([run.startMs + atMs + 20 * MINUTE_MS, 1]);
  },
);

test("no reorganisation takes back what nodes were given before the trading, and one above it happens", async () => {
  const reorg = { coin: "SEG", kind: "reorg", reorgInside: false, forget: true, envelope: "outside" } as const;
  const faults = [
    { ...reorg, id: 0, atMs: 0, depth: 8 },
    { ...reorg, id: 1, atMs: 1_000, depth: 6 },
  ];
  const run = await simRun({ ...WORLD, reorg: 8 }, { trades: [{ ...TRADE, atMs: 20 * MINUTE_MS }], faults });
  expect(run.violations).toEqual([]);
  expect(run.lives.map(({ happenedMs }) => happenedMs !== null)).toEqual([false, true]);
});
