import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { parseCli } from "../../sim/run/cliOptions.ts";
import { ENVELOPE } from "../../sim/run/envelope.ts";
import { FAULT_KINDS, type Fault, SERVER_FAULT_KINDS } from "../../sim/run/faults.ts";
import { DEFAULTS, type SimRunOptions } from "../../sim/run/options.ts";
import { shrink } from "../../sim/run/shrink.ts";
import { scheduleOf, simRun } from "../../sim/run/simRun.ts";
import { addUp, notExercised, type Summary, summarize, summaryText } from "../../sim/run/summary.ts";
import { RULES } from "../../sim/run/watch.ts";
import { worldOf } from "../../sim/run/worldOf.ts";

/** A small world: a few swaps of a few nodes. */
const SMALL: SimRunOptions = { ...DEFAULTS, seed: 7, makers: 2, takers: 4, hours: 0.5, rate: 10, pollSec: 30, faults: 30, outside: 0 };
const ARGS = "--seed 7 --makers 2 --takers 4 --hours 0.5 --rate 10 --poll 30s --faults 30 --outside 0%".split(" ");
const LIMIT_MS = 600_000;

const main = fileURLToPath(new URL("../../sim/main.ts", import.meta.url));

async function inOtherProcess(): Promise<Summary> {
  const { stdout } = await promisify(execFile)(process.execPath, [main, "--json", ...ARGS], { timeout: LIMIT_MS });
  return JSON.parse(stdout) as Summary;
}

test(
  "the same options give the same run in two processes, bit for bit, faults and all; one fault less gives another",
  async () => {
    const schedule = scheduleOf(SMALL);
    const [there, run] = await Promise.all([inOtherProcess(), simRun(SMALL, schedule)]);
    const here = summarize(run);
    console.log(`seed 7:\n${summaryText(here)}`);
    expect(there.traceHash).toBe(here.traceHash);
    expect(here.violations).toEqual([]);
    expect(here.ends.inside["success/success"]).toBeGreaterThan(5);
    const happened = Object.values(here.faults.inside).reduce((n, c) => n + c.happened, 0);
    expect(happened).toBeGreaterThan(5);
    for (const rule of ["secret", "stored first", "one output", "one fee", "truth", "ends", "conservation", "funds", "in time", "in order"])
      expect([rule, (here.checks[rule] ?? 0) > 0]).toEqual([rule, true]);
    const other = await simRun(SMALL, { trades: schedule.trades.slice(0, 3), faults: schedule.faults.slice(1, 4) });
    expect(other.traceHash).not.toBe(here.traceHash);
  },
  LIMIT_MS,
);

test("the same seed draws the same schedule, and what is drawn inside the envelope stays inside together", () => {
  const options = { ...DEFAULTS, seed: 11, faults: 200, outside: 0 };
  const { faults } = scheduleOf(options);
  expect(scheduleOf(options)).toEqual(scheduleOf(options));
  expect(faults.length).toBeGreaterThan(100);
  expect(new Set(faults.map((f) => f.envelope))).toEqual(new Set(["inside"]));
  const downOf = (node: string, fromMs: number): number =>
    faults
      .filter(
        (f) => "node" in f && f.node === node && "forMs" in f && f.kind !== "partition" && f.kind !== "clock" && f.kind !== "daemon_slow",
      )
      .filter((f) => f.atMs >= fromMs && f.atMs < fromMs + ENVELOPE.troubleWindowMs)
      .reduce((n, f) => n + ("forMs" in f ? f.forMs : 0), 0);
  for (const f of faults) if ("node" in f) expect(downOf(f.node, f.atMs)).toBeLessThanOrEqual(ENVELOPE.troubleSumMs);
});

test("what lies beyond the envelope is said to", () => {
  const { faults } = scheduleOf({ ...DEFAULTS, seed: 12, faults: 200, outside: 1 });
  expect(faults.length).toBeGreaterThan(50);
  expect(new Set(faults.map((f) => f.envelope))).toEqual(new Set(["outside"]));
});

test.each(["litter", "clock_set", "new_coins", "odd_forms"] as const)(
  "%s has dice of its own: the other faults of a seed stay as they are",
  (own) => {
    const { faults } = scheduleOf({ ...DEFAULTS, seed: 14, faults: 400, outside: 0.5 });
    const others = FAULT_KINDS.filter((kind) => kind !== own);
    const without = scheduleOf({ ...DEFAULTS, seed: 14, faults: 400, outside: 0.5, kinds: others }).faults;
    const plain = (all: readonly Fault[]): readonly object[] => all.map(({ id: _, ...rest }) => rest);
    expect(plain(faults.filter((f) => f.kind !== own))).toEqual(plain(without));
    expect(faults.filter((f) => f.kind === own).length).toBeGreaterThan(10);
    expect(faults.map((f) => f.id)).toEqual(faults.map((_, i) => i));
  },
);

test("clocks are set by minutes to half a day, forward and back, for a while, and some processes die and come back with them", () => {
  const { faults } = scheduleOf({ ...DEFAULTS, seed: 16, faults: 100, hours: 10, outside: 1, kinds: ["clock_set"] });
  const set = faults.flatMap((f) => (f.kind === "clock_set" ? [f] : []));
  expect(set.length).toBe(faults.length);
  expect(set.length).toBeGreaterThan(500);
  const minutes = set.map((f) => f.skewMs / 60_000);
  expect(Math.min(...minutes.map(Math.abs))).toBe(2);
  expect([Math.min(...minutes) < -600, Math.max(...minutes) > 600, Math.max(...minutes.map(Math.abs)) <= 720]).toEqual([true, true, true]);
  expect(set.filter((f) => f.restart !== null).length).toBeGreaterThan(100);
  expect(scheduleOf({ ...DEFAULTS, seed: 16, faults: 100, outside: 0, kinds: ["clock_set"] }).faults).toEqual([]);
});

test("takers of a one-way world only buy the first coin for the second", () => {
  const { trades } = scheduleOf({ ...DEFAULTS, seed: 15, oneWay: true });
  expect(new Set(trades.map((t) => `${t.action} ${t.base}/${t.rel}`))).toEqual(new Set(["Buy SEG/LEG"]));
});

/** What `--ci` wants of a run, and nothing more. */
const enough: Summary = {
  ...addUp([]),
  swaps: 20_000,
  faults: {
    inside: Object.fromEntries([...FAULT_KINDS, ...SERVER_FAULT_KINDS].map((kind) => [kind, { drawn: 1, happened: 1, befell: 0 }])),
    outside: {},
  },
  checks: Object.fromEntries(RULES.map((rule) => [rule, 1])),
};

test.each([
  ["that did enough", {}, []],
  ["with a swap too few", { swaps: 19_999 }, ["19999 swaps ran, 20000 are the least"]],
  [
    "with a fault that never happened",
    { faults: { inside: { ...enough.faults.inside, reorg: { drawn: 9, happened: 0, befell: 0 } }, outside: {} } },
    ["no reorg happened"],
  ],
  ["with a rule that was never tested", { checks: { ...enough.checks, secret: 0 } }, ['the rule "secret" was never tested']],
])("a run for CI %s says so", (_, change, missing) => {
  expect(notExercised({ ...enough, ...change }, parseCli(["--ci"]).floor ?? 0)).toEqual(missing);
});

test("shrinking finds the one fault and the one trade that matter", async () => {
  const schedule = scheduleOf({ ...DEFAULTS, seed: 13 });
  const [fault, trade] = [schedule.faults[5]?.id, schedule.trades[17]?.id];
  const smallest = await shrink(schedule, { runs: 1_000, realMs: 60_000 }, async (part) => {
    return part.faults.some((f) => f.id === fault) && part.trades.some((t) => t.id === trade);
  });
  expect(smallest.schedule.faults.map((f) => f.id)).toEqual([fault]);
  expect(smallest.schedule.trades.map((t) => t.id)).toEqual([trade]);
});

const ACCOUNT_ARGS = "--seed 2 --makers 1 --takers 2 --coins 1 --accounts 3 --hours 0.2 --rate 45 --faults 60 --outside 0%";

test(
  "coins and tokens of an account chain trade under the same rules, faults and all, with books that come out for every node",
  async () => {
    const { run: options } = parseCli(ACCOUNT_ARGS.split(" "));
    if (!options) throw new Error("no options");
    const run = await simRun(options, scheduleOf(options));
    const here = summarize(run);
    console.log(`seed 2, accounts:\n${summaryText(here)}`);
    expect(here.violations).toEqual([]);
    expect(here.ends.inside["success/success"]).toBeGreaterThan(3);
    for (const rule of ["secret", "stored first", "one nonce", "one fee", "truth", "ends", "conservation", "funds", "in time", "in order"])
      expect([rule, (here.checks[rule] ?? 0) > 0]).toEqual([rule, true]);
    const again = await simRun(options, scheduleOf(options));
    expect(again.traceHash).toBe(here.traceHash);
  },
  LIMIT_MS,
);

const ELECTRUM_ARGS = "--seed 3 --makers 1 --takers 2 --coins 2 --hours 0.3 --rate 20 --faults 60 --outside 0% --electrum 70% --poll 30s";

test(
  "coins on Electrum trade under the same rules while up to two of five servers are down, stall, lag or lie, twice the same, bit for bit",
  async () => {
    const { run: options } = parseCli(ELECTRUM_ARGS.split(" "));
    if (!options) throw new Error("no options");
    const run = await simRun(options, scheduleOf(options));
    const here = summarize(run);
    console.log(`seed 3, Electrum:\n${summaryText(here)}`);
    expect(here.violations).toEqual([]);
    expect(here.ends.inside["success/success"]).toBeGreaterThan(3);
    for (const kind of SERVER_FAULT_KINDS) expect([kind, (here.faults.inside[kind]?.happened ?? 0) > 0]).toEqual([kind, true]);
    const again = await simRun(options, scheduleOf(options));
    expect(again.traceHash).toBe(here.traceHash);
  },
  LIMIT_MS,
);

test("faults of servers have dice of their own, and hit less than half of a chain's servers at a time", () => {
  const options = { ...DEFAULTS, seed: 16, faults: 200 };
  const isOfServer = (kind: string): boolean => (SERVER_FAULT_KINDS as readonly string[]).includes(kind);
  const { faults } = scheduleOf({ ...options, electrum: 0.3 });
  expect(faults.filter((f) => !isOfServer(f.kind))).toEqual(scheduleOf(options).faults);
  const bad = faults.filter((f) => "server" in f);
  expect(bad.length).toBeGreaterThan(10);
  for (const f of bad) {
    const others = bad.filter((o) => o.coin === f.coin && o.server !== f.server && o.atMs <= f.atMs && f.atMs < o.atMs + o.forMs);
    expect(new Set(others.map((o) => o.server)).size).toBeLessThan(2);
  }
});

test("without accounts the worlds of seeds are what they were; with them there are one or two other coins", () => {
  const { accounts, coins } = worldOf(56, 100, 3);
  expect([accounts, coins === 1 || coins === 2]).toEqual([3, true]);
  expect(worldOf(56, 100)).toEqual({ ...worldOf(56, 100, 3), accounts: 0, coins: worldOf(56, 100).coins });
  expect(() => parseCli(["--coins", "1"])).toThrow(RangeError);
});
