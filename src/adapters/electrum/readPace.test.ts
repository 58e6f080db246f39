import { expect, test } from "vitest";
import { ReadPace } from "./readPace.ts";

test("each server is asked for what it bears: much at once, then a little each second, and nothing more by a clock that is set back", () => {
  const pace = new ReadPace();
  const [a, b] = [{ name: "a" }, { name: "b" }];
  for (let i = 0; i < 2_999; i++) pace.spend(a, 1, 1_000_000);
  expect(pace.open([a, b], 1_000_000)).toEqual([a, b]);
  pace.spend(a, 1, 1_000_000);
  expect(pace.open([a, b], 1_000_000)).toEqual([b]);
  expect(pace.open([a, b], 0)).toEqual([b]);
  expect(pace.open([a, b], 1_001_000)).toEqual([b]);
  expect(pace.open([a, b], 1_002_000)).toEqual([a, b]);
  pace.spend(a, 1, 1_002_000);
  expect(pace.open([a], 1_002_000)).toEqual([]);
  expect(pace.open([a], 90_000_000)).toEqual([a]);
});
