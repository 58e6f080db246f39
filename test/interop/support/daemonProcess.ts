import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { createDaemonClient, type DaemonClient } from "../../../src/adapters/jsonRpc/daemonClient.ts";
import { createSystemClock } from "../../../src/adapters/system/systemClock.ts";
import { Secret } from "../../../src/core/util/secret.ts";
import { until } from "../../../src/devnet/devnet.ts";
import { freePort } from "../../../src/devnet/freePorts.ts";

/** A coin daemon of somebody else's, running on a regtest chain of its own. */
export type Daemon = {
  readonly rpcUrl: string;
  call(method: string, params?: readonly unknown[]): Promise<unknown>;
  /** Ends the process as an operator would and starts it again on the same data. */
  restart(): Promise<void>;
  close(): Promise<void>;
};

export type DaemonProgram = {
  readonly name: string;
  readonly path: string;
  /** Its command line. */
  readonly args: (at: {
    readonly dir: string;
    readonly rpcPort: number;
    readonly user: string;
    readonly password: string;
  }) => readonly string[];
};

const USER = "interop";
const PASSWORD = "interop-regtest-only";
const READY_MS = 30_000;
/** litecoind waits up to 30 s for connections that others keep. */
const STOP_MS = 60_000;

/** Starts a daemon in a folder of its own and waits until it answers. Nothing is left of it after `close`. */
export async function startDaemon(program: DaemonProgram): Promise<Daemon> {
  const dir = await mkdtemp(join(tmpdir(), `swapnode-${program.name}-`));
  const rpcPort = await freePort();
  const connect = (): DaemonClient =>
    createDaemonClient({ url: new URL(`http://127.0.0.1:${rpcPort}/`), user: USER, password: new Secret(PASSWORD) }, createSystemClock());
  let client = connect();
  const call = async (method: string, params: readonly unknown[] = []): Promise<unknown> => {
    const answer = await client.call(method, params, { timeoutMs: 60_000 });
    if (!answer.ok) throw new Error(`${program.name} ${method}: ${answer.error.message}`);
    return answer.value;
  };
  let running: Running | null = null;
  const start = async (): Promise<void> => {
    running = run(program, program.args({ dir, rpcPort, user: USER, password: PASSWORD }));
    const died = running.exited.then((code) => {
      throw new Error(`${program.name} ended with ${code}: ${running?.said() ?? ""}`);
    });
    died.catch(() => undefined);
    await Promise.race([until(`${program.name} answers`, () => call("getblockcount"), READY_MS), died]);
  };
  const stop = async (): Promise<void> => {
    if (!running) return;
    const { child, exited } = running;
    running = null;
    // Our own kept connections would hold it up.
    client.close();
    client = connect();
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.stdin?.end(), STOP_MS);
    await exited;
    clearTimeout(timer);
  };
  const close = async (): Promise<void> => {
    await stop();
    client.close();
    await rm(dir, { recursive: true, force: true });
  };
  try {
    await start();
  } catch (cause) {
    await close();
    throw cause;
  }
  return {
    rpcUrl: `http://${USER}:${PASSWORD}@127.0.0.1:${rpcPort}`,
    call,
    async restart() {
      await stop();
      await start();
    },
    close,
  };
}

type Running = { readonly child: ChildProcess; readonly exited: Promise<number | string>; said(): string };

const KEEPER = fileURLToPath(new URL("../../../src/devnet/keeper.ts", import.meta.url));

function run(program: DaemonProgram, args: readonly string[]): Running {
  // Its standard input is the thread the daemon hangs by: no test run, however it ends, leaves a daemon behind.
  const child = spawn(process.execPath, [KEEPER, program.path, ...args], { stdio: ["pipe", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (data: Buffer) => {
      said = `${said}${data}`.slice(-2_000);
    });
  }
  const exited = new Promise<number | string>((resolve) => {
    child.once("exit", (code, signal) => resolve(code ?? signal ?? "unknown"));
    child.once("error", (cause) => resolve(cause.message));
  });
  return { child, exited, said: () => said };
}
