import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Call, deploy } from "../../../src/devnet/accountChain.ts";
import { until } from "../../../src/devnet/devnet.ts";
import { freePort } from "../../../src/devnet/freePorts.ts";
import { type TestNetwork, withNetwork } from "../../e2e/support/network.ts";
import { accountTopology, ETH } from "./accountNetwork.ts";
import { type KeptProcess, startKept } from "./keptProcess.ts";
import { gethPath } from "./programs.ts";

/** What tests do with geth beside the nodes. */
export type GethChain = {
  call(method: string, ...params: readonly unknown[]): Promise<unknown>;
  /** Stops it as an operator would and starts it again, with these arguments more. */
  restart(more?: readonly string[]): Promise<void>;
  /** Takes the block of this height and all after it out of the chain. What they had is in no pool either. */
  reorg(height: number): Promise<void>;
};

/** Of geth's development chain. */
const CHAIN_ID = 1_337;
const STOP_MS = 30_000;

const quantity = (n: number): string => `0x${n.toString(16)}`;

const argsOf = (dir: string, port: number): readonly string[] => [
  ...["--dev", "--dev.period", "1", "--dev.gaslimit", "30000000", "--datadir", dir, "--nodiscover", "--maxpeers", "0", "--verbosity", "2"],
  ...["--http", "--http.port", String(port), "--http.api", "eth,net,web3,debug,txpool"],
  ...["--ws", "--ws.port", String(port), "--ws.api", "eth,net,web3"],
];

/** A seed, a maker and a taker as processes of their own, over an embedded UTXO chain and a real geth with a block each second. */
export async function withGethNetwork(
  config: Readonly<Record<string, unknown>>,
  work: (network: TestNetwork, geth: GethChain) => Promise<void>,
): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "swapnode-geth-"));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  let running: KeptProcess = startKept(gethPath(), argsOf(dir, port));
  const call = async (method: string, params: readonly unknown[] = []): Promise<unknown> => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const headers = { "content-type": "application/json" };
    const reply = (await (await fetch(url, { method: "POST", headers, body })).json()) as { result?: unknown; error?: { message: string } };
    if (reply.error) throw new Error(`geth ${method}: ${reply.error.message}`);
    return reply.result;
  };
  const ready = (): Promise<unknown> => until("geth answers", () => call("eth_blockNumber"), STOP_MS);
  const geth: GethChain = {
    call: (method, ...params) => call(method, params),
    restart: async (more = []) => {
      await running.stop(STOP_MS);
      running = startKept(gethPath(), [...argsOf(dir, port), ...more]);
      await ready();
    },
    reorg: async (height) => {
      const gone = (await call("eth_getBlockByNumber", [quantity(height), false])) as { hash: string };
      await call("debug_setHead", [quantity(height - 1)]);
      await until("another block stands there", async () => {
        const now = (await call("eth_getBlockByNumber", [quantity(height), false])) as { hash: string } | null;
        return now && now.hash !== gone.hash ? true : null;
      });
    },
  };
  const inBlocks = async (ask: Call, sent: readonly string[]): Promise<void> => {
    for (const txid of sent) await until(`${txid} is in a block`, async () => (await ask("eth_getTransactionReceipt", [txid])) ?? null);
  };
  try {
    await ready();
    await withNetwork(accountTopology(CHAIN_ID, config), (network) => work(network, geth), {
      startAccountChain: async ({ platform, tokens }) => {
        const net = await deploy(url, async () => undefined, platform, tokens, inBlocks);
        const chains = new Map(
          [...net.chains].map(([ticker, chain]) => [ticker, { ...chain, urls: [url.replace("http", "ws")] }] as const),
        );
        if (!chains.has(ETH)) throw new Error(`no ${ETH}`);
        return { chains, entries: net.entries };
      },
    });
  } finally {
    await running.stop(STOP_MS);
    await rm(dir, { recursive: true, force: true });
  }
}
