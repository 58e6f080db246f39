import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { type SeamRun, seamRun } from "./seamRun.ts";

const SEED = 42;
const CHILD_LIMIT_MS = 60_000;

async function runInChild(seed: number): Promise<SeamRun> {
  const script = fileURLToPath(new URL("./seamChild.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [script, String(seed)], { timeout: CHILD_LIMIT_MS });
  return JSON.parse(stdout) as SeamRun;
}

test("two nodes, two chains and a relay in one process: one swap succeeds, one is refunded, and the same seed gives the same trace, twice and in two processes", async () => {
  const first = await seamRun(SEED);
  const second = await seamRun(SEED);
  const other = await seamRun(SEED + 1);
  const child = await runInChild(SEED);
  const seconds = (r: SeamRun): string => `${(r.realMs / 1_000).toFixed(2)} s (processor ${(r.cpuMs / 1_000).toFixed(2)} s)`;
  console.log(
    `simulator seam, seed ${SEED}: ${first.virtualHours.toFixed(1)} virtual hours, ${first.traceLength} things, ` +
      `real ${seconds(first)} cold, ${seconds(second)} warm, ${seconds(child)} in a process of its own`,
  );
  for (const run of [first, other]) {
    expect(run.outcomes).toEqual(["success", "success", "refunded", "refunded"]);
    expect(run.wrongs).toEqual([]);
  }
  expect(second.traceHash).toBe(first.traceHash);
  expect(child.traceHash).toBe(first.traceHash);
  expect(other.traceHash).not.toBe(first.traceHash);
}, 120_000);
