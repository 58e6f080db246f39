import { expect, test } from "vitest";
import { FaultyRpc } from "../../../test/fakes/faultyRpc.ts";
import { ok } from "../../core/util/result.ts";
import type { DaemonRpc } from "../../ports/daemonRpc.ts";
import { VirtualClock } from "../virtualClock/virtualClock.ts";
import { daemonTrouble } from "./daemonTrouble.ts";

const FIRST = "0f".repeat(32);

function daemon() {
  const clock = new VirtualClock();
  const answers: DaemonRpc = { call: async (method) => (method === "getblockhash" ? ok(FIRST) : expect.fail(method)) };
  const rpc = new FaultyRpc(answers);
  return { clock, rpc, trouble: (expected: string | null) => daemonTrouble("TST", rpc, clock, expected, new AbortController().signal) };
}

test("a daemon that serves the coin's chain, or the first that is seen of it, has no trouble; one of another chain has", async () => {
  const { trouble } = daemon();
  expect([await trouble(FIRST), await trouble(null)]).toEqual([null, null]);
  expect(await trouble("aa".repeat(32))).toMatch(/^The TST daemon serves another chain: its first block is (0f){32}/);
});

test("one that never answers is told within ten seconds", async () => {
  const { clock, rpc, trouble } = daemon();
  rpc.stalled.add("getblockhash");
  const told = trouble(FIRST);
  await clock.advance(10_000);
  expect(await told).toBe("The TST daemon cannot be used: no answer to getblockhash within 10 s.");
}, 5_000);
