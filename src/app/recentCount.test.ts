import { expect, test } from "vitest";
import { RecentCount } from "./recentCount.ts";

const START_MS = 1_700_000_000_000;

test("what happened within the window counts, and is forgotten a second at a time", () => {
  const recent = new RecentCount(60);
  expect(recent.count(START_MS)).toBe(0);
  for (let s = 0; s < 60; s++) recent.note(START_MS + s * 1_000);
  expect(recent.count(START_MS + 59_999)).toBe(60);
  expect(recent.count(START_MS + 60_000)).toBe(59);
  expect(recent.count(START_MS + 90_000)).toBe(29);
  expect(recent.count(START_MS + 119_000)).toBe(0);
});

test("after a long silence nothing old is left", () => {
  const recent = new RecentCount(3);
  for (let i = 0; i < 10; i++) recent.note(START_MS);
  recent.note(START_MS + 3_600_000);
  expect(recent.count(START_MS + 3_600_000)).toBe(1);
});

test("a clock that is set back loses nothing", () => {
  const recent = new RecentCount(60);
  recent.note(START_MS);
  recent.note(START_MS - 10_000);
  expect(recent.count(START_MS - 10_000)).toBe(2);
  expect(recent.count(START_MS)).toBe(2);
});
