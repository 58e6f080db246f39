import { expect, test } from "vitest";
import type { BlockHeader } from "../../core/proof/blockHeader.ts";
import type { Clock } from "../../ports/clock.ts";
import { VirtualClock } from "../virtualClock/virtualClock.ts";
import type { Anchored } from "./checkedHeaders.ts";
import type { HeaderPlan } from "./headerPlan.ts";
import { type BranchRead, KeptBranches, type KeptBranchesDeps } from "./keptBranches.ts";
import type { RemoteServer } from "./remoteServer.ts";

const HOUR_MS = 3_600_000;
const server = (): RemoteServer => ({}) as RemoteServer;
const plan = (length: number): HeaderPlan => ({
  fork: 1,
  headers: Array.from({ length }, () => ({}) as BlockHeader),
  height: 1 + length,
  target: 10_000,
  chain: null,
});

const quickly = (read: HeaderPlan): BranchRead => ({ plan: read, sinceMs: HOUR_MS, untilMs: HOUR_MS });

function begin(): { readonly branches: KeptBranches; readonly at: (ms: number) => void } {
  let nowMs = HOUR_MS;
  const clock: Clock = { nowMs: () => nowMs, after: () => () => undefined };
  return {
    branches: new KeptBranches({ clock } as KeptBranchesDeps),
    at: (ms) => {
      nowMs = HOUR_MS + ms;
    },
  };
}

test("eight branches are kept, those looked at last, of two thousand headers at most, for an hour", () => {
  const { branches, at } = begin();
  const servers = Array.from({ length: 9 }, server);
  for (const one of servers) branches.looked(one, quickly(plan(2_000)));
  expect(servers.map((one) => branches.of(one) !== null)).toEqual([false, ...Array(8).fill(true)]);
  const [, one = server()] = servers;
  branches.looked(one, quickly(plan(2_001)));
  expect(branches.of(one)).toBeNull();
  branches.looked(one, quickly(plan(3)));
  for (const [ms, isKept] of [
    [HOUR_MS, true],
    [HOUR_MS + 1, false],
    [-HOUR_MS - 1, false],
  ] as const) {
    at(ms);
    expect(branches.of(one) !== null).toBe(isKept);
  }
});

test.each([
  ["as it did", true],
  ["not where it did", false],
])("a branch that takes long to read is there at a later look, once, if it then parts from our chain %s", async (_, stands) => {
  const clock = new VirtualClock();
  const hashes = new Map([
    [1, "fork"],
    [2, "ours"],
  ]);
  const index = { headerAt: (height: number) => ({ hash: hashes.get(height) }) };
  const branches = new KeptBranches({ clock, index } as unknown as KeptBranchesDeps);
  const branch = { ...plan(1), headers: [{ hash: "theirs", prevHash: "fork" } as BlockHeader], chain: {} as Anchored };
  let end = (_plan: HeaderPlan): void => undefined;
  let begun = 0;
  const read = async (): ReturnType<KeptBranches["read"]> => {
    const reading = branches.read(one, () => {
      begun++;
      return new Promise((resolve) => {
        end = resolve;
      });
    });
    await clock.advance(2_000);
    return reading;
  };
  const one = server();
  const sinceMs = clock.nowMs();
  expect([await read(), await read()]).toEqual([null, null]);
  end(branch);
  if (!stands) hashes.set(2, "theirs");
  expect(await read()).toEqual({ plan: stands ? branch : null, sinceMs, untilMs: sinceMs + 4_000 });
  expect(begun).toBe(1);
});

test("a branch that took three seconds is left alone for thirty, also where it is an hour until somebody looks at what was read of it", async () => {
  const clock = new VirtualClock();
  const branches = new KeptBranches({ clock } as unknown as KeptBranchesDeps);
  const one = server();
  const look = async (): Promise<boolean> => {
    const reading = branches.read(one, () => new Promise((resolve) => void clock.after(3_000, () => resolve(null))));
    await clock.advance(2_000);
    const read = await reading;
    if (read !== null) branches.looked(one, read);
    return read !== null;
  };
  expect(await look()).toBe(false);
  await clock.advance(HOUR_MS);
  expect([await look(), branches.rests(one)]).toEqual([true, false]);
  expect(await look()).toBe(false);
  await clock.advance(3_000);
  expect([await look(), branches.rests(one)]).toEqual([true, true]);
  await clock.advance(30_000);
  expect(branches.rests(one)).toBe(false);
});
