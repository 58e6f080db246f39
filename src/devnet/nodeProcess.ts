import { type ChildProcess, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { NODE_FLAGS, nodeEnvironment } from "../main/nodeSettings.ts";

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

/** What a node is started from: the fields of MM2.json, and the coins file. */
export type NodeFiles = { readonly mm2: Readonly<Record<string, unknown>>; readonly coins: readonly unknown[] };

/** Environment variable that tells a node to stop when the pipe on this descriptor closes, however its parent ended. */
export const LIFELINE_VARIABLE = "SWAPNODE_LIFELINE_FD";
/** Beside it: a folder of the node's own, to be removed by the node when it stops because that pipe has closed. */
export const ORPHAN_FOLDER_VARIABLE = "SWAPNODE_ORPHAN_FOLDER";
const LIFELINE_FD = 3;
const TAIL_LINES = 50;
const STOP_MS = 10_000;

/** The command line this package starts nodes with: the same file type as this module, so it works built and from source. */
function entryPoint(): string {
  const here = fileURLToPath(import.meta.url);
  return fileURLToPath(new URL(here.endsWith(".ts") ? "../main/cli.ts" : "../main/cli.js", import.meta.url));
}

/**
 * Starts a node in its folder, from the `MM2.json` and `coins` written there (mode 0600): whoever wants to start it
 * again by hand runs `swapnode start` in that folder.
 * @param onLine every line of its log
 * @param isTemporary nobody removes the folder should this process be killed: then the node does
 */
export function startNodeProcess(
  dir: string,
  config: NodeFiles,
  onLine: (line: string) => void = () => undefined,
  isTemporary = false,
): NodeProcess {
  const [configFile, coinsFile] = [join(dir, "MM2.json"), join(dir, "coins")];
  writeFileSync(configFile, JSON.stringify(config.mm2, null, 2), { mode: 0o600 });
  writeFileSync(coinsFile, JSON.stringify(config.coins, null, 2), { mode: 0o600 });
  const child: ChildProcess = spawn(process.execPath, [...NODE_FLAGS, ...process.execArgv, entryPoint(), "start"], {
    cwd: dir,
    env: {
      ...process.env,
      ...nodeEnvironment(),
      MM_CONF_PATH: configFile,
      MM_COINS_PATH: coinsFile,
      [LIFELINE_VARIABLE]: String(LIFELINE_FD),
      ...(isTemporary ? { [ORPHAN_FOLDER_VARIABLE]: dir } : {}),
    },
    stdio: ["ignore", "ignore", "pipe", "pipe"],
  });
  const lines: string[] = [];
  if (child.stderr) {
    createInterface({ input: child.stderr }).on("line", (line) => {
      lines.push(line);
      if (lines.length > TAIL_LINES) lines.shift();
      onLine(line);
    });
  }
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
