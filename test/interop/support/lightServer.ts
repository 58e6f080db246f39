import { connect } from "node:net";
import { until } from "../../../src/devnet/devnet.ts";
import { type KeptProcess, startKept } from "./keptProcess.ts";

/** An Electrum server over somebody's daemon. */
export type LightServer = {
  /** Height of the last block it told a client of; null while it is away. */
  height(): number | null;
  /** `kill -9`. */
  kill(): Promise<void>;
  /** Starts it again on what it had written. */
  start(): Promise<void>;
  close(): Promise<void>;
};

/** A server's program. `port`: where it speaks without TLS. */
export type LightProgram = {
  readonly name: string;
  readonly path: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly port: number;
  /** What must have come about before it may be asked, if it listens before. */
  readonly ready?: Promise<void>;
};

const READY_MS = 60_000;
const STOP_MS = 10_000;
const HOST = "127.0.0.1";

/** Whether somebody listens there. Electrum servers do once they have caught up with their daemon. */
const listens = (port: number): Promise<true | null> =>
  new Promise((resolve) => {
    const socket = connect({ host: HOST, port });
    socket.once("connect", () => socket.destroy());
    socket.once("connect", () => resolve(true));
    socket.once("error", () => resolve(null));
  });

/** Height a server tells of, asked for once: whoever asks often is slowed down, with all others of the same address. */
function followTip(port: number): { height(): number | null; close(): void } {
  let height: number | null = null;
  const socket = connect({ host: HOST, port });
  socket.once("error", () => socket.destroy());
  socket.once("close", () => {
    height = null;
  });
  socket.write(`${JSON.stringify({ jsonrpc: "2.0", id: 0, method: "blockchain.headers.subscribe", params: [] })}\n`);
  let rest = "";
  socket.setEncoding("utf8").on("data", (piece: string) => {
    const lines = `${rest}${piece}`.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const told = JSON.parse(line) as { result?: { height: number }; params?: readonly { height: number }[] };
      height = (told.result ?? told.params?.[0])?.height ?? height;
    }
  });
  return { height: () => height, close: () => void socket.destroy() };
}

/** Starts a server and waits until it answers. @param clean what is to be done once it is gone for good */
export async function startLightServer(
  { name, path, args, env, port, ready }: LightProgram,
  clean: () => Promise<void>,
): Promise<LightServer> {
  let running: KeptProcess | null = null;
  let tip: ReturnType<typeof followTip> | null = null;
  const start = async (): Promise<void> => {
    const starting = startKept(path, args, env);
    running = starting;
    const died = starting.exited.then((code) => {
      throw new Error(`${name} ended with ${code}: ${starting.said()}`);
    });
    died.catch(() => undefined);
    await Promise.race([until(`${name} answers`, () => listens(port), READY_MS).then(() => ready), died]);
    tip = followTip(port);
  };
  const close = async (): Promise<void> => {
    tip?.close();
    await running?.stop(STOP_MS);
    await clean();
  };
  try {
    await start();
  } catch (cause) {
    await close();
    throw cause;
  }
  return {
    height: () => tip?.height() ?? null,
    async kill() {
      await running?.kill();
    },
    start,
    close,
  };
}
