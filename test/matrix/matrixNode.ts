import { EvmLink } from "../../sim/world/evm/evmLink.ts";
import { SimEvmView } from "../../sim/world/evm/simEvmView.ts";
import { Life } from "../../sim/world/life.ts";
import { ServerLine } from "../../sim/world/serverLine.ts";
import { type BroadcastHook, daemonRpc } from "../../sim/world/simChain.ts";
import { SIM_HEADERS } from "../../sim/world/simServers.ts";
import { openElectrumChain } from "../../src/adapters/electrum/electrumChain.ts";
import { createAccountTxStore } from "../../src/adapters/sqlite/accountTxStore.ts";
import { openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { SCHEMA } from "../../src/adapters/sqlite/schema.ts";
import { createSwapStore } from "../../src/adapters/sqlite/swapStore.ts";
import { openUtxoRpcChain } from "../../src/adapters/utxoRpc/utxoRpcChain.ts";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { CoinRegistry } from "../../src/app/coin/coinRegistry.ts";
import { EvmCoins } from "../../src/app/coin/evm/evmCoins.ts";
import type { AccountNodes, EvmParts } from "../../src/app/coin/evmParts.ts";
import type { SwapCoin } from "../../src/app/swap/swapCoin.ts";
import { SwapRunner } from "../../src/app/swap/swapRunner.ts";
import { addressOfPubkey, checksumAddress } from "../../src/core/evm/address.ts";
import type { KeyPair } from "../../src/core/keys/keyPair.ts";
import { deriveSwapSecret } from "../../src/core/keys/swapSecret.ts";
import { profileOfNetid } from "../../src/core/network/networkProfile.ts";
import type { Role, StoredEvent, SwapEvent } from "../../src/core/swap/events.ts";
import { begin, type SwapState, step } from "../../src/core/swap/swapState.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import { ok } from "../../src/core/util/result.ts";
import { hash160 } from "../../src/core/utxo/hash.ts";
import type { Clock } from "../../src/ports/clock.ts";
import type { P2p } from "../../src/ports/network.ts";
import type { SqlDatabase } from "../../src/ports/sql.ts";
import type { SwapStore } from "../../src/ports/swapStore.ts";
import { payTo, testKey } from "../fakes/chainWorld.ts";
import type { HubNode } from "../fakes/p2pHub.ts";
import { SilentLog } from "../fakes/silentLog.ts";
import type { Purse } from "./chains/matrixChain.ts";
import { FEE_KEY, type MatrixWorld, NETID, POLL_MS, UUID } from "./matrixWorld.ts";
import { coinsOf, type Ticker } from "./pairs.ts";

/** Within which daemons and servers answer. */
const TIMEOUT_MS = 5_000;

/** `engine`: of the swap engine alone; `life`: of the process with its coins. */
type Running = {
  readonly life: Life;
  readonly engine: Life;
  readonly runner: SwapRunner;
  readonly coins: CoinRegistry;
  readonly lines: readonly ServerLine[];
};
/** What happens around the write of an event: the process dies before or after it. */
export type AtStore = "die_before" | "die_after" | "live";

/** One node's swap engine with its coins and its store; only the store outlives a crash. */
export class MatrixNode {
  readonly role: Role;
  readonly key: KeyPair;
  /** The swap's log as the disk has it, acknowledged or not. */
  readonly disk: StoredEvent[] = [];
  atStore: (event: SwapEvent) => AtStore = () => "live";
  /** An event is on the disk. */
  onStored: (event: SwapEvent) => void = () => undefined;
  onBroadcast: BroadcastHook = () => undefined;
  /** A transaction of its account that is none of a swap is on the disk. */
  onOwnTx: (raw: string) => void = () => undefined;
  onCrash: () => void = () => undefined;
  log = new SilentLog();
  /** Unix seconds at which the swap was last said to be finished. */
  finishedSec: number | null = null;
  readonly #world: MatrixWorld;
  readonly #hub: HubNode;
  readonly #db = openInlineDatabase(":memory:", SCHEMA);
  #running: Running | null = null;
  #state: SwapState | null = null;
  #lives = 0;

  constructor(world: MatrixWorld, role: Role) {
    this.role = role;
    this.#world = world;
    this.key = testKey(role);
    this.#hub = world.hub.node(role);
  }

  get isUp(): boolean {
    return this.#running !== null;
  }
  /** The swap engine runs. */
  get isTrading(): boolean {
    return this.#running?.engine.isAlive === true;
  }
  get purse(): Purse {
    return { script: payTo(this.key), account: addressOfPubkey(this.key.publicKey) };
  }
  get runner(): SwapRunner {
    if (!this.#running) throw new Error(`the ${this.role} is down`);
    return this.#running.runner;
  }
  coin(ticker: Ticker): SwapCoin {
    const coin = this.#running?.coins.running(ticker);
    if (!coin) throw new Error(`${ticker} is not active`);
    return coin;
  }
  /** State by the disk; null when it never had the swap. */
  get state(): SwapState | null {
    return this.#state;
  }
  get isFinished(): boolean {
    return this.#state !== null && this.#state.finished !== null;
  }

  deriveSecret(startedAt: number, salt: number): Uint8Array {
    return deriveSwapSecret(this.key.secret, startedAt, salt).reveal();
  }

  /** Says something on the swap's topic. */
  publish(data: Uint8Array): void {
    this.#hub.publish(`swap/${UUID}`, data);
  }

  /** The process is gone from one moment to the next; the store stays. */
  crash(): void {
    const running = this.#running;
    if (!running) return;
    this.#running = null;
    running.engine.end();
    running.life.end();
    for (const line of running.lines) line.hangUp();
    this.#world.hub.disconnect(this.role, "relay");
    this.#hub.setMessageHandler(() => "ignore");
    this.onCrash();
  }

  /** The swap engine stops for good, the coins go on: whoever has the key does as he likes. */
  goRogue(): void {
    this.#running?.engine.end();
    this.#hub.setMessageHandler(() => "ignore");
  }

  /** Starts from the store, as `start` and `enable` of a client do. @param trading false: without the swap engine */
  async start(trading = true): Promise<void> {
    if (this.#running) throw new Error(`the ${this.role} runs`);
    this.log = new SilentLog();
    const running = this.#build();
    const { life, engine, runner, coins } = running;
    this.#running = running;
    this.#world.hub.connect(this.role, "relay");
    if (!trading) engine.end();
    this.#hub.setMessageHandler((m) => (m.topic.startsWith("swap/") && engine.isAlive ? runner.onGossip(m) : "ignore"));
    if (trading) await runner.open();
    for (const ticker of coinsOf(this.#world.pair)) {
      if (!life.isAlive) return;
      const request = { coin: ticker, mm2: true, requiredConfirmations: 1, requiresNotarization: false, daemon: undefined };
      // Nothing of this world is older.
      const enabled = await coins.enable({ ...request, birthdayHeight: 100, nodes: this.#nodes() }, new AbortController().signal);
      if (!enabled.ok) throw new Error(`${ticker}: ${JSON.stringify(enabled.error)}`);
    }
  }

  /** Where the account chain is, as a client's request says. */
  #nodes(): AccountNodes {
    const [contract] = this.#world.account?.sim.swapContracts ?? [];
    return { urls: ["http://simulated"], swapContract: contract && checksumAddress(contract), fallbackSwapContract: undefined };
  }

  /** Coins of the account chain; what the account itself sends is noted when it is on the disk. */
  #accounts(life: Life, clock: Clock, log: SilentLog): EvmParts {
    const store = createAccountTxStore(this.#view(life));
    return {
      store: {
        ...store,
        put: async (tx) => {
          await store.put(tx);
          this.onOwnTx(toHex(tx.raw));
        },
      },
      unlimitedAllowances: false,
      load: async () => ({ EvmCoins }),
      openChain: async ({ ticker }) => {
        const chain = this.#world.account?.sim;
        if (!chain) throw new Error(`no account chain ${ticker}`);
        const onBroadcast: BroadcastHook = (...args) => this.onBroadcast(...args);
        const link = new EvmLink(this.#world.clock);
        return ok(new SimEvmView({ chain, link, life, clock, log, pollMs: POLL_MS, onBroadcast }));
      },
    };
  }

  #view(life: Life): SqlDatabase {
    return {
      write: (batch) => life.guard(() => this.#db.write(batch)),
      read: (sql, params) => life.guard(() => this.#db.read(sql, params)),
      close: async () => undefined,
    };
  }

  /** The swap log of one life, dying around a write when told to. */
  #swapStore(engine: Life): SwapStore {
    const store = createSwapStore(this.#view(engine));
    const around = async (event: StoredEvent, work: () => Promise<void>): Promise<void> => {
      const fate = engine.isAlive ? this.atStore(event.event) : "live";
      if (fate === "die_before") this.crash();
      const isKept = engine.isAlive;
      const done = work();
      if (isKept) {
        this.disk.push(event);
        this.#state = this.#state ? step(this.#state, event.event) : begin(event.event);
        if (event.event.type === "finished") this.finishedSec = Math.floor(this.#world.clock.nowMs() / 1_000);
        this.onStored(event.event);
      }
      if (fate === "die_after") this.crash();
      await done;
    };
    return {
      ...store,
      create: (summary, first, marks) => around(first, () => store.create(summary, first, marks)),
      append: (uuid, seq, event, marks) => around(event, () => store.append(uuid, seq, event, marks)),
    };
  }

  #build(): Running {
    const world = this.#world;
    const [life, engine] = [new Life(), new Life()];
    const clock = life.clock(world.clock, () => 0);
    const profile = profileOfNetid(NETID);
    const { log } = this;
    const lines: ServerLine[] = [];
    const coins: CoinRegistry = new CoinRegistry({
      clock,
      log,
      entries: world.entries,
      feeCeilingFactor: profile.safety.feeCeilingFactor,
      keyOf: () => ok(this.key),
      openChain: async ({ ticker }, kind) => {
        const common = {
          ticker,
          format: kind.template.format,
          store: openChainStore(this.#view(life), ticker),
          clock,
          log,
        };
        const hook: BroadcastHook = (...args) => this.onBroadcast(...args);
        const servers = world.servers.get(ticker);
        if (!servers) {
          const rpc = daemonRpc(world.utxo(ticker).daemon(), ticker, life, hook);
          return ok(await openUtxoRpcChain({ ...common, rpc, options: { pollMs: POLL_MS, timeoutMs: TIMEOUT_MS } }));
        }
        const line = new ServerLine(servers, world.clock);
        lines.push(line);
        const endpoints = line.endpoints(ticker, life, hook);
        // Servers tell of news: how often they are looked at beside that is the product's own choice.
        const options = { timeoutMs: TIMEOUT_MS };
        return ok(await openElectrumChain({ ...common, headerRules: SIM_HEADERS, servers: endpoints, options }));
      },
      ...(world.account ? { evm: this.#accounts(life, clock, log) } : {}),
      prepare: (coin) => runner.prepare(coin),
      beforeClose: (ticker) => runner.park(ticker),
      usersOf: (ticker) => ({ matchingOrders: [], activeSwaps: runner.activeWith(ticker) }),
      isWatched: (ticker) => runner.isWatching(ticker),
      cancelOrdersOf: async () => [],
    });
    const runner = new SwapRunner({
      clock: engine.clock(world.clock, () => 0),
      rng: seededRng((this.role === "maker" ? 1_000 : 2_000) + this.#lives++),
      log,
      p2p: this.#p2p(engine),
      verifier: world.verifier,
      store: this.#swapStore(engine),
      coin: (ticker) => coins.running(ticker),
      onCoinActivated: (listener) => coins.onActivated(() => engine.isAlive && listener()),
      keys: {
        publicKey: this.key.publicKey,
        secretKey: this.key.secret,
        deriveSecret: (startedAt, salt) => {
          const secret = this.deriveSecret(startedAt, salt);
          return { secret, hash: hash160(secret) };
        },
      },
      dexFee: () => ({ feeUnits: world.dexFeeUnits, burnUnits: 0n, feePubkey: FEE_KEY.publicKey }),
      profileOfFee: () => null,
      gui: null,
      version: "matrix",
      timing: profile,
      onEvent: () => undefined,
    });
    return { life, engine, runner, coins, lines };
  }

  #p2p(engine: Life): P2p {
    const hub = this.#hub;
    return {
      peerId: hub.peerId,
      isRelay: false,
      publish: (topic, data) => void (engine.isAlive && hub.publish(topic, data)),
      subscribe: (topic) => hub.subscribe(topic),
      unsubscribe: (topic) => void (engine.isAlive && hub.unsubscribe(topic)),
      setMessageHandler: () => undefined,
      setRequestHandler: () => undefined,
      request: (peer, request, signal) => hub.request(peer, request, signal),
      requestAnyRelay: (request, options) => hub.requestAnyRelay(request, options),
      relays: () => hub.relays(),
      peers: () => hub.peers(),
      mesh: () => hub.mesh(),
      onRelaysChanged: (listener) => hub.onRelaysChanged(listener),
      relayReady: (signal) => hub.relayReady(signal),
    };
  }

  async close(): Promise<void> {
    this.onCrash = () => undefined;
    this.crash();
    await this.#db.close();
  }
}
