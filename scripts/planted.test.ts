import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bug } from "../test/planted/plantedBug.ts";
import { PLANTED_BUGS } from "../test/planted/plantedBugs.ts";
import {
  caughtText,
  chooseBugs,
  documentRows,
  listBugs,
  plant,
  plantedDocument,
  programText,
  simulatorTable,
  tableProblems,
} from "./plantedTable.ts";
import { ROOT } from "./sourceFiles.ts";

const read = (path: string): string | null => (existsSync(join(ROOT, path)) ? readFileSync(join(ROOT, path), "utf8") : null);
const all = listBugs(PLANTED_BUGS);

test("every planted bug still fits its file, once, and those who must notice are there", () => {
  expect(tableProblems(all, read)).toEqual([]);
  expect(all.length).toBeGreaterThan(200);
});

test("planted bugs are caught by tests that `npm test` runs", () => {
  const tests = new Set(all.flatMap(({ caughtBy }) => ("tests" in caughtBy ? caughtBy.tests : [])));
  const slow = [...tests].filter((path) => /^test\/(e2e|interop|fuzz)\//.test(path));
  expect(slow).toEqual([]);
});

test("the document shows for each bug of the table, and for no other, which test catches it", () => {
  const document = read("docs/planted-bugs.md") ?? "";
  expect([...documentRows(document).keys()].toSorted()).toEqual(all.map(({ name }) => name).toSorted());
  expect(document).toBe(plantedDocument(all, documentRows(document)));
  expect(document).not.toContain("not shown");
});

test("the page about safety has the bugs that the simulator must notice, with rule and seed", () => {
  expect(read("docs/safety.md") ?? "").toContain(simulatorTable(PLANTED_BUGS.simulator ?? []));
  expect(PLANTED_BUGS.simulator?.length).toBeGreaterThanOrEqual(12);
});

test("what must be imported before a program is looked for, too", () => {
  const caughtBy = { program: ["--import", "./hook.ts", "a.ts", "--seed", "1"], says: "[rule]" };
  expect(problemsOf({ ...good, caughtBy })).toEqual(["a is two: there is no ./hook.ts"]);
  expect(programText(caughtBy.program, caughtBy.says)).toBe("[rule] by a.ts --seed 1");
});

const FILE = "const a = 1;\nconst b = 1;\n";
const files = (path: string): string | null => (path === "a.ts" ? FILE : path === "a.test.ts" ? "" : null);
const good = bug("a is two", "a.ts", "const a = 1;", "const a = 2;", "a.test.ts");
const problemsOf = (...bugs: readonly (typeof good)[]): string[] => tableProblems(listBugs({ group: bugs }), files);

test("a bug is planted once and word for word, also where it holds signs that replacing knows", () => {
  expect(plant(good, FILE)).toBe("const a = 2;\nconst b = 1;\n");
  expect(plant({ ...good, replace: "const a = '$&';" }, FILE)).toContain("'$&'");
  expect(() => plant({ ...good, find: "= 1;" }, FILE)).toThrow("a is two: its snippet stands 2 times in a.ts");
});

test.each([
  ["no longer there", { find: "const c" }, "stands 0 times"],
  ["there twice", { find: "const" }, "stands 2 times"],
  ["of a file that is gone", { file: "b.ts" }, "stands 0 times"],
  ["that changes nothing", { replace: "const a = 1;" }, "changes nothing"],
  ["that nobody must notice", { caughtBy: { tests: [] } }, "nobody"],
  ["with a test that is gone", { caughtBy: { tests: ["b.test.ts"] } }, "there is no b.test.ts"],
  ["with a program that is gone", { caughtBy: { program: ["b.ts", "--check"] } }, "there is no b.ts"],
])("an entry %s is named", (_, change, problem) => {
  expect(problemsOf(good)).toEqual([]);
  expect(problemsOf({ ...good, ...change })[0]).toMatch(new RegExp(`^a is two: .*${problem}`));
});

test("a name that stands twice is found, and one that means nothing is refused", () => {
  expect(problemsOf(good, good)).toEqual(["a is two: the name stands twice"]);
  const bugs = listBugs({ one: [good], two: [{ ...good, name: "other" }] });
  expect(chooseBugs(bugs, ["two"]).map(({ name }) => name)).toEqual(["other"]);
  expect(chooseBugs(bugs, ["other", "a is two"])).toHaveLength(2);
  expect(chooseBugs(bugs, [])).toHaveLength(2);
  expect(() => chooseBugs(bugs, ["three"])).toThrow("three is neither");
});

test("the document counts, sorts, says so when a bug was not caught, and can be read back", () => {
  const bugs = listBugs({
    one: [
      { ...good, name: "a|last" },
      { ...good, name: "a first" },
    ],
  });
  const caught = new Map([["a|last", caughtText(["x|y", "y", "z", "u"])]]);
  const text = plantedDocument(bugs, caught);
  expect(text).toContain("| **all** | **1 of 2** |");
  expect(text).toContain("| a\\|last | `a.ts` | x\\|y; y; and 2 more |");
  expect(text).toContain("| a first | `a.ts` | **not shown** |");
  expect(text.indexOf("a first")).toBeLessThan(text.indexOf("a\\|last"));
  expect(documentRows(text).get("a|last")).toBe(caught.get("a|last"));
});
