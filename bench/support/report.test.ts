import { expect, test } from "vitest";
import type { Machine } from "./machine.ts";
import { type Answer, renewed } from "./report.ts";

const machine = (commit: string): Machine => ({
  ...{ cpu: "cpu", cores: 2, memoryGb: 1, system: "linux", node: "v24", takenAt: "2026-01-01T00:00:00.000Z", load: 0.1 },
  commit,
});
const answer = (name: string, value: number): Answer => ({ name, title: `Title of ${name}`, figures: [{ what: "it", value, unit: "s" }] });
const NAMES = ["a", "b", "c"];

test("what was asked for is renewed, the rest keeps its figures and their commit, in the order of the questions", () => {
  const first = renewed("", NAMES, machine("one"), [answer("c", 1), answer("b", 2)]);
  const next = renewed(first, NAMES, machine("two"), [answer("c", 3), answer("a", 4)]);
  const told = [...next.matchAll(/-- (\w)`|commit (\w+);|\| it \| (\S+) s/g)].map(([, ...found]) => found.join(""));
  expect(told).toEqual(["a", "two", "4.00", "b", "one", "2.00", "c", "two", "3.00"]);
  expect(renewed(next, NAMES, machine("two"), [])).toBe(next);
});

test("a chapter whose question is gone goes, too", () => {
  const first = renewed("", NAMES, machine("one"), [answer("a", 1), answer("b", 2)]);
  expect(renewed(first, ["b"], machine("two"), [])).toBe(renewed("", ["b"], machine("one"), [answer("b", 2)]));
});
