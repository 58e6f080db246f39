import { expect, test } from "vitest";
import { chaosRun } from "./chaosRun.ts";

/** Worlds tried; another range can be given to look for trouble: `SIM_SEEDS=100-400 npx vitest run test/sim/chaos.test.ts`. */
const [FIRST = 1, LAST = 12] = (process.env.SIM_SEEDS ?? "1-12").split("-").map(Number);
const TIMEOUT_MS = 600_000;

test(
  `crashes, bad daemons, reorgs and dead lines at random, seeds ${FIRST} to ${LAST}: whatever comes, nobody loses and nothing stays locked`,
  async () => {
    const ends = new Map<string, number>();
    for (let seed = FIRST; seed <= LAST; seed++) {
      const run = await chaosRun(seed);
      expect(run.found, `seed ${seed}`).toEqual([]);
      for (const end of run.ends) ends.set(end, (ends.get(end) ?? 0) + 1);
    }
    console.log(`chaos, seeds ${FIRST} to ${LAST}: ${[...ends].map(([end, n]) => `${end} ${n}`).join(", ")}`);
    expect(ends.get("success success")).toBeGreaterThan(0);
  },
  TIMEOUT_MS,
);
