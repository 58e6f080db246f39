import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The npm package that holds the program for this platform, where there is one. */
const PACKAGE = `@foundry-rs/anvil-${process.platform}-${process.arch === "x64" ? "amd64" : process.arch}`;
const READY_MS = 20_000;

/** What is said where there is no anvil to start. */
export const NO_ANVIL =
  "ETH-like coins and ERC-20 tokens need the program anvil, which npm ci brings on Linux x64: elsewhere install Foundry (https://getfoundry.sh), so that anvil is on the PATH";

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function packaged(): string | null {
  try {
    return createRequire(import.meta.url).resolve(`${PACKAGE}/bin/anvil`);
  } catch (cause) {
    if (cause instanceof Error && "code" in cause && cause.code === "MODULE_NOT_FOUND") return null;
    throw cause;
  }
}

/** The package's program, else one on the PATH; null: there is none. */
export function anvilProgram(inPackage: string | null = packaged(), path = process.env.PATH ?? ""): string | null {
  const onPath = path.split(delimiter).map((folder) => join(folder, "anvil"));
  return [...(inPackage === null ? [] : [inPackage]), ...onPath].find(isProgram) ?? null;
}

export type AnvilProcess = {
  readonly url: string;
  readonly port: number;
  /** What it printed until it listened: its accounts and their keys. */
  readonly said: string;
  /** Ends it at once; may be called twice. */
  stop(): Promise<void>;
};

/** Ends what it started when its standard input closes: no chain is left behind, however this process ends. */
function keeperFile(): string {
  const here = fileURLToPath(import.meta.url);
  return fileURLToPath(new URL(here.endsWith(".ts") ? "./keeper.ts" : "./keeper.js", import.meta.url));
}

/**
 * Starts an Ethereum chain on 127.0.0.1 and waits until it listens. Throws when there is no program or it does not come up.
 * @param args of anvil's command line; `--port 0` is any free one
 */
export async function startAnvilProcess(args: readonly string[], program = anvilProgram()): Promise<AnvilProcess> {
  if (program === null) throw new Error(NO_ANVIL);
  const child = spawn(process.execPath, [keeperFile(), program, "--host", "127.0.0.1", ...args], {
    stdio: ["pipe", "pipe", "pipe"],
  });
  const exited = new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
  const stop = async (): Promise<void> => {
    child.stdin.end();
    await exited;
  };
  try {
    const said = await greeting(child);
    const port = Number(/Listening on 127\.0\.0\.1:(\d+)/.exec(said)?.[1]);
    return { url: `http://127.0.0.1:${port}`, port, said, stop };
  } catch (cause) {
    await stop();
    throw cause;
  }
}

/** What it prints until it listens: the accounts, their keys, the port. Its later output is read and dropped. */
function greeting(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    const fail = (what: string): void => reject(new Error(`anvil ${what}: ${said.slice(-1_000)}`));
    const timer = setTimeout(() => fail(`did not listen within ${READY_MS} ms`), READY_MS);
    child.once("error", (cause) => fail(cause.message));
    child.once("exit", (code) => {
      clearTimeout(timer);
      fail(`ended with ${code}`);
    });
    let isUp = false;
    const hear = (data: Buffer): void => {
      if (isUp) return;
      said += data.toString("utf8");
      if (!/Listening on 127\.0\.0\.1:\d+\s/.test(said)) return;
      isUp = true;
      clearTimeout(timer);
      resolve(said);
    };
    child.stdout?.on("data", hear);
    child.stderr?.on("data", hear);
  });
}
