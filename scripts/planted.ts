import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PLANTED_BUGS } from "../test/planted/plantedBugs.ts";
import { PlantedCopy } from "./plantedCopy.ts";
import { caughtText, chooseBugs, documentRows, listBugs, NOT_RUN, plantedDocument, tableProblems } from "./plantedTable.ts";
import { ROOT } from "./sourceFiles.ts";

// npm run planted [-- NAME | GROUP …] [--write]: plants each bug of test/planted in a copy of the tree and sees that tests notice.
// --write renews the rows of those bugs in the document and leaves the others as they are.

const DOCUMENT = "docs/planted-bugs.md";

const args = process.argv.slice(2);
const write = args.includes("--write");
const names = args.filter((arg) => arg !== "--write");
const say = (text: string): void => void process.stdout.write(`${text}\n`);

const all = listBugs(PLANTED_BUGS);
const chosen = (() => {
  try {
    return chooseBugs(all, names);
  } catch (cause) {
    process.stderr.write(`${cause instanceof Error ? cause.message : String(cause)}\n`);
    process.exit(2);
  }
})();
const read = (path: string): string | null => (existsSync(join(ROOT, path)) ? readFileSync(join(ROOT, path), "utf8") : null);
const problems = tableProblems(chosen, read);
for (const problem of problems) process.stderr.write(`${problem}\n`);
if (problems.length > 0) process.exit(2);

const copy = new PlantedCopy();
process.on("exit", () => copy.remove());
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(1));

const startMs = performance.now();
/** What is red without any bug catches none. */
const redBefore = new Set<string>();
const tests = [...new Set(chosen.flatMap(({ caughtBy }) => ("tests" in caughtBy ? caughtBy.tests : [])))];
const programs = [
  ...new Map(chosen.flatMap(({ caughtBy }) => ("program" in caughtBy ? [[caughtBy.program.join(" "), caughtBy]] : []))).values(),
];
for (const catcher of [...(tests.length > 0 ? [{ tests }] : []), ...programs]) {
  const before = await copy.look(catcher);
  if ("broken" in before) throw new Error(`without any bug: ${before.broken}`);
  for (const name of before.red) redBefore.add(name);
}
for (const name of redBefore) say(`red without any bug: ${name}`);

const caught = new Map<string, string>();
for (const bug of chosen) {
  const since = performance.now();
  const result = await copy.try(bug);
  const red = "broken" in result ? [] : result.red.filter((name) => !redBefore.has(name));
  if (red.length > 0) caught.set(bug.name, caughtText(red));
  const verdict = red.length > 0 ? `caught by ${caught.get(bug.name)}` : `NOT CAUGHT${"broken" in result ? ` (${result.broken})` : ""}`;
  say(`${bug.group}: ${bug.name}: ${verdict} (${((performance.now() - since) / 1_000).toFixed(1)} s)`);
}
const missed = chosen.length - caught.size;
const seconds = ((performance.now() - startMs) / 1_000).toFixed(0);
say(`planted: ${chosen.length} bugs, ${missed} not caught, ${tests.length} test files, ${seconds} s`);
if (write) {
  const others = [...documentRows(read(DOCUMENT) ?? "")].filter(([name]) => !chosen.some((bug) => bug.name === name));
  const known = others.filter(([, text]) => text !== NOT_RUN);
  writeFileSync(join(ROOT, DOCUMENT), plantedDocument(all, new Map([...known, ...caught])));
}
process.exit(missed === 0 && redBefore.size === 0 ? 0 : 1);
