import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDaemonClient, type DaemonClient } from "../../../src/adapters/jsonRpc/daemonClient.ts";
import { createSystemClock } from "../../../src/adapters/system/systemClock.ts";
import { Secret } from "../../../src/core/util/secret.ts";
import { until } from "../../../src/devnet/devnet.ts";
import { freePort } from "../../../src/devnet/freePorts.ts";
import { type KeptProcess, startKept } from "./keptProcess.ts";

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
  let running: KeptProcess | null = null;
  const start = async (): Promise<void> => {
    running = startKept(program.path, program.args({ dir, rpcPort, user: USER, password: PASSWORD }));
    const died = running.exited.then((code) => {
      throw new Error(`${program.name} ended with ${code}: ${running?.said() ?? ""}`);
    });
    died.catch(() => undefined);
    await Promise.race([until(`${program.name} answers`, () => call("getblockcount"), READY_MS), died]);
  };
  const stop = async (): Promise<void> => {
    if (!running) return;
    const stopping = running;
    running = null;
    // Our own kept connections would hold it up.
    client.close();
    client = connect();
    await stopping.stop(STOP_MS);
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
