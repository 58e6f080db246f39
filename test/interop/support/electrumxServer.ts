import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newKeyPem, selfSignedCertificate } from "../../../src/adapters/httpServer/selfSigned.ts";
import { until } from "../../../src/devnet/devnet.ts";
import { freePort } from "../../../src/devnet/freePorts.ts";
import { type KeptProcess, startKept } from "./keptProcess.ts";
import { electrumxPath } from "./programs.ts";

/** How clients reach a server, by KDF's names. */
export type Service = "TCP" | "SSL" | "WS" | "WSS";

/** ElectrumX over somebody's daemon. */
export type ElectrumxServer = {
  /** Host and port of a service. */
  url(service: Service): string;
  /** Height of the last block it told a client of; null while it is away. */
  height(): number | null;
  /** `kill -9`. */
  kill(): Promise<void>;
  /** Starts it again on what it had written. */
  start(): Promise<void>;
  close(): Promise<void>;
};

/** ElectrumX's names of a chain. */
export type ElectrumxChain = { readonly coin: string; readonly net: string };

const CLIENTS: readonly Service[] = ["TCP", "SSL", "WS", "WSS"];
const READY_MS = 60_000;
const STOP_MS = 10_000;
const HOST = "127.0.0.1";

/** Whether somebody listens there. ElectrumX does once it has caught up with its daemon. */
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

/** Starts ElectrumX in a folder of its own and with a certificate of its own, and waits until it answers. @param limits others than its usual ones */
export async function startElectrumx(
  daemonUrl: string,
  { coin, net }: ElectrumxChain,
  limits: { readonly [variable: string]: string } = {},
): Promise<ElectrumxServer> {
  const dir = await mkdtemp(join(tmpdir(), "swapnode-electrumx-"));
  const database = join(dir, "db");
  await mkdir(database);
  const key = newKeyPem();
  await writeFile(join(dir, "key.pem"), key, { mode: 0o600 });
  await writeFile(join(dir, "certificate.pem"), selfSignedCertificate(key, [HOST], Date.now()));
  const ports = new Map<Service, number>();
  for (const service of CLIENTS) ports.set(service, await freePort());
  const env = {
    COIN: coin,
    NET: net,
    DAEMON_URL: daemonUrl,
    DB_DIRECTORY: database,
    SERVICES: [...ports].map(([service, port]) => `${service.toLowerCase()}://${HOST}:${port}`).join(","),
    SSL_KEYFILE: join(dir, "key.pem"),
    SSL_CERTFILE: join(dir, "certificate.pem"),
    PEER_DISCOVERY: "off",
    ALLOW_ROOT: "yes",
    CACHE_MB: "10",
    ...limits,
  };
  let running: KeptProcess | null = null;
  let tip: ReturnType<typeof followTip> | null = null;
  const start = async (): Promise<void> => {
    const starting = startKept(electrumxPath(), [], env);
    running = starting;
    const died = starting.exited.then((code) => {
      throw new Error(`electrumx ended with ${code}: ${starting.said()}`);
    });
    died.catch(() => undefined);
    const port = ports.get("TCP") ?? 0;
    await Promise.race([until("electrumx answers", () => listens(port), READY_MS), died]);
    tip = followTip(port);
  };
  const close = async (): Promise<void> => {
    tip?.close();
    await running?.stop(STOP_MS);
    await rm(dir, { recursive: true, force: true });
  };
  try {
    await start();
  } catch (cause) {
    await close();
    throw cause;
  }
  return {
    url: (service) => `${HOST}:${ports.get(service)}`,
    height: () => tip?.height() ?? null,
    async kill() {
      await running?.kill();
    },
    start,
    close,
  };
}
