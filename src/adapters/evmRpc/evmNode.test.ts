import { expect, test } from "vitest";
import { SilentLog } from "../../../test/fakes/silentLog.ts";
import { err, ok } from "../../core/util/result.ts";
import type { DaemonRpc } from "../../ports/daemonRpc.ts";
import { VirtualClock } from "../virtualClock/virtualClock.ts";
import { EvmNode } from "./evmNode.ts";
import { balanceQuery } from "./query.ts";

const { signal } = new AbortController();
const OWNER = "00".repeat(20) as Parameters<typeof balanceQuery>[0];

test("of many questions none is asked any more once a part of them could not be, and the node rests as after one failure", async () => {
  const clock = new VirtualClock();
  let requests = 0;
  const rpc: DaemonRpc = {
    call: async () => expect.fail("one call alone"),
    callBatch: async (calls) => {
      requests++;
      return calls.map(() => (requests === 1 ? ok("0x5") : err({ kind: "unreachable", message: "gone" })));
    },
  };
  const node = new EvmNode({ name: "a", rpc, close: () => undefined }, clock, 1_000, new SilentLog());
  const answers = await node.ask(
    Array.from({ length: 550 }, () => balanceQuery(OWNER)),
    "latest",
    1_000,
    signal,
  );
  expect([requests, answers.length, answers.filter((a) => a.ok).length, node.rested]).toEqual([2, 550, 100, false]);
  await clock.run({ untilMs: clock.nowMs() + 2_000 });
  expect(node.rested).toBe(true);
});
