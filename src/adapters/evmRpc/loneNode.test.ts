import { expect, test } from "vitest";
import { SilentLog } from "../../../test/fakes/silentLog.ts";
import type { HeaderAnswer } from "./answers.ts";
import { EvmNode } from "./evmNode.ts";
import { LoneNode } from "./loneNode.ts";

const HEAD = { number: 7, hash: "aa".repeat(32), timestamp: 0 } as HeaderAnswer;

test("hours in which the machine slept are no minute in which one of two answered alone", () => {
  let nowMs = 0;
  const clock = { nowMs: () => nowMs, after: () => () => undefined };
  const log = new SilentLog();
  const [one, other] = ["one", "other"].map((name) => {
    const rpc = { call: () => Promise.reject(new Error("not asked")), callBatch: () => Promise.reject(new Error("not asked")) };
    const node = new EvmNode({ name, rpc, close: () => undefined }, clock, 1_000, log);
    node.arrived(HEAD, false);
    return node;
  }) as [EvmNode, EvmNode];
  const lone = new LoneNode([one, other], clock, log);
  other.noted({ kind: "unreachable", message: "the line is down" });
  lone.noteLook([one]);
  nowMs += 8 * 3_600_000;
  lone.noteLook([one]);
  expect(lone.believed).toBeNull();
  for (let looks = 0; looks < 2; looks++) lone.noteLook([one]);
  expect(lone.believed).toBe(one);
});
