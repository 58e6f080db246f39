import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "../../scripts/sourceFiles.ts";
import { type Cell, cellText, parseFilter } from "./cell.ts";
import { enumerate } from "./enumerate.ts";
import { BACKENDS, MatrixWorld } from "./matrixWorld.ts";
import { type CellReport, runCells } from "./pool.ts";
import { ACCOUNT_STEP, PARTS, partDocument, partOf, renewed, tablesOf } from "./table.ts";

const DOCUMENT = "docs/crash-matrix.md";
const USAGE = `Usage: npm run matrix -- [options]

The cells of docs/crash-matrix.md. Exit code 1: a cell is bad.

  --part scripts|accounts   of one part of it
  --filter role=maker,...   all cells with these values of its columns
  --sample 10               every tenth of them
  --backend electrum        pairs without accounts on five Electrum servers, of which one lies, one stalls and one lags (daemon)
  --jobs N                  processes (2)
  --list                    only name the cells
  --write                   renew the parts that were run whole
`;
const PROGRESS = 1_000;
/** Bad cells shown with their story; all are listed. */
const STORIES = 3;

const { values } = parseArgs({
  options: {
    part: { type: "string" },
    filter: { type: "string", default: "" },
    jobs: { type: "string", default: "2" },
    write: { type: "boolean", default: false },
    sample: { type: "string", default: "1" },
    backend: { type: "string", default: "daemon" },
    list: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
if (values.help) {
  process.stdout.write(USAGE);
  process.exit(0);
}
const say = (text: string): void => void process.stdout.write(`${text}\n`);
const isWanted = parseFilter(values.filter);
if (values.write && (values.filter !== "" || values.sample !== "1"))
  throw new Error("--write takes a run of a whole part: leave --filter and --sample out");
const parts = PARTS.filter((part) => values.part === undefined || values.part === part);
if (parts.length === 0) throw new Error(`--part is one of ${PARTS.join(", ")}`);
const backend = BACKENDS.find((name) => name === values.backend);
if (!backend) throw new Error(`--backend is one of ${BACKENDS.join(", ")}`);
if (backend === "electrum" && (values.write || values.part !== "scripts"))
  throw new Error("--backend electrum goes with --part scripts and without --write: docs/crash-matrix.md is of daemons");
MatrixWorld.backend = backend;
const jobs = Number(values.jobs);
if (!Number.isInteger(jobs) || jobs < 1 || jobs > 64) throw new Error("--jobs is a number from 1 to 64");

const startMs = performance.now();
const seconds = (): string => ((performance.now() - startMs) / 1_000).toFixed(0);
const { cells: all, broken } = await enumerate(
  (column) => parts.includes(partOf(column)) && parseFilter(values.filter, ["pair", "role", "road", "chain"])(column),
);
for (const { column, result } of broken) {
  say(`BAD without any crash: ${column.pair} ${column.role} ${column.road} ${column.chain}: ${result.wrongs.join("; ")}\n${result.story}`);
}
const every = Number(values.sample);
if (!Number.isInteger(every) || every < 1) throw new Error("--sample is a whole number: 10 runs every tenth cell");
const wanted = all.filter(isWanted);
const cells = parts.flatMap((part) => {
  const step = part === "accounts" && values.filter === "" ? ACCOUNT_STEP : 1;
  return wanted.filter((cell) => partOf(cell) === part).filter((_, i) => i % (every * step) === 0);
});
if (values.list) for (const cell of cells) say(cellText(cell));
say(`matrix: ${cells.length} cells, ${jobs} processes, undisturbed runs took ${seconds()} s`);

const reports = new Map<Cell, CellReport>();
const byText = new Map(cells.map((cell) => [cellText(cell), cell]));
const bad: CellReport[] = [];
if (!values.list) {
  await runCells(cells, jobs, backend, (report) => {
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
if (values.filter === "" && every === 1 && bad.length === 0 && broken.length === 0 && backend === "daemon" && !values.list) {
  const path = join(ROOT, DOCUMENT);
  const before = existsSync(path) ? readFileSync(path, "utf8") : "";
  let document = before;
  for (const part of parts) {
    const own = ordered.filter(({ cell }) => partOf(cell) === part);
    if (values.write) {
      const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: ROOT, encoding: "utf8" }).trim();
      document = renewed(document, part, partDocument(part, own, commit));
    } else if (!before.includes(tablesOf(part, own)))
      say(`notice: ${DOCUMENT} is of another run: npm run matrix -- --part ${part} --write`);
  }
  if (document !== before) {
    writeFileSync(path, document);
    say(`${DOCUMENT} written`);
  }
}
say(`matrix: ${ordered.length} cells, ${bad.length} bad, ${seconds()} s`);
process.exit(bad.length === 0 && broken.length === 0 && (values.list || ordered.length === cells.length) && cells.length > 0 ? 0 : 1);
