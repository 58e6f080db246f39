import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rmd160Hex } from "../../src/core/keys/dbIds.ts";
import { Secret } from "../../src/core/util/secret.ts";
import { DEMO_COINS } from "../../src/devnet/demoCoins.ts";
import { freeNetid, freePort } from "../../src/devnet/freePorts.ts";
import type * as nodeProcess from "../../src/devnet/nodeProcess.ts";
import { createRpcClient, type RpcClient } from "../../src/devnet/rpcClient.ts";
import { nodeKeys } from "../../src/main/nodeKeys.ts";

/** Which program is started: the sources of the checkout, or what `npm run build` made of them. */
export type Program = "checkout" | "dist";

const MODULE: { readonly [P in Program]: URL } = {
  checkout: new URL("../../src/devnet/nodeProcess.ts", import.meta.url),
  dist: new URL("../../dist/devnet/nodeProcess.js", import.meta.url),
};

/** What can be started here: `dist` only after a build. */
export const programs = (): readonly Program[] => (existsSync(fileURLToPath(MODULE.dist)) ? ["checkout", "dist"] : ["checkout"]);

export type LoneNode = {
  readonly pid: number;
  readonly rpc: RpcClient;
  /** Seconds from the start of the process to the first RPC answer. */
  readonly startSeconds: number;
  stop(): Promise<void>;
};

export type LoneNodeOptions = {
  readonly program: Program;
  readonly isSeed: boolean;
  readonly seednodes?: readonly string[];
  /** Beside the demo's: test coins with these tickers. */
  readonly tickers?: readonly string[];
  /** Beside these: any entries of a coins file. */
  readonly coins?: readonly object[];
  /** Makes the database the node finds, at this path. */
  readonly fillStore?: (path: string) => Promise<void>;
};

const HOST = "127.0.0.1";
/** A loopback address nobody listens on: a light node must have a seed to look for. */
const UNREACHABLE = "127.250.250.250";

/** Tries again at once, as an impatient client does; a new socket each time. */
function firstAnswer(port: number, userpass: string, isGone: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const attempt = (): void => {
      if (isGone()) {
        reject(new Error("the node has ended"));
        return;
      }
      const call = request({ host: "127.0.0.1", port, method: "POST", agent: false }, (reply) => {
        reply.resume();
        reply.on("end", () => (reply.statusCode === 200 ? resolve() : reject(new Error(`HTTP ${reply.statusCode}`))));
      });
      call.on("error", () => setTimeout(attempt, 2));
      call.end(JSON.stringify({ userpass, method: "version" }));
    };
    attempt();
  });
}

/** One node process in a fresh folder, with the demo's coins. */
export async function startLoneNode({
  program,
  isSeed,
  seednodes,
  tickers = [],
  coins: more = [],
  fillStore,
}: LoneNodeOptions): Promise<LoneNode> {
  const { startNodeProcess }: typeof nodeProcess = await import(MODULE[program].href);
  const dir = await mkdtemp(join(tmpdir(), "swapnode-bench-"));
  const port = await freePort();
  const userpass = "Bench-0123456789-aZ";
  const mm2 = {
    gui: "swapnode-bench",
    netid: await freeNetid([HOST]),
    rpc_password: userpass,
    passphrase: `bench ${isSeed ? "seed" : "light"} node, no value`,
    rpcport: port,
    dbdir: join(dir, "DB"),
    ...(isSeed ? { i_am_seed: true, myipaddr: HOST } : {}),
    ...(isSeed && !seednodes ? { is_bootstrap_node: true } : { seednodes: seednodes ?? [UNREACHABLE] }),
  };
  if (fillStore) {
    const home = join(mm2.dbdir, rmd160Hex(nodeKeys(new Secret(mm2.passphrase), false).node.publicKey));
    await mkdir(home, { recursive: true });
    await fillStore(join(home, "swapnode.db"));
  }
  const coins = [...DEMO_COINS, ...tickers.map((coin) => ({ ...DEMO_COINS[0], coin, asset: coin, fname: coin })), ...more];
  const startMs = performance.now();
  const child = startNodeProcess(dir, { mm2, coins });
  let ended: string | number | null = null;
  void child.exited.then((code) => {
    ended = code;
  });
  try {
    await firstAnswer(port, userpass, () => ended !== null);
  } catch (cause) {
    await child.stop();
    await rm(dir, { recursive: true, force: true });
    throw new Error(`the node did not start: ${String(ended)}\n${child.tail().join("\n")}`, { cause });
  }
  return {
    pid: child.pid,
    rpc: createRpcClient(`http://127.0.0.1:${port}`, userpass),
    startSeconds: (performance.now() - startMs) / 1_000,
    async stop() {
      await child.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}
