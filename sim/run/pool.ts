import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { SimRunOptions } from "./options.ts";
import type { Summary } from "./summary.ts";

/** Quick signatures for the workers. */
const HOOK = new URL("../native/hook.ts", import.meta.url).href;

/** What a worker process answers to one run. */
export type WorkerAnswer =
  | { readonly ok: true; readonly summary: Summary }
  | { readonly ok: false; readonly seed: number; readonly error: string };

/** Runs worlds in several processes, one at a time in each. `next`: null when there are no more. Stops when `onAnswer` says so. */
export async function runPool(
  jobs: number,
  next: () => SimRunOptions | null,
  onAnswer: (answer: WorkerAnswer) => "go on" | "stop",
): Promise<void> {
  const program = fileURLToPath(new URL("./worker.ts", import.meta.url));
  let stopped = false;
  await Promise.all(
    Array.from({ length: jobs }, async () => {
      const child = fork(program, [], {
        // There is a process for each core: threads that help each of them collect garbage only get in each other's way.
        // What a world makes and drops dies young where there is room for it: a look at the survivors is what costs.
        execArgv: [
          "--max-old-space-size=3000",
          "--min-semi-space-size=256",
          "--max-semi-space-size=256",
          "--single-threaded-gc",
          "--import",
          HOOK,
        ],
        stdio: ["ignore", "inherit", "inherit", "ipc"],
      });
      try {
        for (let options = next(); options !== null && !stopped; options = next()) {
          if (onAnswer(await ask(child, options)) === "stop") stopped = true;
        }
      } finally {
        child.kill();
      }
    }),
  );
}

function ask(child: ChildProcess, options: SimRunOptions): Promise<WorkerAnswer> {
  return new Promise((resolve) => {
    const onExit = (code: number | null, signal: string | null): void =>
      resolve({ ok: false, seed: options.seed, error: `the process ended with ${code ?? signal}` });
    child.once("exit", onExit);
    child.once("message", (answer: WorkerAnswer) => {
      child.removeListener("exit", onExit);
      resolve(answer);
    });
    child.send(options);
  });
}
