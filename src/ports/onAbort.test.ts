import { queryObjects } from "node:v8";
import { expect, test } from "vitest";
import { onAbort } from "./onAbort.ts";

class Kept {
  called = 0;
}
const taskOf = (kept: Kept) => (): void => void kept.called++;

test("what is let go of is not kept by its signal, though it was the first to wait for it", () => {
  const signals = Array.from({ length: 100 }, () => new AbortController().signal);
  for (const signal of signals) onAbort(signal, taskOf(new Kept()))();
  // The last may still be in a register.
  expect(queryObjects(Kept, { format: "count" })).toBeLessThan(5);
  expect(signals.some((signal) => signal.aborted)).toBe(false);
});

test("every task that still waits is called once, in the order they came", () => {
  const stop = new AbortController();
  const called: number[] = [];
  const letGo = [0, 1, 2].map((i) => onAbort(stop.signal, () => called.push(i)));
  letGo[1]?.();
  stop.abort();
  stop.abort();
  expect(called).toEqual([0, 2]);
});
