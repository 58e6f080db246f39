import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "../../scripts/sourceFiles.ts";
import { type Cell, cellText, parseFilter } from "./cell.ts";
import { enumerate } from "./enumerate.ts";
import { type CellReport, runCells } from "./pool.ts";
import { matrixDocument, tablesOf } from "./table.ts";

// npm run matrix [-- --filter role=maker,event=… --sample 10 --jobs N --write]: every cell of the crash matrix, those of the filter, or every tenth.
// --write renews docs/crash-matrix.md, which takes a run of all of them. Exit code 1 when a cell is bad.

const DOCUMENT = "docs/crash-matrix.md";
const PROGRESS = 1_000;
/** Bad cells shown with their story; all are listed. */
const STORIES = 3;

const { values } = parseArgs({
  options: {
    filter: { type: "string", default: "" },
    jobs: { type: "string", default: "2" },
    write: { type: "boolean", default: false },
    sample: { type: "string", default: "1" },
    list: { type: "boolean", default: false },
  },
});
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const isWanted = parseFilter(values.filter);
if (values.write && (values.filter !== "" || values.sample !== "1"))
  throw new Error("--write takes a run of all cells: leave --filter and --sample out");
const jobs = Number(values.jobs);
if (!Number.isInteger(jobs) || jobs < 1 || jobs > 64) throw new Error("--jobs is a number from 1 to 64");

const startMs = performance.now();
const seconds = (): string => ((performance.now() - startMs) / 1_000).toFixed(0);
const { cells: all, broken } = await enumerate(parseFilter(values.filter, ["role", "road", "chain"]));
for (const { column, result } of broken) {
  say(`BAD without any crash: ${column.role} ${column.road} ${column.chain}: ${result.wrongs.join("; ")}\n${result.story}`);
}
const every = Number(values.sample);
if (!Number.isInteger(every) || every < 1) throw new Error("--sample is a whole number: 10 runs every tenth cell");
const cells = all.filter(isWanted).filter((_, i) => i % every === 0);
if (values.list) for (const cell of cells) say(cellText(cell));
say(`matrix: ${cells.length} cells, ${jobs} processes, undisturbed runs took ${seconds()} s`);

const reports = new Map<Cell, CellReport>();
const byText = new Map(cells.map((cell) => [cellText(cell), cell]));
const bad: CellReport[] = [];
if (!values.list) {
  await runCells(cells, jobs, (report) => {
    const cell = byText.get(cellText(report.cell));
    if (cell) reports.set(cell, report);
    if (reports.size % PROGRESS === 0) say(`${reports.size} of ${cells.length} cells, ${bad.length} bad, ${seconds()} s`);
    if (report.wrongs.length === 0) return;
    bad.push(report);
    say(`BAD: npm run matrix -- --filter ${cellText(report.cell)}\n  ${report.wrongs.join("\n  ")}`);
    if (bad.length <= STORIES && report.story !== "") say(report.story.replace(/^/gm, "    "));
  });
}

const ordered = cells.flatMap((cell) => reports.get(cell) ?? []);
const endings = new Map<string, number>();
for (const { ending } of ordered) endings.set(ending, (endings.get(ending) ?? 0) + 1);
say(`endings: ${[...endings].map(([name, n]) => `${name} ${n}`).join(", ")}`);
const cpuMs = ordered.reduce((n, r) => n + r.cpuMs, 0);
say(`processor time: ${(cpuMs / 1_000).toFixed(0)} s, ${(cpuMs / Math.max(1, ordered.length)).toFixed(0)} ms a cell`);
say(`highest miner fees of the crashed side: ${Math.max(0, ...ordered.map((r) => r.minerFees))} units`);
if (values.filter === "" && every === 1 && bad.length === 0 && broken.length === 0 && !values.list) {
  const path = join(ROOT, DOCUMENT);
  if (values.write) {
    const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: ROOT, encoding: "utf8" }).trim();
    writeFileSync(path, matrixDocument(ordered, commit));
    say(`${DOCUMENT} written`);
  } else if (!existsSync(path) || !readFileSync(path, "utf8").includes(tablesOf(ordered))) {
    say(`notice: ${DOCUMENT} is of another run: npm run matrix -- --write`);
  }
}
say(`matrix: ${ordered.length} cells, ${bad.length} bad, ${seconds()} s`);
process.exit(bad.length === 0 && broken.length === 0 && (values.list || ordered.length === cells.length) && cells.length > 0 ? 0 : 1);
