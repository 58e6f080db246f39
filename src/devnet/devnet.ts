import { randomBytes } from "node:crypto";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSystemClock } from "../adapters/system/systemClock.ts";
import { createSystemRng } from "../adapters/system/systemRng.ts";
import { startChainServer } from "../chain/startChainServer.ts";
import { decimal, gte } from "../core/money/rational.ts";
import { reasonOf } from "../core/util/reasonOf.ts";
import type { AccountChainOfNet, AccountChainOptions } from "./accountChain.ts";
import { wantedCoin } from "./accountCoins.ts";
import type { DevChain } from "./devChain.ts";
import { freeNetid, freePort } from "./freePorts.ts";
import { type NodeFiles, type NodeProcess, startNodeProcess } from "./nodeProcess.ts";
import { createRpcClient, type RpcClient } from "./rpcClient.ts";
import { backendOf, needsElectrum, type Topology, type TopologyNode } from "./topology.ts";

/** One running node of the network. */
export type DevNode = {
  readonly name: string;
  readonly rpc: RpcClient;
  readonly pubkey: string;
  readonly addresses: Record<string, string>;
  readonly dataDir: string;
  readonly process: NodeProcess;
  /** The configuration it was started with; start it again with the same to simulate a restart. */
  readonly config: NodeFiles;
};

export type Devnet = {
  readonly nodes: ReadonlyMap<string, DevNode>;
  readonly chains: ReadonlyMap<string, DevChain>;
  /** Enables a node's coins on these chains; needed again after the node was restarted. */
  enableCoins(node: DevNode): Promise<void>;
  /** Starts a node anew in its old data folder. The caller sees to it that the old process is gone. */
  restart(name: string): Promise<DevNode>;
  stop(): Promise<void>;
};

export type DevnetOptions = {
  readonly topology: Topology;
  /** Folder that outlives the network; null: a temporary one that goes with it. */
  readonly keepDataDir: string | null;
  /** Progress for people. */
  readonly say: (line: string) => void;
  readonly onLog?: (node: string, line: string) => void;
  /** Resolves when the start is called off. */
  readonly interrupted?: Promise<void>;
  /** Starts the chain of a UTXO coin; default: an embedded one. */
  readonly startChain?: (entry: Topology["coins"][number], blockTimeMs: number, servers: number) => Promise<DevChain>;
  /** Starts the chain of a platform coin and its tokens; default: anvil. */
  readonly startAccountChain?: (options: AccountChainOptions) => Promise<AccountChainOfNet>;
};

/** Over each chain that is followed through such: enough that one may lie. */
const ELECTRUM_SERVERS = 3;
const READY_MS = 60_000;
const LOOK_MS = 100;

const later = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Looks until `probe` gives something; the last reason it gave nothing is in the error. */
export async function until<T>(what: string, probe: () => Promise<T | null>, timeoutMs = READY_MS, lookMs = LOOK_MS): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  let last = "";
  for (;;) {
    try {
      const found = await probe();
      if (found !== null) return found;
    } catch (cause) {
      last = `: ${reasonOf(cause)}`;
    }
    if (Date.now() > deadline) throw new Error(`${what}: not within ${timeoutMs / 1_000} s${last}`);
    await later(lookMs);
  }
}

/** A private network on this machine: embedded chains in this process, each node in a process of its own. */
export async function startDevnet(options: DevnetOptions): Promise<Devnet> {
  const { topology, say } = options;
  const root = options.keepDataDir ?? (await mkdtemp(join(tmpdir(), "swapnode-")));
  const chains = new Map<string, DevChain>();
  const nodes = new Map<string, DevNode>();
  // Also those that never became ready.
  const processes = new Set<NodeProcess>();
  // A start that waits for a node that is gone ends at once.
  let giveUp: (cause: Error) => void = () => undefined;
  const givenUp = new Promise<never>((_, reject) => {
    giveUp = reject;
  });
  givenUp.catch(() => undefined);
  void options.interrupted?.then(() => giveUp(new Error("interrupted")));
  let stopping = false;
  const launch = async (name: string, config: NodeFiles, dir: string): Promise<DevNode> => {
    if (stopping) throw new Error("the network is stopping");
    const process = startNodeProcess(dir, config, (line) => options.onLog?.(name, line), options.keepDataDir === null);
    processes.add(process);
    void process.exited.then((code) => {
      processes.delete(process);
      if (nodes.get(name)?.process === process && !stopping) say(`node ${name} ended with ${code}`);
      giveUp(new Error(`node ${name} ended with ${code}\n${process.tail().join("\n")}`));
    });
    return firstAnswer(name, config, dir, process);
  };
  const stop = async (): Promise<void> => {
    stopping = true;
    await Promise.all([...processes].map((p) => p.stop()));
    await Promise.all([...chains.values()].map((c) => c.close()));
    if (options.keepDataDir === null) await rm(root, { recursive: true, force: true });
  };
  const bringUp = async (): Promise<Devnet> => {
    const coins = await startChains(options, chains);
    const seeds = topology.nodes.filter((n) => n.seed);
    const hosts = seeds.map((_, i) => `127.0.0.${i + 1}`);
    const netid = await freeNetid(hosts);
    const start = async (n: TopologyNode): Promise<DevNode> => {
      const node = await startNode(n, await configOf(n, netid, seeds, hosts), coins, join(root, n.name), launch);
      nodes.set(n.name, node);
      return node;
    };
    // Seeds first, in order: each later one connects to those before it.
    for (const n of seeds) await start(n);
    await Promise.all(topology.nodes.filter((n) => !n.seed).map(start));
    say(`${nodes.size} nodes answer`);
    await Promise.all([...nodes.values()].map((n) => (topology.nodes.length > 1 ? connected(n) : null)));
    const wanted = new Map(topology.nodes.map((n) => [n.name, n]));
    const enableCoins = async (node: DevNode): Promise<void> => {
      for (const coin of wanted.get(node.name)?.enable ?? []) node.addresses[coin] = await enable(node, coin, chains, topology);
    };
    await Promise.all([...nodes.values()].map(enableCoins));
    say("coins are active");
    await Promise.all(topology.nodes.map((n) => fund(n, nodes, chains)));
    say("funds are confirmed");
    return {
      nodes,
      chains,
      enableCoins,
      async restart(name) {
        const old = nodes.get(name);
        if (!old) throw new Error(`no node is called ${name}`);
        const node = await launch(name, old.config, old.dataDir);
        nodes.set(name, node);
        return node;
      },
      stop,
    };
  };
  try {
    return await Promise.race([bringUp(), givenUp]);
  } catch (cause) {
    await stop();
    throw cause;
  }
}

async function configOf(
  n: TopologyNode,
  netid: number,
  seeds: readonly TopologyNode[],
  hosts: readonly string[],
): Promise<NodeFiles["mm2"]> {
  const place = seeds.indexOf(n);
  const others = place < 0 ? hosts : hosts.slice(0, place);
  return {
    gui: "swapnode-devnet",
    netid,
    rpc_password: `Dev-${randomBytes(12).toString("hex")}-9z`,
    allow_weak_password: true,
    passphrase: n.passphrase ?? `devnet ${n.name} ${randomBytes(16).toString("hex")}`,
    rpcport: await freePort(),
    ...(place >= 0 ? { i_am_seed: true, myipaddr: hosts[place] } : {}),
    ...(others.length > 0 ? { seednodes: others } : { is_bootstrap_node: true }),
    ...n.config,
  };
}

type Launch = (name: string, config: NodeFiles, dir: string) => Promise<DevNode>;

async function startNode(n: TopologyNode, mm2: NodeFiles["mm2"], coins: NodeFiles["coins"], dir: string, launch: Launch): Promise<DevNode> {
  const dataDir = join(dir, "DB");
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  return launch(n.name, { mm2: { dbdir: dataDir, ...mm2 }, coins }, dir);
}

async function firstAnswer(name: string, config: NodeFiles, dir: string, process: NodeProcess): Promise<DevNode> {
  const rpc = createRpcClient(`http://127.0.0.1:${String(config.mm2.rpcport)}`, String(config.mm2.rpc_password));
  const gone = process.exited.then((code) => {
    throw new Error(`node ${name} ended with ${code}\n${process.tail().join("\n")}`);
  });
  gone.catch(() => undefined);
  const key = until(
    `node ${name}`,
    async () => ((await rpc.call("get_public_key", { mmrpc: "2.0", params: null, id: 1 })).result as { public_key: string }).public_key,
  );
  const pubkey = await Promise.race([key, gone]);
  return { name, rpc, pubkey, addresses: {}, dataDir: dir, process, config };
}

/** Every chain of the topology into `chains`. @returns the coins file's entries, each token at the address it has there */
async function startChains(options: DevnetOptions, chains: Map<string, DevChain>): Promise<NodeFiles["coins"]> {
  const { topology, say } = options;
  const blockTimeMs = topology.block_time_s * 1_000;
  const changed = new Map<string, unknown>();
  for (const entry of topology.coins) {
    const { kind } = wantedCoin(entry);
    // Comes with its platform coin.
    if (kind === "token") continue;
    if (kind === "utxo") {
      const servers = needsElectrum(topology, entry.coin) ? ELECTRUM_SERVERS : 0;
      chains.set(entry.coin, await (options.startChain ?? startEmbedded)(entry, blockTimeMs, servers));
      say(`chain ${entry.coin} is up${servers === 0 ? "" : `, with ${servers} Electrum servers`}`);
      continue;
    }
    const tokens = topology.coins.filter((other) => {
      const token = wantedCoin(other);
      return token.kind === "token" && token.platform === entry.coin;
    });
    const { startAccountChain } = await import("./accountChain.ts");
    const started = await (options.startAccountChain ?? startAccountChain)({ platform: entry, tokens, blockTimeMs });
    for (const [ticker, chain] of started.chains) chains.set(ticker, chain);
    for (const coin of started.entries) changed.set(coin.coin, coin);
    say(`chain ${entry.coin} is up, with the swap contract${tokens.map(({ coin }) => ` and the token ${coin}`).join("")}`);
  }
  return topology.coins.map((entry) => changed.get(entry.coin) ?? entry);
}

/** The chain `swapnode devnet` uses when nobody brings another. */
async function startEmbedded(entry: Topology["coins"][number], blockTimeMs: number, servers: number): Promise<DevChain> {
  const chain = await startChainServer({
    coin: entry,
    clock: createSystemClock(),
    rng: createSystemRng(),
    port: 0,
    user: "devnet",
    password: randomBytes(16).toString("hex"),
    blockTimeMs,
    // For people who look at transactions; the nodes get along without.
    txIndex: true,
    electrumPorts: Array.from({ length: servers }, () => 0),
  });
  if (!chain.ok) throw new Error(`coin ${entry.coin}: ${chain.error.detail}`);
  const { daemon, rpcUrl, close, electrum } = chain.value;
  return {
    daemon,
    rpcUrl,
    close,
    ...(servers === 0 ? {} : { electrum: electrum.map(({ port }) => ({ url: `127.0.0.1:${port}` })) }),
    fund: async (address, amount) => void (await daemon.call("chain_faucet", [address, amount])),
  };
}

async function connected(node: DevNode): Promise<void> {
  await until(`${node.name} finds a peer`, async () => {
    const { result } = await node.rpc.call("get_directly_connected_peers");
    return Object.keys(result as object).length > 0 ? true : null;
  });
}

/** Data that was kept may be of a longer chain: those of a network are new each time. */
async function enable(node: DevNode, coin: string, chains: ReadonlyMap<string, DevChain>, topology: Topology): Promise<string> {
  const chain = chains.get(coin);
  if (!chain) throw new Error(`no chain for ${coin}`);
  const { contracts, rpcUrl } = chain;
  if (contracts?.token) {
    const { result } = await node.rpc.call("enable_erc20", { mmrpc: "2.0", id: 1, params: { ticker: coin } });
    return Object.keys((result as { balances: object }).balances)[0] ?? "";
  }
  const wanted = topology.nodes.find((n) => n.name === node.name);
  if (chain.electrum && wanted && backendOf(topology, wanted, coin) === "electrum") {
    return String((await node.rpc.call("electrum", { coin, servers: chain.electrum, tx_history: true, rescan: true })).address);
  }
  const where = contracts ? { urls: chain.urls ?? [rpcUrl], swap_contract_address: contracts.swap } : { rpc_url: rpcUrl, rescan: true };
  return String((await node.rpc.call("enable", { coin, ...where })).address);
}

async function fund(n: TopologyNode, nodes: ReadonlyMap<string, DevNode>, chains: ReadonlyMap<string, DevChain>): Promise<void> {
  const node = nodes.get(n.name);
  if (!node) return;
  // All at once: each waits for a block of its chain.
  const fundCoin = async ([coin, amount]: readonly [string, string]): Promise<void> => {
    await chains.get(coin)?.fund(node.addresses[coin] ?? "", amount);
    await until(`${n.name} has ${amount} ${coin}`, async () => {
      const { balance } = await node.rpc.call("my_balance", { coin });
      return gte(decimal(String(balance)), decimal(amount)) ? true : null;
    });
  };
  await Promise.all(Object.entries(n.fund).map(fundCoin));
}
