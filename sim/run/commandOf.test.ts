import { expect, test } from "vitest";
import { parseCli } from "./cliOptions.ts";
import { commandOf } from "./commandOf.ts";
import { failureText } from "./failure.ts";
import { DEFAULTS, type SimRunOptions } from "./options.ts";
import { scheduleOf, simRun } from "./simRun.ts";
import { worldOf } from "./worldOf.ts";

/** What the command line makes of a command. */
const read = (command: string): SimRunOptions | null => parseCli(command.replace("npm run sim -- ", "").split(" ")).run;

const ALL: SimRunOptions = {
  ...{ ...worldOf(7, 470), accounts: 2, electrum: 0.3, swaps: 3, kinds: ["crash", "reorg"], relayPolicy: "child", reorder: false },
  ...{ oneWay: true, first: true, onlyTrades: [3, 17], onlyFaults: [] },
};

test("the command printed for a world is read as that world, to the last option", () => {
  for (let seed = 1; seed <= 20; seed++)
    for (const density of [1, 4]) {
      const world = worldOf(seed, 470, seed % 3, density, 0.5);
      expect(read(commandOf(world))).toEqual(world);
    }
  expect(read(commandOf(ALL))).toEqual(ALL);
  expect(commandOf({ ...DEFAULTS, seed: 7, skewSec: 30 })).toBe("npm run sim -- --seed 7 --skew 30s");
});

test("a schedule keeps the trades and faults that are asked for, as they were drawn", () => {
  const whole = scheduleOf({ ...DEFAULTS, seed: 13 });
  const part = scheduleOf({ ...DEFAULTS, seed: 13, onlyTrades: [17, 3], onlyFaults: [5] });
  expect(part).toEqual({ trades: [whole.trades[3], whole.trades[17]], faults: [whole.faults[5]] });
  expect(scheduleOf({ ...DEFAULTS, seed: 13, onlyFaults: [] })).toEqual({ ...whole, faults: [] });
});

test("a failing run prints its command, and stories also where no swap is named", async () => {
  const options = { ...DEFAULTS, seed: 3, makers: 1, takers: 1, coins: 2, hours: 0.1, rate: 20, faults: 0 };
  const run = await simRun(options, scheduleOf(options));
  expect(run.swaps.size).toBeGreaterThan(0);
  const text = await failureText(
    options,
    { ...run, violations: [{ rule: "conservation", text: "a unit is gone", uuid: null, atMs: 0 }] },
    false,
  );
  expect(text.split("\n").slice(0, 2)).toEqual(["seed 3: 1 violations", commandOf(options)]);
  for (const uuid of run.swaps.keys()) expect(text).toContain(`swap ${uuid}: maker0 gives`);
}, 60_000);
