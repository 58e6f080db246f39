import { expect, test } from "vitest";
import { failure, longest, type Report, summarise } from "./ciReports.ts";

const report = (suite: string, ...statuses: (readonly [name: string, status: string])[]): Report => ({
  suite,
  json: { testResults: [{ name: "f", status: "passed", assertionResults: statuses.map(([fullName, status]) => ({ fullName, status })) }] },
});
const good = ["unit", "fuzz", "slow"].map((suite) => report(suite, ["a", "passed"]));

test("tests and steps are added up", () => {
  const result = summarise(good, ["check"], []);
  expect(result).toEqual({ passed: 4, failed: [], skipped: [] });
  expect(failure(result)).toBe(false);
});

test("a failed test and a failed step are named", () => {
  const result = summarise([...good, report("more", ["b", "failed"], ["c", "passed"])], [], ["check"]);
  expect(result.failed).toEqual(["check", "more: b"]);
  expect(failure(result)).toBe(true);
});

test("a failed test is named with what it said, without its stack, in one line of bounded length", () => {
  const said = (...failureMessages: string[]): Report => ({
    suite: "more",
    json: { testResults: [{ name: "f", status: "failed", assertionResults: [{ fullName: "b", status: "failed", failureMessages }] }] },
  });
  const failed = (of: Report): readonly string[] => summarise([...good, of], [], []).failed;
  expect(failed(said("Error: not\n  this\n    at f.ts:1", "nor that\n    at g.ts:2"))).toEqual(["more: b: Error: not this; nor that"]);
  expect(failed(said("x".repeat(500)))[0]).toHaveLength("more: b: ".length + 401);
  expect(failed(said())).toEqual(["more: b"]);
});

test("a test skipped for want of shared data fails the run, any other skip is only named", () => {
  const result = summarise(
    [...good, report("more", ["x (skipped: no shared data)", "skipped"], ["y", "pending"], ["z", "passed"])],
    [],
    [],
  );
  expect(result.failed).toEqual(["more: x (skipped: no shared data)"]);
  expect(result.skipped).toEqual(["more: y"]);
});

test("a suite that is missing, empty, or whose file could not be loaded fails the run", () => {
  expect(summarise(good.slice(1), [], []).failed).toEqual(["unit: no report"]);
  expect(summarise([...good.slice(1), report("unit")], [], []).failed).toEqual(["unit: no test was run"]);
  const broken: Report = { suite: "more", json: { testResults: [{ name: "f.ts", status: "failed", assertionResults: [] }] } };
  expect(summarise([...good, broken], [], []).failed[0]).toBe("more: f.ts could not be run");
  expect(summarise([...good, { suite: "more", json: null }], [], []).failed).toEqual(["more: no test was run"]);
});

test("a runner that failed although no test did fails the run", () => {
  expect(summarise(good, [], [], ["unit"]).failed).toEqual(["unit: the runner failed, though no test did (an error outside the tests)"]);
  const failing = [...good.slice(1), report("unit", ["a", "failed"])];
  expect(summarise(failing, [], [], ["unit"]).failed).toEqual(["unit: a"]);
});

test("the files that took longest are named, the longest first", () => {
  const timed = (name: string, startTime: number, endTime: number) => ({ name: `/root/${name}`, startTime, endTime, assertionResults: [] });
  const reports = [
    { suite: "unit", json: { testResults: [timed("a.test.ts", 1_000, 2_400), timed("b.test.ts", 1_000, 9_600), { name: "untimed" }] } },
    { suite: "slow", json: { testResults: [timed("c.test.ts", 0, 61_000)] } },
    { suite: "more", json: null },
  ];
  expect(longest(reports, "/root", 2)).toEqual(["slow: c.test.ts, 61 s", "unit: b.test.ts, 9 s"]);
});
