import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** A program that ends with this process, however that ends. */
export type KeptProcess = {
  /** Its exit code, or what ended it. */
  readonly exited: Promise<number | string>;
  /** The end of what it wrote. */
  said(): string;
  /** Ends it as an operator would; killed when it takes longer than this. */
  stop(withinMs: number): Promise<void>;
  /** `kill -9`, and it is gone. */
  kill(): Promise<void>;
};

const KEEPER = fileURLToPath(new URL("../../../src/devnet/keeper.ts", import.meta.url));
const KEPT_CHARS = 2_000;

/** @param env variables more than those of this process */
export function startKept(path: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): KeptProcess {
  // Its standard input is the thread the program hangs by: no test run, however it ends, leaves one behind.
  const child: ChildProcess = spawn(process.execPath, [KEEPER, path, ...args], {
    stdio: ["pipe", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (data: Buffer) => {
      said = `${said}${data}`.slice(-KEPT_CHARS);
    });
  }
  const exited = new Promise<number | string>((resolve) => {
    child.once("exit", (code, signal) => resolve(code ?? signal ?? "unknown"));
    child.once("error", (cause) => resolve(cause.message));
  });
  const kill = async (): Promise<void> => {
    child.stdin?.end();
    await exited;
  };
  return {
    exited,
    said: () => said,
    async stop(withinMs) {
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.stdin?.end(), withinMs);
      await exited;
      clearTimeout(timer);
    },
    kill,
  };
}
