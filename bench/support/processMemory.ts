import { readFileSync, writeFileSync } from "node:fs";

export type ProcessMemory = {
  readonly residentMib: number;
  /** The most that was ever resident, as the system keeps it: nothing falls between two looks. */
  readonly peakMib: number;
  readonly privateMib: number;
};

/** What the system says of a process. `private`: not the program's own file, which all its processes share. MiB. */
export function processMemory(pid: number): ProcessMemory {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const mib = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? Number.NaN) / 1_024;
  return { residentMib: mib("VmRSS"), peakMib: mib("VmHWM"), privateMib: mib("RssAnon") };
}

/** From here on, `peakMib` of this process is the most since now (proc_pid_clear_refs(5), value 5). */
export function resetPeak(pid: number): void {
  writeFileSync(`/proc/${pid}/clear_refs`, "5");
}
