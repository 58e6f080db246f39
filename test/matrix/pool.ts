import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Cell } from "./cell.ts";
import type { Backend } from "./matrixWorld.ts";

/** What a worker process answers: results without bigints, in the order asked. */
export type CellReport = {
  readonly cell: Cell;
  readonly ending: string;
  readonly isOutside: boolean;
  readonly minerFees: number;
  readonly wrongs: readonly string[];
  readonly story: string;
  /** Processor time, milliseconds. */
  readonly cpuMs: number;
};

/** Signatures and hashes by native code: byte for byte the same. */
const HOOK = new URL("../../sim/native/hook.ts", import.meta.url).href;
/** Few enough for both processes to end together, many enough for messages to cost nothing. */
const BATCH = 21;

/** Runs cells in several processes, a batch at a time. Rejects when a process ends by itself. @param backend who shows the nodes their chains */
export async function runCells(
  cells: readonly Cell[],
  jobs: number,
  backend: Backend,
  onReport: (report: CellReport) => void,
): Promise<void> {
  const program = fileURLToPath(new URL("./worker.ts", import.meta.url));
  let at = 0;
  await Promise.all(
    Array.from({ length: jobs }, async () => {
      const child = fork(program, [backend], {
        execArgv: ["--max-semi-space-size=64", "--import", HOOK],
        stdio: ["ignore", "inherit", "inherit", "ipc"],
      });
      try {
        for (;;) {
          const batch = cells.slice(at, at + BATCH);
          at += BATCH;
          if (batch.length === 0) return;
          for (const report of await ask(child, batch)) onReport(report);
        }
      } finally {
        child.kill();
      }
    }),
  );
}

function ask(child: ChildProcess, batch: readonly Cell[]): Promise<readonly CellReport[]> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null, signal: string | null): void => reject(new Error(`a process ended with ${code ?? signal}`));
    child.once("exit", onExit);
    child.once("message", (answer: readonly CellReport[]) => {
      child.removeListener("exit", onExit);
      resolve(answer);
    });
    child.send(batch);
  });
}
