import { spawnSync } from "node:child_process";
import { cpus, loadavg, release, totalmem } from "node:os";
import { fileURLToPath } from "node:url";

/** Below this load average nothing else of weight runs beside the measurement. */
const QUIET_LOAD = 0.5;

/** Where and on what the figures were taken. */
export type Machine = {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly system: string;
  readonly node: string;
  /** Of the checkout; `+` when files differ from it. */
  readonly commit: string;
  readonly takenAt: string;
  /** Average over the minute before the run. */
  readonly load: number;
};

function git(...args: readonly string[]): string {
  return spawnSync("git", args, { cwd: fileURLToPath(new URL("../..", import.meta.url)), encoding: "utf8" }).stdout?.trim() ?? "";
}

export function machineNow(): Machine {
  const changed = git("status", "--porcelain", "--", "src", "bench", ":(exclude)bench/RESULTS.md") !== "";
  return {
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 1e9),
    system: `${process.platform} ${process.arch} ${release()}`,
    node: process.version,
    commit: `${git("rev-parse", "--short=12", "HEAD") || "unknown"}${changed ? "+" : ""}`,
    takenAt: new Date().toISOString(),
    load: loadavg()[0] ?? Number.NaN,
  };
}

/** One line for people. */
export function machineText(m: Machine): string {
  const busy = m.load < QUIET_LOAD ? "" : ": other work ran beside, so times and rates are worse than on a quiet machine";
  return (
    `${m.cpu}, ${m.cores} cores, ${m.memoryGb} GB, ${m.system}, Node ${m.node}; commit ${m.commit}; ` +
    `${m.takenAt}; load before the run ${m.load.toFixed(2)}${busy}`
  );
}
