import { expect, test } from "vitest";
import { RequestPace } from "./requestPace.ts";

const NOW = 1_700_000_000_000;

test("eighty questions at once, then sixteen a second, thirty seconds ahead at most", () => {
  const pace = new RequestPace();
  const waits = Array.from({ length: 600 }, () => pace.takeTurn(["A"], NOW)?.waitMs);
  expect(waits.filter((ms) => ms === 0)).toHaveLength(80);
  expect(waits[80 + 16 - 1]).toBe(1_000);
  expect(waits.filter((ms) => ms !== undefined)).toHaveLength(80 + 480);
  expect(pace.takeTurn(["A"], NOW + 1_000)?.waitMs).toBe(29_062.5);
});

test("who has the next turn free is asked, the first among equals", () => {
  const pace = new RequestPace();
  const asked = Array.from({ length: 160 }, () => pace.takeTurn(["A", "B"], NOW));
  expect(asked.every((turn) => turn?.waitMs === 0)).toBe(true);
  expect(asked.slice(0, 80).every((turn) => turn?.peer === "A")).toBe(true);
  expect(pace.takeTurn([], NOW)).toBeUndefined();
});

test("a clock that is set back by an hour keeps nobody from asking", () => {
  const pace = new RequestPace();
  for (let i = 0; i < 600; i++) pace.takeTurn(["A"], NOW);
  expect(pace.takeTurn(["A"], NOW - 3_600_000)).toEqual({ peer: "A", waitMs: 0 });
});

test("of peers that come under ever new ids only those are remembered that were asked a moment ago", () => {
  const pace = new RequestPace();
  for (let n = 0; n < 10_000; n++) pace.takeTurn([`peer ${n}`], NOW + n);
  expect(pace.size).toBeLessThan(100);
  for (let n = 0; n < 100; n++) pace.takeTurn([`late ${n}`], NOW - 3_600_000 + n);
  expect(pace.size).toBeLessThan(100);
});
