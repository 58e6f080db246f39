import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** A node as a child process of its own. */
export type NodeProcess = {
  readonly pid: number;
  /** Last lines of its log, newest last; for the reason when something goes wrong. */
  tail(): readonly string[];
  /** Resolves with the exit code, or the signal's name. */
  readonly exited: Promise<number | string>;
  /** SIGTERM, and SIGKILL if that takes too long. */
  stop(): Promise<void>;
  kill(signal: NodeJS.Signals): void;
};

/** Environment variable that tells a node to stop when the pipe on this descriptor closes, however its parent ended. */
export const LIFELINE_VARIABLE = "SWAPNODE_LIFELINE_FD";
const LIFELINE_FD = 3;
const TAIL_LINES = 50;
const STOP_MS = 10_000;

/** The command line this package starts nodes with: the same file type as this module, so it works built and from source. */
function entryPoint(): string {
  const here = fileURLToPath(import.meta.url);
  return fileURLToPath(new URL(here.endsWith(".ts") ? "../main/cli.ts" : "../main/cli.js", import.meta.url));
}

/**
 * Starts a node. The configuration goes in by standard input, so that no secret stands in a process list or a file.
 * @param onLine every line of its log
 */
export function startNodeProcess(config: unknown, cwd: string, onLine: (line: string) => void = () => undefined): NodeProcess {
  const child: ChildProcess = spawn(process.execPath, [entryPoint(), "start", "-"], {
    cwd,
    env: { ...process.env, [LIFELINE_VARIABLE]: String(LIFELINE_FD) },
    stdio: ["pipe", "ignore", "pipe", "pipe"],
  });
  const lines: string[] = [];
  if (child.stderr) {
    createInterface({ input: child.stderr }).on("line", (line) => {
      lines.push(line);
      if (lines.length > TAIL_LINES) lines.shift();
      onLine(line);
    });
  }
  child.stdin?.end(JSON.stringify(config));
  const exited = new Promise<number | string>((resolve) => {
    child.once("exit", (code, signal) => resolve(code ?? signal ?? "unknown"));
    child.once("error", (cause) => resolve(cause.message));
  });
  return {
    pid: child.pid ?? -1,
    tail: () => lines,
    exited,
    kill: (signal) => void child.kill(signal),
    async stop() {
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS);
      await exited;
      clearTimeout(timer);
    },
  };
}
