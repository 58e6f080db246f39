import { expect, test } from "vitest";
import { NodeLogs, parseLogLine } from "./nodeLogs.ts";

const line = (fields: object): string => JSON.stringify(fields);

test("a line that is no event of a log is passed over", () => {
  for (const text of ["", "Debugger listening", "[1]", '{"level":"info"}', '{"event":7}', '{"event":"swap_ev'])
    expect(parseLogLine(text)).toBeNull();
  expect(parseLogLine('{"event":"started","rpc":"x"}')).toEqual({ event: "started", rpc: "x" });
});

test("a swap counts as resumed once, on its own node, and the time is that of the last one", () => {
  let nowMs = 0;
  const logs = new NodeLogs(() => nowMs);
  for (const [atMs, node, swap] of [
    [5, "maker", "a"],
    [9, "taker", "c"],
    [7, "maker", "b"],
    [7, "maker", "b"],
  ] as const) {
    nowMs = atMs;
    logs.read(node, line({ event: "swap_resumed", swap }));
  }
  expect(logs.resumed("maker")).toEqual({ swaps: new Set(["a", "b"]), lastMs: 7 });
  expect(logs.resumed("seed")).toEqual({ swaps: new Set(), lastMs: 0 });
});

test("the network is quiet since the last event any node stored", () => {
  let nowMs = 100;
  const logs = new NodeLogs(() => nowMs);
  logs.read("maker", line({ event: "swap_event", swap: "a" }));
  nowMs = 140;
  logs.read("taker", line({ event: "swap_event", swap: "a" }));
  logs.read("taker", line({ event: "broadcast" }));
  nowMs = 150;
  expect(logs.quietMs()).toBe(10);
});

test("warnings, errors and orders without a match are counted by name, nothing else is", () => {
  const logs = new NodeLogs(() => 0);
  for (const level of ["info", "warn", "error", "debug"]) logs.read("maker", line({ level, event: "swap_trouble" }));
  for (const reason of ["Fulfilled", "TimedOut"]) logs.read("taker", line({ level: "info", event: "taker_order_ended", reason }));
  expect([...logs.troubles]).toEqual([
    ["swap_trouble", 2],
    ["taker_order_ended TimedOut", 1],
  ]);
});
