import { MemoryNet } from "../../src/adapters/memoryNet/memoryNet.ts";
import { createNativeVerifier } from "../../src/adapters/system/nativeVerifier.ts";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { VirtualClock } from "../../src/adapters/virtualClock/virtualClock.ts";
import { parseCoinEntry } from "../../src/core/coin/coinEntry.ts";
import { isEvmProtocol } from "../../src/core/coin/evmProtocol.ts";
import { type NetworkProfile, profileOfNetid } from "../../src/core/network/networkProfile.ts";
import { DEMO_COINS } from "../../src/devnet/demoCoins.ts";
import { randomBelow } from "../../src/ports/rng.ts";
import { SimEvmChain, type SimEvmOptions } from "./evm/simEvmChain.ts";
import { sharedVerifier } from "./sharedVerifier.ts";
import { SimChain } from "./simChain.ts";
import { SimLog } from "./simLog.ts";
import { SimNode, type SimNodeOptions, type SimShared } from "./simNode.ts";
import { SimServers } from "./simServers.ts";
import { SimTrace } from "./simTrace.ts";

const relayAddress = (name: string): string => `/memory/${name}`;
/** Any netid without rules of its own: the `spec` profile. */
const NETID = 9_998;
/** Longest a start, an order or another single call may take, virtual. */
const CALL_LIMIT_MS = 120_000;
export const HOUR_MS = 3_600_000;

/** An entry of a coins file. */
export type SimCoin = { readonly coin: string; readonly [key: string]: unknown };

export type SimOptions = {
  /** Everything random in the world is drawn from it. */
  readonly seed: number;
  /** A block on every chain this often; default a minute. */
  readonly blockTimeMs?: number;
  /** How often nodes look at their daemons; default 5 s. Hours of waiting stay cheap with a slow one. */
  readonly pollMs?: number;
  readonly profile?: Partial<NetworkProfile>;
  /** Confirmations both sides want of each payment; default 1. */
  readonly confirmations?: number;
  /** Entries of a coins file; default: the demo's two coins, with the block time and confirmations above. */
  readonly coins?: readonly SimCoin[];
  /** Account chains beside them; the entries of their coins and tokens stand in `coins`. */
  readonly accountChains?: readonly Omit<SimEvmOptions, "clock">[];
  /** Who mines. Default: every chain by itself, a block each `blockTimeMs`. */
  readonly mining?: "auto" | "by_hand";
  /** Blocks each chain begins with, mined to its faucet; default 101. */
  readonly initialBlocks?: (entry: SimCoin) => number;
  /** Relays; default one. */
  readonly relays?: number;
  /** Longest virtual time of an fsync, drawn for each; default 0. */
  readonly fsyncMs?: number;
  /** Every chain has Electrum servers, for nodes that want them; default: none has, but where `SimWorld.backend` says so. */
  readonly electrum?: boolean;
};

/** Whole nodes, chains, a relay and the network between them in one process, on one virtual clock. */
export class SimWorld {
  /** What nodes that are not told otherwise see UTXO coins through, in worlds that are made from now on: a daemon each, or servers they share. */
  static backend: "daemon" | "electrum" = "daemon";
  static get isElectrum(): boolean {
    return SimWorld.backend === "electrum";
  }
  readonly clock = new VirtualClock();
  readonly net: MemoryNet;
  readonly trace = new SimTrace(this.clock);
  readonly chains = new Map<string, SimChain>();
  /** By platform coin. */
  readonly accountChains = new Map<string, SimEvmChain>();
  /** Electrum servers by coin. */
  readonly servers = new Map<string, SimServers>();
  readonly nodes = new Map<string, SimNode>();
  /** Names of the relays. */
  readonly relays: readonly string[];
  /** Share of gossip messages that vanish on each hop, 0 to 1. */
  messageLoss = 0;
  readonly #shared: SimShared;

  private constructor(options: SimOptions) {
    const rng = seededRng(options.seed);
    this.relays = Array.from({ length: options.relays ?? 1 }, (_, i) => (i === 0 ? "relay" : `relay${i + 1}`));
    const verifier = sharedVerifier(createNativeVerifier(new SimLog(() => "verifier")));
    const blockTimeMs = options.blockTimeMs ?? 60_000;
    this.net = new MemoryNet(this.clock, seededRng(randomBelow(rng, 2 ** 32)));
    const dice = seededRng(randomBelow(rng, 2 ** 32));
    const entries = new Map();
    const common = { avg_blocktime: blockTimeMs / 1_000, required_confirmations: options.confirmations ?? 1 };
    for (const raw of options.coins ?? DEMO_COINS.map((demo): SimCoin => ({ ...demo, ...common }))) {
      const entry = parseCoinEntry(raw);
      if (!entry.ok) throw new Error(entry.error.detail);
      entries.set(raw.coin, entry.value);
      if (isEvmProtocol(entry.value.protocol.type)) continue;
      this.chains.set(
        raw.coin,
        new SimChain(raw, { clock: this.clock, rng, verifier, initialBlocks: options.initialBlocks?.(raw) ?? 101 }),
      );
    }
    if (options.electrum ?? SimWorld.isElectrum)
      for (const [ticker, chain] of this.chains) this.servers.set(ticker, new SimServers(chain, this.clock));
    for (const account of options.accountChains ?? []) {
      this.accountChains.set(account.ticker, new SimEvmChain({ ...account, clock: this.clock }));
    }
    this.#shared = {
      clock: this.clock,
      rng,
      net: this.net,
      trace: this.trace,
      verifier,
      entries,
      chains: this.chains,
      accountChains: this.accountChains,
      servers: this.servers,
      profile: { ...profileOfNetid(NETID), ...options.profile },
      pollMs: options.pollMs ?? 5_000,
      fsyncMs: options.fsyncMs ?? 0,
      isMessageLost: () => this.messageLoss > 0 && randomBelow(dice, 1_000) < this.messageLoss * 1_000,
      settle: (promise) => this.settle(promise),
    };
    if (options.mining !== "by_hand") {
      for (const { chain } of this.chains.values()) chain.autoMine(blockTimeMs);
      for (const chain of this.accountChains.values()) chain.autoMine(blockTimeMs);
    }
  }

  /** A world with its chains growing and a relay without coins running. */
  static async create(options: SimOptions): Promise<SimWorld> {
    const world = new SimWorld(options);
    for (const [i, name] of world.relays.entries()) {
      const seeds = world.relays.slice(0, i).map(relayAddress);
      await world.addNode(name, { isRelay: true, listen: relayAddress(name), seeds }).start();
    }
    return world;
  }

  node(name: string): SimNode {
    const node = this.nodes.get(name);
    if (!node) throw new Error(`no node ${name}`);
    return node;
  }

  chain(ticker: string): SimChain {
    const chain = this.chains.get(ticker);
    if (!chain) throw new Error(`no chain ${ticker}`);
    return chain;
  }

  accountChain(ticker: string): SimEvmChain {
    const chain = this.accountChains.get(ticker);
    if (!chain) throw new Error(`no account chain ${ticker}`);
    return chain;
  }

  get profile(): NetworkProfile {
    return this.#shared.profile;
  }

  /** A node that is not started yet. */
  addNode(name: string, options: SimNodeOptions = {}): SimNode {
    const electrum = SimWorld.isElectrum ? [...this.servers.keys()] : [];
    const node = new SimNode(name, this.#shared, { seeds: this.relays.map(relayAddress), electrum, ...options });
    this.nodes.set(name, node);
    return node;
  }

  /** Pays a node from the faucet, base units, and puts it into a block. */
  fund(node: SimNode, ticker: string, units: bigint): void {
    const { chain } = this.chain(ticker);
    const paid = chain.payFromFaucet(node.script, units);
    if (!paid.ok) throw new Error(`the faucet of ${ticker} failed`);
    const mined = chain.mine(1);
    if (!mined.ok) throw new Error(mined.error.reason);
  }

  /** A promise while virtual time passes. */
  async settle<T>(promise: Promise<T>, limitMs = CALL_LIMIT_MS): Promise<T> {
    let isDone = false;
    const mark = (): void => {
      isDone = true;
    };
    promise.then(mark, mark);
    await this.clock.run({ until: () => isDone, untilMs: this.clock.nowMs() + limitMs });
    if (!isDone) throw new Error(`not done within ${limitMs / 1_000} s of virtual time\n${this.report()}`);
    return promise;
  }

  /** Lets time pass until `condition` holds. Throws with what the nodes last said if it does not within `limitMs`. */
  async runUntil(what: string, condition: () => boolean, limitMs = HOUR_MS): Promise<void> {
    const end = await this.clock.run({ until: condition, untilMs: this.clock.nowMs() + limitMs });
    if (end !== "until") throw new Error(`not within ${limitMs / 60_000} min: ${what}\n${this.report()}`);
  }

  async advance(ms: number): Promise<void> {
    await this.clock.advance(ms);
  }

  /** One hash of everything that happened, the blocks of every chain included. */
  traceHash(): string {
    for (const chain of this.chains.values()) for (const hash of chain.hashes()) this.trace.note(chain.ticker, hash);
    for (const chain of this.accountChains.values()) for (const hash of chain.hashes()) this.trace.note(chain.ticker, hash);
    return this.trace.digest();
  }

  /** The last lines every node logged, for a failing test. */
  report(): string {
    return [...this.nodes.values()].flatMap((n) => [`--- ${n.name}${n.isRunning ? "" : " (down)"}`, ...n.log.lines.slice(-40)]).join("\n");
  }

  /** Ends the world. */
  async close(): Promise<void> {
    for (const node of this.nodes.values()) {
      node.crash();
      await node.close();
    }
    for (const servers of this.servers.values()) servers.close();
    for (const { chain } of this.chains.values()) chain.stop();
    for (const chain of this.accountChains.values()) chain.autoMine(null);
  }
}
