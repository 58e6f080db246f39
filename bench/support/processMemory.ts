import { readFileSync } from "node:fs";

export type ProcessMemory = { readonly residentMib: number; readonly privateMib: number };

/** What the system says of a process. `private`: not the program's own file, which all its processes share. MiB. */
export function processMemory(pid: number): ProcessMemory {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const mib = (name: string): number => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, "m").exec(status)?.[1] ?? Number.NaN) / 1_024;
  return { residentMib: mib("VmRSS"), privateMib: mib("RssAnon") };
}
