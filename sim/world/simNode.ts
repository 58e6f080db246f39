import { openElectrumChain } from "../../src/adapters/electrum/electrumChain.ts";
import type { MemoryNet } from "../../src/adapters/memoryNet/memoryNet.ts";
import { createAccountTxStore } from "../../src/adapters/sqlite/accountTxStore.ts";
import { openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { COPY_HEADER, CopyReader, eventLine } from "../../src/adapters/sqlite/copies/copyText.ts";
import { takeUpCopies } from "../../src/adapters/sqlite/copies/takeUpCopies.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { createOrderStore } from "../../src/adapters/sqlite/orderStore.ts";
import { createPeerStore } from "../../src/adapters/sqlite/peerStore.ts";
import { SCHEMA } from "../../src/adapters/sqlite/schema.ts";
import { eventToText } from "../../src/adapters/sqlite/storedEvent.ts";
import { createSwapStore } from "../../src/adapters/sqlite/swapStore.ts";
import { openUtxoRpcChain } from "../../src/adapters/utxoRpc/utxoRpcChain.ts";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import type { VirtualClock } from "../../src/adapters/virtualClock/virtualClock.ts";
import { EvmCoins } from "../../src/app/coin/evm/evmCoins.ts";
import type { AccountNodes } from "../../src/app/coin/evmParts.ts";
import { Node } from "../../src/app/node.ts";
import type { ChainDaemon } from "../../src/chain/daemon.ts";
import type { CoinEntry } from "../../src/core/coin/coinEntry.ts";
import { isEvmProtocol } from "../../src/core/coin/evmProtocol.ts";
import { addressOfPubkey, checksumAddress, type EvmAddress } from "../../src/core/evm/address.ts";
import { evmKind } from "../../src/core/evm/evmKind.ts";
import { textToKeyPair } from "../../src/core/keys/iguana.ts";
import type { KeyPair } from "../../src/core/keys/keyPair.ts";
import type { NetworkProfile } from "../../src/core/network/networkProfile.ts";
import type { StoredEvent, SwapEvent } from "../../src/core/swap/events.ts";
import { ok } from "../../src/core/util/result.ts";
import { Secret } from "../../src/core/util/secret.ts";
import { hash160 } from "../../src/core/utxo/hash.ts";
import { p2pkhScript } from "../../src/core/utxo/outputScript.ts";
import { createP2p, type P2pNode } from "../../src/net/p2pNode.ts";
import { type Rng, randomBelow } from "../../src/ports/rng.ts";
import type { SignatureVerifier } from "../../src/ports/signatures.ts";
import type { SqlStatement } from "../../src/ports/sql.ts";
import { EvmLink } from "./evm/evmLink.ts";
import type { SimEvmChain } from "./evm/simEvmChain.ts";
import { SimEvmView } from "./evm/simEvmView.ts";
import { Life } from "./life.ts";
import { ServerLine } from "./serverLine.ts";
import { type Backup, makeBackup, restoreBackup } from "./simBackup.ts";
import { type BroadcastHook, daemonRpc, type SimChain } from "./simChain.ts";
import { SimDisk, type WriteFault } from "./simDisk.ts";
import { SimLog } from "./simLog.ts";
import { SIM_HEADERS, type SimServers } from "./simServers.ts";
import { faultySwapStore, type StoreFault } from "./simStore.ts";
import type { SimTrace } from "./simTrace.ts";

/** Gossip port of the simulated network; only compared, never bound. */
const TCP_PORT = 47_771;
const MAKER_ORDER_TIMEOUT_MS = 90_000;

/** What all nodes of a world share. */
export type SimShared = {
  readonly clock: VirtualClock;
  readonly rng: Rng;
  readonly net: MemoryNet;
  readonly trace: SimTrace;
  readonly verifier: SignatureVerifier;
  readonly entries: ReadonlyMap<string, CoinEntry>;
  readonly chains: ReadonlyMap<string, SimChain>;
  /** By platform coin. */
  readonly accountChains: ReadonlyMap<string, SimEvmChain>;
  /** Electrum servers by coin. */
  readonly servers: ReadonlyMap<string, SimServers>;
  readonly profile: NetworkProfile;
  readonly pollMs: number;
  /** Longest virtual time of an fsync; 0: none. */
  readonly fsyncMs: number;
  /** Drawn for each gossip message that is sent. */
  readonly isMessageLost: () => boolean;
  /** Waits for a promise while virtual time passes. */
  readonly settle: <T>(promise: Promise<T>) => Promise<T>;
};

export type SimNodeOptions = {
  readonly isRelay?: boolean;
  readonly listen?: string;
  readonly seeds?: readonly string[];
  readonly skewMs?: number;
  /** See the configuration's `unlimited_allowances`; default: no. */
  readonly unlimitedAllowances?: boolean;
  /** Height from which on its addresses may have coins; default: unknown. */
  readonly birthdayHeight?: number;
  /** Coins it has on Electrum instead of a daemon of its own; default: none. */
  readonly electrum?: readonly string[];
};

type Running = { readonly life: Life; readonly node: Node; readonly p2p: P2pNode };

/** One node of the world: whole, with the product's own parts from gossip to the chain index. Its store outlives its crashes. */
export class SimNode {
  readonly name: string;
  readonly key: KeyPair;
  readonly log: SimLog;
  /** Logs of its swaps as last stored. */
  readonly swaps = new Map<string, readonly StoredEvent[]>();
  storeFault: StoreFault = () => undefined;
  /** The same for every write, of orders and of the chain index too. */
  writeFault: (batch: readonly SqlStatement[]) => WriteFault = () => undefined;
  /** Called when a batch is on the disk, before its acknowledgement. */
  onStored: (batch: readonly SqlStatement[]) => void = () => undefined;
  onBroadcast: BroadcastHook = () => undefined;
  /** A fault's own: called around each broadcast, before the first and after the last call of `onBroadcast`. */
  crashAtBroadcast: (when: "before" | "after") => void = () => undefined;
  /** Called after each stored and acknowledged swap event. */
  onEvent: (event: SwapEvent, uuid: string) => void = () => undefined;
  /** Called when the process is gone, by whatever. */
  onCrash: () => void = () => undefined;
  /** While true its disk takes no more data. */
  diskFull = false;
  /** How much its wall clock is ahead. */
  skewMs: number;
  readonly #shared: SimShared;
  readonly #options: SimNodeOptions;
  readonly #rng: Rng;
  readonly #db = openInlineDatabase(":memory:", SCHEMA);
  readonly disk: SimDisk;
  /** The swap log, whoever is alive. */
  readonly #log = createSwapStore(this.#db);
  readonly #daemons = new Map<string, ChainDaemon>();
  readonly #links = new Map<string, EvmLink>();
  readonly #lines = new Map<string, ServerLine>();
  #running: Running | null = null;

  constructor(name: string, shared: SimShared, options: SimNodeOptions) {
    const key = textToKeyPair(`simulated node ${name}`);
    if (!key) throw new Error("no key");
    this.name = name;
    this.key = key;
    this.#shared = shared;
    this.#options = options;
    this.skewMs = options.skewMs ?? 0;
    this.#rng = seededRng(randomBelow(shared.rng, 2 ** 32));
    this.disk = new SimDisk({
      clock: shared.clock,
      rng: this.#rng,
      db: this.#db,
      fault: (batch) => this.writeFault(batch),
      isFull: () => this.diskFull,
      fsyncMs: () => (shared.fsyncMs === 0 ? 0 : randomBelow(this.#rng, shared.fsyncMs + 1)),
      crash: () => this.crash(),
      onStored: (batch) => this.onStored(batch),
    });
    this.log = new SimLog(() => `${shared.clock.nowMs()} ${name}`);
    for (const [ticker, chain] of shared.chains) this.#daemons.set(ticker, chain.daemon());
    for (const ticker of options.electrum ?? []) {
      const servers = shared.servers.get(ticker);
      if (!servers) throw new Error(`no servers of ${ticker}`);
      this.#lines.set(ticker, new ServerLine(servers, shared.clock));
    }
    for (const ticker of shared.accountChains.keys()) this.#links.set(ticker, new EvmLink(shared.clock));
  }

  get isRunning(): boolean {
    return this.#running !== null;
  }
  get node(): Node {
    if (!this.#running) throw new Error(`${this.name} is down`);
    return this.#running.node;
  }
  get p2p(): P2pNode {
    if (!this.#running) throw new Error(`${this.name} is down`);
    return this.#running.p2p;
  }
  /** Its swap logs, as on its disk. */
  get swapStore(): ReturnType<typeof createSwapStore> {
    return createSwapStore(this.#db);
  }
  /** Where its coins are, on every chain. */
  get script(): Uint8Array {
    return p2pkhScript(hash160(this.key.publicKey));
  }

  daemon(ticker: string): ChainDaemon {
    const daemon = this.#daemons.get(ticker);
    if (!daemon) throw new Error(`no chain ${ticker}`);
    return daemon;
  }

  /** Its way to the Electrum servers of a coin; undefined: it has a daemon. */
  serverLine(ticker: string): ServerLine | undefined {
    return this.#lines.get(ticker);
  }

  /** The nodes of an account chain it asks. */
  link(ticker: string): EvmLink {
    const link = this.#links.get(ticker);
    if (!link) throw new Error(`no account chain ${ticker}`);
    return link;
  }
  /** Where its coins are, on every account chain. */
  get account(): EvmAddress {
    return addressOfPubkey(this.key.publicKey);
  }

  /** Has its daemon of a coin misbehave; see `chain_fault`. */
  async daemonFault(ticker: string, fault: object): Promise<void> {
    await this.daemon(ticker).call("chain_fault", [fault]);
  }

  /** Starts the process and enables coins, as a client does after a start. */
  start(coins: readonly string[] = []): Promise<void> {
    return this.#begin(coins, this.#shared.settle);
  }

  /** The same where somebody else lets the time pass. Rejects when a coin cannot be enabled now; the process runs on. */
  boot(coins: readonly string[]): Promise<void> {
    return this.#begin(coins, (promise) => promise);
  }

  /** Enables coins of a process that runs. */
  enable(coins: readonly string[]): Promise<void> {
    if (!this.#running) throw new Error(`${this.name} is down`);
    return this.#enable(this.#running, coins, (promise) => promise);
  }

  async #begin(coins: readonly string[], settle: SimShared["settle"]): Promise<void> {
    if (this.#running) throw new Error(`${this.name} runs already`);
    const life = new Life();
    const running = this.#build(life);
    this.#running = running;
    for (const uuid of await this.#log.allUuids()) this.swaps.set(uuid, await this.#log.log(uuid).catch(() => []));
    await settle(running.node.open());
    await settle(running.p2p.start());
    await this.#enable(running, coins, settle);
  }

  async #enable(running: Running, coins: readonly string[], settle: SimShared["settle"]): Promise<void> {
    for (const coin of coins) {
      const request = {
        coin,
        mm2: true,
        requiredConfirmations: undefined,
        requiresNotarization: undefined,
        daemon: undefined,
        birthdayHeight: this.#options.birthdayHeight,
        nodes: this.#nodesOf(coin),
      };
      const enabled = await settle(running.node.coins.enable(request, new AbortController().signal));
      if (!enabled.ok) throw new Error(`${this.name}: ${coin} was not enabled: ${JSON.stringify(enabled.error)}`);
      // It may have died of a fault meanwhile.
      if (!running.life.isAlive) return;
    }
  }

  /** Where the chain of an account coin is, as a client's request says. */
  #nodesOf(coin: string): AccountNodes {
    const entry = this.#shared.entries.get(coin);
    const kind = entry && isEvmProtocol(entry.protocol.type) ? evmKind(entry) : null;
    const platform = kind?.ok && (kind.value.asset.kind === "token" ? kind.value.asset.platform : coin);
    const [contract, other] = (platform && this.#shared.accountChains.get(platform)?.swapContracts) || [];
    return {
      urls: platform ? ["http://simulated"] : undefined,
      swapContract: contract && checksumAddress(contract),
      fallbackSwapContract: other && checksumAddress(other),
    };
  }

  /** What a process hands on before it dies of a fault is told of, and nothing else. */
  #hookOf(life: Life): BroadcastHook {
    return (ticker, when, raw, outcome) => {
      if (when === "before") this.crashAtBroadcast(when);
      if (life.isAlive) this.onBroadcast(ticker, when, raw, outcome);
      if (when === "after") this.crashAtBroadcast(when);
    };
  }

  #build(life: Life): Running {
    const { clock: worldClock, trace, net, verifier, entries, profile } = this.#shared;
    const { isRelay = false, listen, seeds = [] } = this.#options;
    const rng = this.#rng;
    const clock = life.clock(worldClock, () => this.skewMs);
    const seedBytes = rng.bytes(32);
    const identitySeed = new Secret(seedBytes);
    const listening = net.transport({ identitySeed: seedBytes, listen: listen === undefined ? [] : [listen] });
    const transport = trace.transport(this.name, listening, this.#shared.isMessageLost);
    const p2p = createP2p({
      transport,
      clock,
      rng,
      log: this.log,
      config: { isRelay, seedNodes: seeds.map((address) => ({ address })), tcpPort: TCP_PORT, identitySeed, version: "simulated" },
    });
    const db = this.disk.view(life);
    const node = new Node({
      clock,
      rng,
      log: this.log,
      p2p,
      verifier,
      orderStore: createOrderStore(db),
      peerStore: createPeerStore(db),
      swapStore: faultySwapStore(
        createSwapStore(db),
        (uuid, event) => this.storeFault(uuid, event),
        () => this.crash(),
      ),
      onSwapEvent: (uuid, log) => this.#noteEvent(uuid, log),
      key: this.key,
      entries,
      openChain: async ({ ticker }, kind) => {
        const hook = this.#hookOf(life);
        const common = {
          ticker,
          format: kind.template.format,
          store: openChainStore(db, ticker),
          clock,
          log: this.log,
          options: { pollMs: this.#shared.pollMs, decimals: kind.decimals },
        };
        const line = this.#lines.get(ticker);
        return ok(
          line
            ? await openElectrumChain({ ...common, headerRules: SIM_HEADERS, servers: line.endpoints(ticker, life, hook) })
            : await openUtxoRpcChain({ ...common, rpc: daemonRpc(this.daemon(ticker), ticker, life, hook) }),
        );
      },
      evm: {
        store: createAccountTxStore(db),
        unlimitedAllowances: this.#options.unlimitedAllowances ?? false,
        // Files are read in real time, which the virtual clock does not wait for.
        load: async () => ({ EvmCoins }),
        openChain: async ({ ticker }) => {
          const chain = this.#shared.accountChains.get(ticker);
          if (!chain) throw new Error(`no account chain ${ticker}`);
          const onBroadcast = this.#hookOf(life);
          return ok(
            new SimEvmView({ chain, link: this.link(ticker), life, clock, log: this.log, pollMs: this.#shared.pollMs, onBroadcast }),
          );
        },
      },
      profile,
      makerOrderTimeoutMs: MAKER_ORDER_TIMEOUT_MS,
      gui: null,
      version: "simulated",
    });
    return { life, node, p2p };
  }

  #noteEvent(uuid: string, log: readonly StoredEvent[]): void {
    this.swaps.set(uuid, [...log]);
    const last = log.at(-1);
    if (!last) return;
    this.#shared.trace.note(this.name, `event ${uuid} ${JSON.stringify(last)}`);
    this.onEvent(last.event, uuid);
  }

  /** The process is gone from one moment to the next. Nothing it was doing goes on; its store stays. */
  crash(): void {
    const running = this.#running;
    if (!running) return;
    this.#running = null;
    running.life.end();
    for (const line of this.#lines.values()) line.hangUp();
    this.#shared.trace.note(this.name, "crash");
    this.disk.powerCut();
    void running.p2p.stop();
    this.onCrash();
  }

  /** An orderly stop. */
  async stop(): Promise<void> {
    const running = this.#running;
    if (!running) return;
    this.#running = null;
    await this.#shared.settle(running.node.close());
    await this.#shared.settle(running.p2p.stop());
    running.life.end();
  }

  /** Events of a swap, oldest first; empty when this node does not have it. */
  events(uuid: string): readonly SwapEvent[] {
    return (this.swaps.get(uuid) ?? []).map((e) => e.event);
  }

  has(uuid: string, match: (event: SwapEvent) => boolean): boolean {
    return this.swaps.get(uuid)?.some((e) => match(e.event)) ?? false;
  }

  /** How a swap ended for this node; null while it runs. */
  outcome(uuid: string): string | null {
    for (const e of this.events(uuid)) if (e.type === "finished") return e.outcome;
    return null;
  }

  /** A copy of its database as it is on the disk now. */
  backup(): Promise<Backup> {
    return makeBackup(this.#db);
  }

  /** Puts a copy back; the process must be down. @returns the swap logs it has then */
  async restore(backup: Backup): Promise<ReadonlyMap<string, readonly StoredEvent[]>> {
    if (this.#running) throw new Error(`${this.name} runs`);
    await restoreBackup(this.#db, backup);
    this.swaps.clear();
    for (const uuid of await this.#log.allUuids()) this.swaps.set(uuid, await this.#log.log(uuid));
    return this.swaps;
  }

  /** Leaves of its database what the copies of open swaps have, as after a start with a new one; the process must be down. */
  async loseData(): Promise<void> {
    if (this.#running) throw new Error(`${this.name} runs`);
    const reader = new CopyReader();
    reader.take(COPY_HEADER);
    for (const { uuid } of await this.#log.unsettled())
      for (const [seq, event] of (await this.#log.log(uuid)).entries()) reader.take(eventLine(uuid, seq, eventToText(event)).trimEnd());
    const emptied = (await makeBackup(this.#db)).map((t) => (t.table === "schema_migrations" ? t : { ...t, rows: [] }));
    await restoreBackup(this.#db, emptied);
    await takeUpCopies(this.#db, reader);
    const left = await this.#log.allUuids();
    for (const uuid of this.swaps.keys()) if (!this.outcome(uuid) && !left.includes(uuid)) this.swaps.delete(uuid);
  }

  /** Units on a chain at its own address, mempool included. */
  balance(ticker: string): bigint {
    return this.#shared.chains.get(ticker)?.balance(this.script) ?? 0n;
  }

  close(): Promise<void> {
    for (const daemon of this.#daemons.values()) daemon.close();
    return this.#db.close();
  }
}
