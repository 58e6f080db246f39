import { expect, test } from "vitest";
import { WaitedLooks } from "./waitedLooks.ts";

const HOUR_MS = 3_600_000;

/** Looks each fifteen seconds, by a clock that may be set. */
function looking() {
  const clock = { nowMs: 1_700_000_000_000 };
  const looks = new WaitedLooks({ nowMs: () => clock.nowMs, after: () => () => undefined });
  const look = (tip: string | null, afterMs = 15_000): readonly [number, number] => {
    clock.nowMs += afterMs;
    looks.look(tip);
    return [looks.waitedSec, looks.stillSec];
  };
  return { clock, look };
}

test("a wait is as long as looks lasted, and without a new block it goes on while none is shown", () => {
  const { look } = looking();
  expect(look("a")).toEqual([15, 0]);
  expect(look("a")).toEqual([30, 15]);
  expect(look("b")).toEqual([45, 0]);
  look("b");
  expect(look("b")).toEqual([75, 30]);
  look(null);
  expect(look(null)).toEqual([105, 15]);
});

test.each([6, -6])("a clock that is set by %i hours between two looks makes no wait longer than a minute, and none shorter", (hours) => {
  const { look } = looking();
  look("a");
  const [waitedSec, stillSec] = look("a", hours * HOUR_MS);
  expect(waitedSec).toBeGreaterThanOrEqual(15);
  expect(waitedSec).toBeLessThanOrEqual(75);
  expect(stillSec).toBeLessThanOrEqual(60);
  expect(look("a")).toEqual([waitedSec + 15, stillSec + 15]);
});
