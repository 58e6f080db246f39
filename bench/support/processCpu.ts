import { readFileSync } from "node:fs";

/** Linux gives times to user programs in hundredths of a second (proc_pid_stat(5)). */
const TICKS_PER_S = 100;

/** Seconds of processor in a line of `/proc/…/stat`. The second field is a name in brackets, which may hold anything. */
export function statToCpuSeconds(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_S;
}

/** Seconds of processor all threads of a process have used so far. */
export const processCpu = (pid: number): number => statToCpuSeconds(readFileSync(`/proc/${pid}/stat`, "utf8"));
