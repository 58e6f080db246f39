import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { failure, longest, type Report, summarise } from "./ciReports.ts";
import { ROOT } from "./sourceFiles.ts";

// node scripts/ci-summary.ts FOLDER: adds up the reports of one CI run; the last line is the count alone.

/** Files named that took longest: whoever wants CI to be quicker begins there. */
const MOST = 12;

const folder = process.argv[2];
if (folder === undefined) throw new Error("usage: ci-summary.ts FOLDER");

const lines = (name: string): string[] => {
  const path = join(folder, name);
  return existsSync(path)
    ? readFileSync(path, "utf8")
        .split("\n")
        .filter((line) => line !== "")
    : [];
};
const reports = readdirSync(folder)
  .filter((name) => name.endsWith(".json"))
  .sort()
  .map((name): Report => ({ suite: basename(name, ".json"), json: JSON.parse(readFileSync(join(folder, name), "utf8")) }));

const result = summarise(reports, lines("steps.passed"), lines("steps.failed"), lines("suites.failed"));
for (const file of longest(reports, ROOT, MOST)) process.stdout.write(`longest: ${file}\n`);
for (const skipped of result.skipped) process.stdout.write(`skipped: ${skipped}\n`);
for (const failed of result.failed) process.stdout.write(`FAILED: ${failed}\n`);
rmSync(folder, { recursive: true, force: true });
process.stdout.write(`${result.passed} passed, ${result.failed.length} failed\n`);
process.exit(failure(result) ? 1 : 0);
