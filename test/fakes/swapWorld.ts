import { openElectrumChain } from "../../src/adapters/electrum/electrumChain.ts";
import type { ElectrumOptions } from "../../src/adapters/electrum/electrumDeps.ts";
import { openChainStore } from "../../src/adapters/sqlite/chainStore.ts";
import { openInlineDatabase } from "../../src/adapters/sqlite/inlineDatabase.ts";
import { SCHEMA } from "../../src/adapters/sqlite/schema.ts";
import { createSwapStore } from "../../src/adapters/sqlite/swapStore.ts";
import { openUtxoRpcChain } from "../../src/adapters/utxoRpc/utxoRpcChain.ts";
import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { VirtualClock } from "../../src/adapters/virtualClock/virtualClock.ts";
import { CoinRegistry } from "../../src/app/coin/coinRegistry.ts";
import type { UtxoCoin } from "../../src/app/coin/utxoCoin.ts";
import { chainOf } from "../../src/app/swap/contracts.ts";
import type { DexFeeUnits } from "../../src/app/swap/startTerms.ts";
import { SwapRunner } from "../../src/app/swap/swapRunner.ts";
import type { Reservation, SwapMatch } from "../../src/app/tradingCoin.ts";
import { coinEntryToChainParams } from "../../src/chain/chainParams.ts";
import { ChainDaemon } from "../../src/chain/daemon.ts";
import { EmbeddedChain } from "../../src/chain/embeddedChain.ts";
import { type CoinEntry, parseCoinEntry } from "../../src/core/coin/coinEntry.ts";
import type { UtxoKind } from "../../src/core/coin/utxoKind.ts";
import { nobleVerify } from "../../src/core/crypto/nobleVerifier.ts";
import type { KeyPair } from "../../src/core/keys/keyPair.ts";
import { deriveSwapSecret } from "../../src/core/keys/swapSecret.ts";
import { parseEnvelope, signEnvelope } from "../../src/core/message/envelope.ts";
import { encodeSwapMessage, parseSwapMessage } from "../../src/core/message/swapMessage.ts";
import type { SwapMessage } from "../../src/core/message/types.ts";
import { decimal } from "../../src/core/money/rational.ts";
import { profileOfNetid } from "../../src/core/network/networkProfile.ts";
import { conductOf } from "../../src/core/peers/swapConduct.ts";
import type { Role, Slot, StoredEvent, SwapEvent } from "../../src/core/swap/events.ts";
import type { SwapSafety } from "../../src/core/swap/safety.ts";
import { fold, type SwapState } from "../../src/core/swap/swapState.ts";
import { swapStatus } from "../../src/core/swap/swapStatus.ts";
import { ok } from "../../src/core/util/result.ts";
import { hash160 } from "../../src/core/utxo/hash.ts";
import type { UtxoChainWithHistory } from "../../src/ports/chain.ts";
import { type Clock, sleep } from "../../src/ports/clock.ts";
import type { ElectrumEndpoint } from "../../src/ports/electrum.ts";
import type { SignatureVerifier } from "../../src/ports/signatures.ts";
import { type SqlDatabase, StorageError } from "../../src/ports/sql.ts";
import type { SwapStore } from "../../src/ports/swapStore.ts";
import { functionCallRpc } from "../contract/embeddedChain.ts";
import { payTo, testKey } from "./chainWorld.ts";
import { ElectrumBackend } from "./electrumBackend.ts";
import { FaultyRpc } from "./faultyRpc.ts";
import { EASY_RULES } from "./mineHeaders.ts";
import { type HubNode, P2pHub } from "./p2pHub.ts";
import { SilentLog } from "./silentLog.ts";

export type Ticker = "AAA" | "BBB" | "CCC";
export const TICKERS: readonly Ticker[] = ["AAA", "BBB"];
export type Purse = Readonly<Record<Ticker, bigint>>;
/** The maker gives AAA for the taker's BBB. */
const MAKER_COIN = "AAA";
const TAKER_COIN = "BBB";
/** Within which daemons and servers answer. */
const TIMEOUT_MS = 2_000;
/** The last of four questions comes 75 minutes after the first, and its answer within a minute. */
const LAST_QUESTION_SEC = 76 * 60;
export const FEE_KEY = testKey("dex fee");
export const FEE_UNITS = 25_000n;

export type WorldOptions = {
  /** Seconds between blocks; the miner rests when null. */
  readonly blockSec?: number | null;
  readonly funds?: bigint;
  /** The maker has CCC, too. */
  readonly third?: boolean;
  readonly coin?: object;
  /** Daemons give any transaction by its id. */
  readonly txIndex?: boolean;
};
export type SwapOptions = {
  readonly lockDurationSec?: number;
  readonly makerCoin?: Ticker;
  readonly confs?: number;
  readonly makerAmount?: string;
  readonly takerAmount?: string;
  /** What a side wants proven beyond the agreed settings. */
  readonly safety?: { readonly [R in Role]?: SwapSafety };
  /** Starts only this side; the test plays the other. */
  readonly only?: Role;
};

export type OwnServers = { readonly servers: readonly ElectrumEndpoint[]; readonly options: ElectrumOptions };

/** One node's half of the world: its coins, its store and its runner, of which the store outlives a restart. */
export class SwapSide {
  readonly role: Role;
  readonly key: KeyPair;
  readonly p2p: HubNode;
  readonly log = new SilentLog();
  readonly rpc = new Map<Ticker, FaultyRpc>();
  /** Coins this side sees through servers of the test's own, whatever the world's backend; to be set before it opens. */
  readonly electrum = new Map<Ticker, OwnServers>();
  /** Coins with a key of their own, as those of an HD wallet have, from the next `open` or `restart` on. */
  readonly coinKeys = new Map<string, KeyPair>();
  /** Whom this side bans for its conduct: event and key. */
  readonly blamed: string[] = [];
  /** Salts drawn before the seeded ones. */
  readonly salts: number[] = [];
  /** Hears of each stored event of a swap, with its whole log. */
  onEvent: (uuid: string, log: readonly StoredEvent[]) => void = () => undefined;
  /** Hears of each swap about which nothing can change any more, with its whole log. */
  onSettled: (uuid: string, log: readonly StoredEvent[]) => void = () => undefined;
  /** What this side takes for the dex fee of swaps that start. */
  dexFee: DexFeeUnits = { feeUnits: FEE_UNITS, burnUnits: 0n, feePubkey: FEE_KEY.publicKey };
  /** The network profile under which a refused fee would be right. */
  profileOfFee: string | null = null;
  /** Adds to the true time on this side's clock. */
  skewMs = 0;
  /** An append for which this gives an error is not stored; "lost" stores it and fails all the same. */
  refuse: (event: SwapEvent) => "full" | "lost" | null = () => null;
  /** How long an append takes, ms. */
  storeMs: (event: SwapEvent) => number = () => 0;
  /** While set, no log of a swap can be read. */
  unreadable = false;
  /** Signatures this side has checked in place. */
  verified = 0;
  /** Set: signatures that can wait are checked elsewhere; null: no more are taken. */
  later: ((check: () => boolean) => Promise<boolean> | null) | null = null;
  readonly #world: SwapWorld;
  readonly #db = openInlineDatabase(":memory:", SCHEMA);
  #runner: SwapRunner;
  #coins: CoinRegistry;

  constructor(world: SwapWorld, role: Role, name: string) {
    this.role = role;
    this.#world = world;
    this.key = testKey(name);
    this.p2p = world.hub.node(name);
    world.hub.connect(name, "relay");
    for (const ticker of world.tickers) this.rpc.set(ticker, new FaultyRpc(functionCallRpc(world.daemon(ticker))));
    this.#coins = this.#newCoins();
    this.#runner = this.#newRunner();
  }

  get runner(): SwapRunner {
    return this.#runner;
  }
  get coins(): CoinRegistry {
    return this.#coins;
  }
  get script(): Uint8Array {
    return payTo(this.key);
  }
  /** Its disk, for a test that damages it. */
  get db(): SqlDatabase {
    return this.#db;
  }
  get store(): SwapStore {
    return createSwapStore(this.#db);
  }
  rpcOf(ticker: Ticker): FaultyRpc {
    const rpc = this.rpc.get(ticker);
    if (!rpc) throw new Error("no rpc");
    return rpc;
  }
  coin(ticker: Ticker): UtxoCoin {
    const coin = this.#coins.utxo(ticker);
    if (!coin) throw new Error(`${ticker} is not active`);
    return coin;
  }
  get #clock(): Clock {
    const { clock } = this.#world;
    return { nowMs: () => clock.nowMs() + this.skewMs, after: (ms, task) => clock.after(ms, task) };
  }

  #newCoins(): CoinRegistry {
    const world = this.#world;
    return new CoinRegistry({
      clock: this.#clock,
      log: this.log,
      entries: world.entries,
      feeCeilingFactor: profileOfNetid(9_998).safety.feeCeilingFactor,
      keyOf: ({ ticker }) => ok(this.coinKeys.get(ticker) ?? this.key),
      openChain: async (entry, kind) => ok(await this.#openChain(entry.ticker as Ticker, kind)),
      prepare: (coin) => this.#runner.prepare(coin),
      beforeClose: (ticker) => this.#runner.park(ticker),
      usersOf: (ticker) => ({ matchingOrders: [], activeSwaps: this.#runner.activeWith(ticker) }),
      isWatched: (ticker) => this.#runner.isWatching(ticker),
      cancelOrdersOf: async () => [],
    });
  }

  #openChain(ticker: Ticker, { template }: UtxoKind): Promise<UtxoChainWithHistory> {
    const rpc = this.rpcOf(ticker);
    const common = {
      ticker,
      format: template.format,
      store: openChainStore(this.#db, ticker),
      clock: this.#clock,
      log: this.log,
    };
    const own = this.electrum.get(ticker);
    if (own) return openElectrumChain({ ...common, headerRules: EASY_RULES, ...own, options: { timeoutMs: TIMEOUT_MS, ...own.options } });
    const electrum = this.#world.electrumOf(ticker);
    // Servers tell of news: how often they are looked at beside that is the product's own choice.
    return electrum === null
      ? openUtxoRpcChain({ ...common, rpc, options: { pollMs: this.#world.pollMs, timeoutMs: TIMEOUT_MS } })
      : openElectrumChain({ ...common, headerRules: EASY_RULES, servers: electrum.endpoints(rpc), options: { timeoutMs: TIMEOUT_MS } });
  }

  #verifier(): SignatureVerifier {
    const verify: SignatureVerifier["verify"] = (...asked) => {
      this.verified++;
      return nobleVerify(...asked);
    };
    return { verify, verifyLater: (...asked) => (this.later ? this.later(() => nobleVerify(...asked)) : verify(...asked)) };
  }

  #newRunner(): SwapRunner {
    const seeded = seededRng(this.role === "maker" ? 11 : 12);
    return new SwapRunner({
      clock: this.#clock,
      rng: { bytes: (n) => (this.salts.length > 0 && n === 1 ? Uint8Array.of(this.salts.shift() ?? 0) : seeded.bytes(n)) },
      log: this.log,
      p2p: this.p2p,
      verifier: this.#verifier(),
      store: this.#faulty(createSwapStore(this.#db)),
      coin: (ticker) => this.#coins.running(ticker),
      onCoinActivated: (listener) => this.#coins.onActivated(listener),
      keys: {
        publicKey: this.key.publicKey,
        secretKey: this.key.secret,
        deriveSecret: (startedAt, salt) => {
          const secret = deriveSwapSecret(this.key.secret, startedAt, salt).reveal();
          return { secret, hash: hash160(secret) };
        },
      },
      dexFee: () => this.dexFee,
      profileOfFee: () => this.profileOfFee,
      gui: null,
      version: "test",
      timing: profileOfNetid(9_998),
      onEvent: (uuid, log) => {
        this.#judge(log);
        this.onEvent(uuid, log);
      },
      onSettled: (uuid, log) => this.onSettled(uuid, log),
    });
  }

  #judge(log: readonly StoredEvent[]): void {
    const conduct = conductOf(log);
    const first = log[0]?.event;
    if (conduct?.kind === "proof" && first?.type === "started") this.blamed.push(`${conduct.reason.event} ${first.terms.counterparty}`);
  }

  #faulty(store: SwapStore): SwapStore {
    const around = async (event: StoredEvent, work: () => Promise<void>): Promise<void> => {
      const fault = this.refuse(event.event);
      if (fault === "full") throw new StorageError("DiskFull", "refused on request");
      const slowMs = this.storeMs(event.event);
      if (slowMs > 0) await sleep(this.#clock, slowMs);
      await work();
      if (fault === "lost") throw new StorageError("Io", "stored, but the answer was lost");
    };
    return {
      ...store,
      create: (summary, first, marks) => around(first, () => store.create(summary, first, marks)),
      append: (uuid, seq, event, marks) => around(event, () => store.append(uuid, seq, event, marks)),
      log: async (uuid) => {
        if (this.unreadable) throw new StorageError("Io", "not read on request");
        return store.log(uuid);
      },
    };
  }

  async open(tickers: readonly Ticker[] = this.#world.tickers): Promise<void> {
    this.p2p.setMessageHandler((m) => (m.topic.startsWith("swap/") ? this.#runner.onGossip(m) : "accept"));
    await this.#world.drive(this.#runner.open());
    for (const ticker of tickers) await this.enable(ticker);
  }

  async enable(ticker: Ticker, requiredConfirmations = 1): Promise<void> {
    const request = {
      coin: ticker,
      mm2: true,
      requiredConfirmations,
      requiresNotarization: false,
      daemon: undefined,
      birthdayHeight: undefined,
    };
    const enabled = await this.#world.drive(this.#coins.enable(request, new AbortController().signal));
    if (!enabled.ok) throw new Error(`${ticker}: ${JSON.stringify(enabled.error)}`);
  }

  /** Stops runner and coins as a clean exit does; the store stays. */
  async stop(): Promise<void> {
    await this.#world.drive(this.#runner.close());
    await this.#world.drive(this.#coins.close());
  }

  /** Starts again from the store. */
  async restart(tickers: readonly Ticker[] = this.#world.tickers): Promise<void> {
    this.#coins = this.#newCoins();
    this.#runner = this.#newRunner();
    await this.open(tickers);
  }

  /** What the index of a coin follows, by the store. */
  async watches(ticker: Ticker): Promise<number> {
    return (await openChainStore(this.#db, ticker).load()).watches.length;
  }
  async events(uuid: string): Promise<readonly StoredEvent[]> {
    return createSwapStore(this.#db).log(uuid);
  }
  async state(uuid: string): Promise<SwapState> {
    return fold((await this.events(uuid)).map((e) => e.event));
  }
  async status(uuid: string): Promise<Record<string, unknown>> {
    return swapStatus(await this.events(uuid));
  }
  /** Own confirmed and unconfirmed units, as the chain itself has them. */
  /** What its own address has on each chain. */
  purse(): Purse {
    const has = (ticker: Ticker): bigint => (this.#world.tickers.includes(ticker) ? this.units(ticker) : 0n);
    return { AAA: has("AAA"), BBB: has("BBB"), CCC: has("CCC") };
  }
  units(ticker: Ticker): bigint {
    return this.#world.unitsOf(ticker, this.script);
  }
  async close(): Promise<void> {
    await this.stop();
    await this.#db.close();
  }
}

/** Two nodes' swap engines on two embedded chains, all by function call on one virtual clock, with a relay between them. */
export class SwapWorld {
  /** What both sides look at their chains through, in worlds that open from now on: a daemon each, or servers they share. */
  static backend: "daemon" | "electrum" = "daemon";
  /** For a test of what only a daemon of one's own tells, or tells in the very second. */
  static get isElectrum(): boolean {
    return SwapWorld.backend === "electrum";
  }
  readonly clock = new VirtualClock();
  readonly hub = new P2pHub(this.clock);
  readonly entries = new Map<string, CoinEntry>();
  readonly pollMs = 2_000;
  readonly tickers: readonly Ticker[];
  readonly #daemons = new Map<Ticker, ChainDaemon>();
  readonly #electrum = new Map<Ticker, ElectrumBackend>();
  readonly maker: SwapSide;
  readonly taker: SwapSide;
  #started = 0;

  constructor(options: WorldOptions = {}) {
    this.tickers = options.third ? [...TICKERS, "CCC"] : TICKERS;
    for (const [i, coin] of this.tickers.entries()) {
      const raw = {
        coin,
        pubtype: 30,
        p2shtype: 22,
        mm2: 1,
        is_testnet: true,
        required_confirmations: 1,
        avg_blocktime: 20,
        protocol: { type: "UTXO" },
        ...options.coin,
      };
      const entry = parseCoinEntry(raw);
      const params = coinEntryToChainParams(raw);
      if (!entry.ok || !params.ok) throw new Error("bad test coin");
      this.entries.set(coin, entry.value);
      const chain = new EmbeddedChain({ params: params.value, clock: this.clock, rng: seededRng(i + 1) });
      const daemon = new ChainDaemon(chain, this.clock, { txIndex: options.txIndex ?? false });
      this.#daemons.set(coin, daemon);
      if (SwapWorld.backend === "electrum") this.#electrum.set(coin, new ElectrumBackend(daemon, this.clock));
      const blockSec = options.blockSec === undefined ? 20 : options.blockSec;
      if (blockSec !== null) chain.autoMine(blockSec * 1_000);
    }
    this.hub.node("relay", { isRelay: true });
    this.maker = new SwapSide(this, "maker", "maker");
    this.taker = new SwapSide(this, "taker", "taker");
    const funds = options.funds ?? 1_000_000_000n;
    for (const ticker of this.tickers) if (ticker !== TAKER_COIN) this.fund(ticker, this.maker, funds);
    this.fund("BBB", this.taker, funds);
  }

  /** @param before prepares the sides before they open */
  static async open(options: WorldOptions = {}, before: (world: SwapWorld) => void = () => undefined): Promise<SwapWorld> {
    const world = new SwapWorld(options);
    before(world);
    await world.maker.open();
    await world.taker.open();
    return world;
  }

  /** Both coins of one relay policy, and daemons that go by it; segwit where replacements are relayed. */
  static async withPolicy(policy: "replace" | "child"): Promise<SwapWorld> {
    const segwit = policy === "replace" ? { segwit: true, bech32_hrp: "tst" } : {};
    const world = await SwapWorld.open({ coin: { ...segwit, relay_policy: policy } });
    for (const ticker of TICKERS) {
      world.chain(ticker).policy.replacement = policy === "replace";
      world.chain(ticker).policy.packages = true;
    }
    return world;
  }

  /** No block takes an own transaction of this side; resolves once it has left. */
  async withheld(side: SwapSide, uuid: string, slot: Slot): Promise<void> {
    const { held } = this.chain(chainOf(side.role, slot) === "maker" ? MAKER_COIN : TAKER_COIN);
    await this.until(`the ${slot} leaves`, async () => {
      const tx = (await side.state(uuid)).own[slot];
      if (tx) held.add(tx.txid);
      return tx?.attempted === true;
    });
  }

  side(role: Role): SwapSide {
    return role === "maker" ? this.maker : this.taker;
  }
  daemon(ticker: Ticker): ChainDaemon {
    const daemon = this.#daemons.get(ticker);
    if (!daemon) throw new Error("no daemon");
    return daemon;
  }
  chain(ticker: Ticker): EmbeddedChain {
    return this.daemon(ticker).chain;
  }
  electrumOf(ticker: Ticker): ElectrumBackend | null {
    return this.#electrum.get(ticker) ?? null;
  }

  /** Pays from the faucet and confirms it. */
  fund(ticker: Ticker, side: SwapSide, units: bigint): void {
    const paid = this.chain(ticker).payFromFaucet(side.script, units);
    if (!paid.ok) throw new Error("the faucet failed");
    this.mine(ticker);
  }
  mine(ticker: Ticker, count = 1): void {
    const mined = this.chain(ticker).mine(count);
    if (!mined.ok) throw new Error(mined.error.reason);
  }

  unitsOf(ticker: Ticker, script: Uint8Array): bigint {
    const { state, mempool } = this.chain(ticker);
    const hex = Buffer.from(script).toString("hex");
    let sum = 0n;
    for (const c of state.coins.ofScript(hex)) if (!mempool.graph.spender(`${c.txid}:${c.vout}`)) sum += c.value;
    for (const { chainTx } of mempool.graph.entries()) {
      chainTx.tx.outputs.forEach((o, vout) => {
        if (Buffer.from(o.script).toString("hex") === hex && !mempool.graph.spender(`${chainTx.txid}:${vout}`)) sum += o.value;
      });
    }
    return sum;
  }

  /** A promise while virtual time passes. */
  async drive<T>(promise: Promise<T>, limitMs = 120_000): Promise<T> {
    let done = false;
    promise.then(
      () => {
        done = true;
      },
      () => {
        done = true;
      },
    );
    await this.clock.run({ until: () => done, untilMs: this.clock.nowMs() + limitMs });
    if (!done) throw new Error("not done in time");
    return promise;
  }

  async until(what: string, condition: () => boolean | Promise<boolean>, limitSec = 4_000): Promise<void> {
    const limit = this.clock.nowMs() + limitSec * 1_000;
    while (!(await condition())) {
      if (this.clock.nowMs() >= limit) throw new Error(`not within ${limitSec} s: ${what}\n${this.report()}`);
      await this.clock.advance(500);
    }
  }
  advance(sec: number): Promise<unknown> {
    return this.clock.advance(sec * 1_000);
  }
  /**
   * Until nothing about the swaps of a side can change any more, within so many seconds. Through servers, one of which is silent, what ended a swap is
   * asked about for as long again as the last question takes to come (ADR 39).
   */
  settled(side: SwapSide, withinSec = 0): Promise<void> {
    const limitSec = withinSec + (SwapWorld.isElectrum ? LAST_QUESTION_SEC : 0);
    return this.until("all is settled", async () => (await side.store.unsettled()).length === 0, limitSec);
  }

  report(): string {
    const lines = (side: SwapSide): string[] =>
      side.log.lines
        .filter((l) => l.event.startsWith("swap") || l.level === "warn" || l.level === "error")
        .slice(-30)
        .map((l) => `${side.role} ${l.event} ${JSON.stringify(l.fields)}`);
    return [...lines(this.maker), ...lines(this.taker)].join("\n");
  }

  match(role: Role, uuid: string, reservation: Reservation, options: SwapOptions = {}): SwapMatch {
    const { confs = 1, lockDurationSec = 600 } = options;
    const other = role === "maker" ? this.taker : this.maker;
    return {
      role,
      uuid,
      myOrderUuid: uuid,
      makerCoin: options.makerCoin ?? MAKER_COIN,
      takerCoin: TAKER_COIN,
      makerAmount: decimal(options.makerAmount ?? "2"),
      takerAmount: decimal(options.takerAmount ?? "1"),
      counterparty: other.key.publicKey,
      makerConfs: confs,
      makerNota: false,
      takerConfs: confs,
      takerNota: false,
      lockDurationSec,
      reservation,
      claimReservation: null,
      heldFees: [],
      ...(options.safety?.[role] ? { safety: options.safety[role] } : {}),
    };
  }

  /** Starts a swap as a finished handshake does. @returns its uuid */
  async start(options: SwapOptions = {}): Promise<string> {
    const uuid = `00000000-0000-4000-8000-${String(++this.#started).padStart(12, "0")}`;
    for (const role of ["maker", "taker"] as const) if (!options.only || options.only === role) await this.startSide(role, uuid, options);
    return uuid;
  }

  async startSide(role: Role, uuid: string, options: SwapOptions = {}): Promise<void> {
    const side = this.side(role);
    const amounts = role === "maker" ? [decimal(options.makerAmount ?? "2")] : [decimal("0.00025"), decimal(options.takerAmount ?? "1")];
    const held = side.coin(role === "maker" ? (options.makerCoin ?? MAKER_COIN) : TAKER_COIN).reserve(amounts, 60_000);
    if (!held.ok) throw new Error(`no funds: ${held.error.kind}`);
    await this.drive(side.runner.start(this.match(role, uuid, held.value, options)));
  }

  /** Puts a message of `from` on a swap's topic as any relay could. */
  inject(from: SwapSide, to: SwapSide, uuid: string, message: SwapMessage): void {
    const data = signEnvelope(encodeSwapMessage(message), from.key.secret.reveal());
    to.runner.onGossip({ topic: `swap/${uuid}`, data, from: "relay" });
  }

  /** Loses messages of a kind on their way to a side; the returned function stops that. */
  lose(to: SwapSide, lost: (message: SwapMessage, uuid: string) => boolean): () => void {
    const before = this.hub.deliver;
    this.hub.deliver = (from, peer, m) => {
      if (!before(from, peer, m)) return false;
      const envelope = parseEnvelope(m.data);
      if (peer !== to.p2p.peerId || !envelope.ok) return true;
      const message = parseSwapMessage(envelope.value.payload);
      return !(message.ok && lost(message.value, m.topic.slice("swap/".length)));
    };
    return () => {
      this.hub.deliver = before;
    };
  }

  /** Messages a side has sent on a swap's topic. */
  sent(side: SwapSide, uuid: string): readonly SwapMessage[] {
    return side.p2p.published.flatMap(({ topic, data }) => {
      const envelope = topic === `swap/${uuid}` ? parseEnvelope(data) : null;
      const message = envelope?.ok ? parseSwapMessage(envelope.value.payload) : null;
      return message?.ok ? [message.value] : [];
    });
  }

  async outcome(side: SwapSide, uuid: string): Promise<string | null> {
    const log = await side.runner.log(uuid);
    return log && log.length > 0 ? fold(log.map((e) => e.event)).finished : null;
  }
  async finish(uuid: string, limitSec = 4_000): Promise<{ maker: string | null; taker: string | null }> {
    await this.until(
      "both sides finish",
      async () => (await this.outcome(this.maker, uuid)) !== null && (await this.outcome(this.taker, uuid)) !== null,
      limitSec,
    );
    return { maker: await this.outcome(this.maker, uuid), taker: await this.outcome(this.taker, uuid) };
  }

  async close(): Promise<void> {
    for (const ticker of this.tickers) this.chain(ticker).stop();
    await this.maker.close();
    await this.taker.close();
    for (const servers of this.#electrum.values()) servers.close();
  }
}
