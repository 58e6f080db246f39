import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { failure, type Report, summarise } from "./ciReports.ts";

// node scripts/ci-summary.ts FOLDER: adds up the reports of one CI run; the last line is the count alone.

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
for (const skipped of result.skipped) process.stdout.write(`skipped: ${skipped}\n`);
for (const failed of result.failed) process.stdout.write(`FAILED: ${failed}\n`);
rmSync(folder, { recursive: true, force: true });
process.stdout.write(`${result.passed} passed, ${result.failed.length} failed\n`);
process.exit(failure(result) ? 1 : 0);
