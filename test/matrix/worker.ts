import { type Cell, cellText } from "./cell.ts";
import { MatrixWorld } from "./matrixWorld.ts";
import type { CellReport } from "./pool.ts";
import { type CellResult, runCell } from "./runCell.ts";

// worker.ts BACKEND, a process of the pool: cells in, reports out, until it is ended.
MatrixWorld.backend = process.argv[2] === "electrum" ? "electrum" : "daemon";
let last: { readonly cell: Cell; readonly result: CellResult } | null = null;

/** The run of a cell; that of the cell before, when the two differ in the name of the restart alone and not in its moment. */
async function runOf(cell: Cell): Promise<CellResult> {
  const before = last;
  const isSame =
    before?.result.restartSec != null &&
    cellText({ ...before.cell, restart: cell.restart }) === cellText(cell) &&
    before.result.restartSec[cell.restart] === before.result.restartSec[before.cell.restart];
  if (isSame) return before.result;
  const result = await runCell(cell);
  last = { cell, result };
  return result;
}

async function reportOf(cell: Cell): Promise<CellReport> {
  const before = process.cpuUsage();
  const cpuMs = (): number => {
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  };
  try {
    const { hit, ending, isOutside, minerFees, wrongs, story } = await runOf(cell);
    const missed = hit ? [] : ["the crash never happened: the run is not the one the event was met in"];
    return { cell, ending, isOutside, minerFees: Number(minerFees), wrongs: [...wrongs, ...missed], story, cpuMs: cpuMs() };
  } catch (cause) {
    const error = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
    return { cell, ending: "none", isOutside: false, minerFees: 0, wrongs: [`the run broke: ${error}`], story: "", cpuMs: cpuMs() };
  }
}

process.on("message", async (batch: readonly Cell[]) => {
  const reports: CellReport[] = [];
  for (const cell of batch) reports.push(await reportOf(cell));
  process.send?.(reports);
});
