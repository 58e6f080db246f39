import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** strace can watch a process and stop it at a chosen system call: from outside, nothing in the product knows of it. */
export const noStrace =
  spawnSync("strace", ["-qq", "-e", "trace=none", process.execPath, "--version"]).status === 0
    ? ""
    : " (skipped: strace cannot be used here)";

export type Traced = { readonly status: number | null; readonly stdout: string; readonly stderr: string };

/**
 * Runs a script of ours under strace.
 *
 * @param options of strace, before the program
 */
export function traced(options: readonly string[], script: string, args: readonly string[]): Traced {
  const { status, stdout, stderr } = spawnSync("strace", ["-f", "-qq", ...options, process.execPath, script, ...args], {
    encoding: "utf8",
    maxBuffer: 1 << 28,
    timeout: 60_000,
  });
  return { status, stdout, stderr };
}

/** Options that end the process at the `n`-th call of `syscall` that concerns one of `paths`. */
export const killAt = (syscall: string, n: number, paths: readonly string[]): string[] => [
  "-o",
  "/dev/null",
  "-e",
  `trace=${syscall}`,
  "-e",
  `inject=${syscall}:signal=SIGKILL:when=${n}`,
  ...paths.flatMap((path) => ["-P", path]),
];

/** From here on every fsync of the process takes longer than any test, as on a network drive that does not answer. To be ended by SIGKILL. */
export async function hangDisk(pid: number): Promise<ChildProcess> {
  const inject = "inject=fsync,fdatasync:delay_enter=300000000";
  const strace = spawn("strace", ["-f", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e", inject, "-p", String(pid)]);
  await new Promise((resolve) => strace.stderr.once("data", resolve));
  return strace;
}

/** What a process is doing, one letter: https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
export const stateOf = (pid: number | undefined): string => /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1] ?? "";

/** What a process did to files, in the order in which it happened. Paths absolute. */
export type FileCall =
  | { readonly call: "write"; readonly path: string; readonly at: number | null; readonly bytes: Buffer }
  | { readonly call: "truncate"; readonly path: string; readonly size: number }
  | { readonly call: "create"; readonly path: string }
  /** The data handed over before `begin` is on the disk at `end`; after `failed` nobody knows, and the system takes it for written. */
  | { readonly call: "sync-begin" | "sync-end" | "sync-failed"; readonly path: string };

const text = (hex: string): Buffer => Buffer.from(hex.replaceAll("\\x", ""), "hex");

/** Options whose output `parseCalls` reads from `file`. */
export const recordCalls = (file: string): string[] => [
  "-xx",
  "-y",
  "-s",
  "200000",
  "-e",
  "trace=pwrite64,write,fsync,fdatasync,ftruncate,openat",
  "-o",
  file,
];

export function parseCalls(output: string): FileCall[] {
  const calls: FileCall[] = [];
  /** By thread: the file whose sync has begun and not ended. */
  const syncing = new Map<string, string>();
  for (const line of output.split("\n")) {
    const thread = line.split(" ", 1)[0] ?? "";
    // Where another thread came in between, the end of a call has a line of its own.
    const [, ended] = /<\.\.\. (?:fsync|fdatasync) resumed>.*= (0$|-1 )/.exec(line) ?? [];
    if (ended !== undefined) {
      const path = syncing.get(thread);
      if (path !== undefined) calls.push({ call: ended === "0" ? "sync-end" : "sync-failed", path });
      syncing.delete(thread);
      continue;
    }
    const [, name, target = "", rest = ""] = /^\d+ +(\w+)\(\d+<((?:\\x[0-9a-f]{2})*)>(.*)$/.exec(line) ?? [];
    const path = text(target).toString();
    const [, data = ""] = /"((?:\\x[0-9a-f]{2})*)"/.exec(rest) ?? [];
    if (name === "pwrite64") {
      const [, at = ""] = /", \d+, (\d+)/.exec(rest) ?? [];
      calls.push({ call: "write", path, at: Number(at), bytes: text(data) });
    } else if (name === "write") calls.push({ call: "write", path, at: null, bytes: text(data) });
    else if (name === "ftruncate") calls.push({ call: "truncate", path, size: Number(/^, (\d+)/.exec(rest)?.[1]) });
    else if (name === "fsync" || name === "fdatasync") {
      calls.push({ call: "sync-begin", path });
      if (line.endsWith("= 0")) calls.push({ call: "sync-end", path });
      else if (line.includes("= -1 ")) calls.push({ call: "sync-failed", path });
      else syncing.set(thread, path);
    }
    const [, opened] = /^\d+ +openat\(.*O_CREAT.* = \d+<((?:\\x[0-9a-f]{2})*)>/.exec(line) ?? [];
    if (opened !== undefined) calls.push({ call: "create", path: text(opened).toString() });
  }
  return calls;
}
