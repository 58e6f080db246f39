import { seededRng } from "../../src/adapters/virtualClock/seededRng.ts";
import { coinEntryToChainParams } from "../../src/chain/chainParams.ts";
import { addressOfPubkey } from "../../src/core/evm/address.ts";
import { decimal, gte, rational } from "../../src/core/money/rational.ts";
import { feePubkey } from "../../src/core/network/dexFee.ts";
import { availableVolume } from "../../src/core/order/makerOrder.ts";
import { toHex } from "../../src/core/util/bytes.ts";
import { hash160 } from "../../src/core/utxo/hash.ts";
import { p2pkhScript } from "../../src/core/utxo/outputScript.ts";
import { randomBelow } from "../../src/ports/rng.ts";
import { blocksToFund, fundAll } from "../world/funding.ts";
import type { SimNode } from "../world/simNode.ts";
import { SimWorld } from "../world/simWorld.ts";
import { auditAccounts } from "./accountBooks.ts";
import { type Audit, audit, unfinished } from "./audit.ts";
import { checkCalm } from "./calm.ts";
import { Carry, type FaultLife } from "./carry.ts";
import { CatchUp } from "./catchUp.ts";
import { between, happens } from "./dice.ts";
import { ENVELOPE } from "./envelope.ts";
import { EvmMiner } from "./evmMiner.ts";
import { FAULT_KINDS } from "./faults.ts";
import { fundAccounts } from "./fundAccounts.ts";
import { Miner } from "./miner.ts";
import { DEFAULTS, type SimRunOptions } from "./options.ts";
import { drawSchedule, type Schedule, type Trade } from "./schedule.ts";
import { ACCOUNT_BLOCK_SEC, chainTickerOf, isAccountCoin, SIM_ACCOUNT_CHAIN, SIM_ACCOUNTS } from "./simAccounts.ts";
import { SIM_COINS, type SimCoinTraits } from "./simCoins.ts";
import type { SwapRecord } from "./swapBook.ts";
import { type Violation, Watch } from "./watch.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const COIN_UNITS = 100_000_000n;
/** Outputs of a taker per coin where a maker has the usual purse, and coins in each output of anybody. */
const TAKER_OUTPUTS = 10;
const COINS_PER_OUTPUT = 2n;
/** Makers look at their orders this often and put back what is gone or nearly used up. */
const UPKEEP_MS = 10 * MINUTE_MS;
/** Offered in an order, and least that is left before it is put up anew, whole coins. */
const OFFERED = 5;
/** Clock errors of nodes all through the run stay below this: relays leave nodes that are 20 s off. */
const USUAL_SKEW_MS = 8 * SECOND_MS;
/** Watched longer after the last swap has ended: reorganisations may still undo it. */
const AFTER_MS = 30 * MINUTE_MS;
/** Lines of a log told with the story of a swap. */
const LAST_WORDS = 5;
/** A swap that ended this long ago can no longer be touched by a fault. */
const REMEMBER_MS = 60 * MINUTE_MS;

export type SimRun = {
  readonly seed: number;
  readonly traceHash: string;
  readonly traceLength: number;
  readonly violations: readonly Violation[];
  readonly swaps: ReadonlyMap<string, SwapRecord>;
  readonly audit: Audit;
  readonly lives: readonly FaultLife[];
  /** Swaps each fault befell, by fault id. */
  readonly touched: ReadonlyMap<number, ReadonlySet<string>>;
  readonly checks: ReadonlyMap<string, number>;
  readonly orders: { readonly wanted: number; readonly placed: number };
  readonly virtualHours: number;
  readonly startMs: number;
  readonly cpuMs: number;
  /** The last lines of a node's log that name a swap. */
  readonly lastWords: (node: string, uuid: string) => readonly string[];
  /** When the transactions of a swap came into blocks, by the chains as they stand at the end. */
  readonly chainFacts: (uuid: string) => readonly { readonly atMs: number; readonly text: string }[];
};

const coinsOf = ({ coins, accounts, relayPolicy }: SimRunOptions): readonly SimCoinTraits[] => [
  ...SIM_COINS.slice(0, coins).map((c) => ("segwit" in c.entry ? { ...c, entry: { ...c.entry, relay_policy: relayPolicy } } : c)),
  ...SIM_ACCOUNTS.slice(0, accounts),
];

/** The schedule that belongs to options. */
export const scheduleOf = (options: SimRunOptions): Schedule =>
  drawSchedule(
    options,
    coinsOf(options).map(({ entry }) => ({
      ticker: entry.coin,
      confirmations: entry.required_confirmations,
      blockSec: entry.avg_blocktime,
      isAccount: isAccountCoin(entry),
    })),
    FAULT_KINDS.filter((kind) => options.kinds?.includes(kind) ?? true),
  );

/** Outputs of a taker: fewer than a maker's, unless both have few. */
const takerPurse = (purse: number): number =>
  Math.min(purse, Math.max(TAKER_OUTPUTS, Math.floor((purse * TAKER_OUTPUTS) / DEFAULTS.purse)));

/** Price of a maker: all coins are worth about the same, each maker has its own spread, in thousandths. */
const makerMilli = (maker: number): number => 1_000 + 5 * (maker + 1);
/** What every taker accepts. */
const TAKER_MILLI = 1_100;

/** Runs a schedule to its end and audits everything. */
export async function simRun(options: SimRunOptions, schedule: Schedule): Promise<SimRun> {
  return new Runner(options, schedule).run();
}

class Runner {
  readonly #options: SimRunOptions;
  readonly #schedule: Schedule;
  readonly #coins: readonly SimCoinTraits[];
  readonly #tickers: readonly string[];
  readonly #touched = new Map<number, Set<string>>();
  #world: SimWorld | null = null;
  #watch: Watch | null = null;
  #carry: Carry | null = null;
  #catchUp: CatchUp | null = null;
  #placed = 0;
  #lastOpenMs = 0;

  constructor(options: SimRunOptions, schedule: Schedule) {
    this.#options = options;
    this.#schedule = schedule;
    this.#coins = coinsOf(options);
    this.#tickers = this.#coins.map((c) => c.entry.coin);
  }

  async run(): Promise<SimRun> {
    const cpuStart = process.cpuUsage();
    const options = this.#options;
    const dice = seededRng(options.seed ^ 0x5eed);
    // Dice of its own: without Electrum everything is as it was.
    const backends = seededRng(options.seed ^ 0xe1ec);
    const { makers, takers } = this.#people();
    const people = [...makers, ...takers];
    const perNode = (name: string): number => (name.startsWith("maker") ? options.purse : takerPurse(options.purse));
    const perCoin = people.reduce((n, name) => n + BigInt(perNode(name)) * COINS_PER_OUTPUT * COIN_UNITS, 0n);
    const world = await SimWorld.create({
      seed: options.seed,
      pollMs: options.pollSec * SECOND_MS,
      coins: this.#coins.map((c) => c.entry),
      accountChains: options.accounts > 0 ? [SIM_ACCOUNT_CHAIN] : [],
      mining: "by_hand",
      relays: options.relays,
      fsyncMs: options.fsyncMs,
      electrum: options.electrum > 0,
      initialBlocks: (entry) => {
        const params = coinEntryToChainParams(entry);
        return params.ok ? blocksToFund(perCoin, params.value.subsidy) : 101;
      },
    });
    this.#world = world;
    for (const { entry } of this.#utxo) {
      if ("segwit" in entry) world.chain(entry.coin).chain.policy.replacement = options.relayPolicy === "replace";
    }
    const watch = new Watch(world);
    this.#watch = watch;
    const birthday = Math.min(...[...world.chains.values()].map(({ chain }) => chain.state.tip.height));
    for (const name of people) {
      const skewMs = Math.min(options.skewSec * SECOND_MS, USUAL_SKEW_MS);
      const electrum = this.#utxo.map(({ entry }) => entry.coin).filter(() => options.electrum > 0 && happens(backends, options.electrum));
      const node = world.addNode(name, { skewMs: skewMs === 0 ? 0 : between(dice, -skewMs, skewMs), birthdayHeight: birthday, electrum });
      node.onStored = (batch) => watch.onStored(name, batch);
      node.onBroadcast = (ticker, when, raw, outcome) => {
        if (when === "before") watch.onBroadcast(name, ticker, raw);
        else watch.onAnswer(name, ticker, raw, outcome);
      };
    }
    world.trace.onSwapMessage = (from, uuid, data) => watch.onFrame(from, data, uuid);
    const purse = new Map(people.map((name) => [name, BigInt(perNode(name)) * COINS_PER_OUTPUT * COIN_UNITS]));
    const purses = new Map(this.#utxo.map(({ entry }) => [entry.coin, purse]));
    const fundedAt = new Map<string, number>();
    const sinceHeight = new Map<string, number>();
    for (const { ticker, chain } of world.chains.values()) {
      const outputs = people.flatMap((name) =>
        Array.from({ length: perNode(name) }, () => ({ value: COINS_PER_OUTPUT * COIN_UNITS, script: world.node(name).script })),
      );
      fundAll(chain, outputs);
      fundedAt.set(ticker, chain.state.tip.height);
      chain.mine(6);
      sinceHeight.set(ticker, chain.state.tip.height + 1);
    }
    const accounts = this.#accounts.map(({ entry }) => entry.coin);
    const given = fundAccounts(
      world,
      accounts,
      people.map((name) => ({ name, coins: BigInt(perNode(name)) * COINS_PER_OUTPUT })),
    );
    for (const name of people) await world.node(name).start(this.#tickers);
    await world.runUntil("all have a relay", () => people.every((name) => world.node(name).p2p.relays().length > 0), 10 * MINUTE_MS);
    const miners = new Map<string, Miner | EvmMiner>(
      this.#utxo.map(({ entry, notarizedEverySec }) => {
        const miner = new Miner({
          sim: world.chain(entry.coin),
          clock: world.clock,
          rng: seededRng(randomBelow(dice, 2 ** 32)),
          blockSec: entry.avg_blocktime,
          notarizedEverySec,
          onBlock: () => undefined,
          onOddForm: (txid, other) => watch.book.isOther(txid, other),
        });
        return [entry.coin, miner] as const;
      }),
    );
    for (const [ticker, chain] of world.accountChains) {
      const rng = seededRng(randomBelow(dice, 2 ** 32));
      miners.set(ticker, new EvmMiner({ chain, clock: world.clock, rng, blockSec: ACCOUNT_BLOCK_SEC }));
    }
    const usualLine = (): void => {
      world.messageLoss = options.loss;
      world.net.setAll({ latencyMs: 10, jitterMs: options.lateMs, duplicate: options.duplicate, reorder: options.reorder });
    };
    usualLine();
    for (const miner of miners.values()) miner.start();
    const carry = new Carry(
      {
        world,
        miners,
        coins: this.#tickers,
        fundedAt,
        onHappened: (life) => this.#happened(life),
        onMined: (txid) => watch.strangers.add(txid),
        onRestored: (node, logs) => watch.onRestored(node, logs),
        usualLine,
      },
      // What is drawn for a node that no order brings into the world befalls nobody.
      this.#schedule.faults.filter((fault) => !("node" in fault) || world.nodes.has(fault.node)),
    );
    this.#carry = carry;
    this.#catchUp = new CatchUp({ world, watch, coins: this.#tickers, lives: () => carry.lives });
    watch.onSwap = (swap) => this.#sideBegan(swap);
    watch.onNegotiated = (swap, side) => {
      carry.newCoins.agreed(swap, side);
      for (const txid of carry.litter(swap, side)) watch.strangers.add(txid);
    };
    const startMs = world.clock.nowMs();
    for (const [i, name] of makers.entries()) this.#keepOffering(world.node(name), Number(name.slice("maker".length)), i * 7 * SECOND_MS);
    carry.start(startMs);
    for (const trade of this.#schedule.trades) world.clock.after(trade.atMs + 30 * SECOND_MS, () => this.#trade(trade));
    const lastMs =
      startMs + Math.max(0, ...this.#schedule.trades.map((t) => t.atMs), ...this.#schedule.faults.map((f) => f.atMs)) + MINUTE_MS;
    this.#lastOpenMs = lastMs;
    const lockMs = 2 * 7_800 * SECOND_MS;
    const limitMs = lastMs + lockMs + ENVELOPE.freeAfterLockMs + 8 * HOUR_MS;
    const isBroken = (): boolean => options.first && watch.violations.length > 0;
    await world.clock.run({ untilMs: limitMs, until: () => isBroken() || this.#isOver(lastMs) });
    for (const miner of miners.values()) miner.stop();
    if (!isBroken()) this.#checkEnd(watch, watch.book.open);
    const feeKey = feePubkey(world.profile, this.#tickers[0] ?? "", true);
    const feeScripts = feeKey.ok ? [toHex(p2pkhScript(hash160(feeKey.value)))] : [];
    const done = audit(world, watch, { sinceHeight, purses, feeScripts });
    if (feeKey.ok) auditAccounts(world, watch, given, addressOfPubkey(feeKey.value));
    if (!isBroken()) this.#judge(watch, done);
    const traceHash = world.traceHash();
    const cpu = process.cpuUsage(cpuStart);
    const result: SimRun = {
      seed: options.seed,
      traceHash,
      traceLength: world.trace.count,
      violations: watch.violations,
      swaps: watch.book.swaps,
      audit: done,
      lives: carry.lives,
      touched: this.#touched,
      checks: watch.checks,
      orders: { wanted: this.#schedule.trades.length, placed: this.#placed },
      virtualHours: (world.clock.nowMs() - startMs) / HOUR_MS,
      startMs,
      cpuMs: (cpu.user + cpu.system) / 1_000,
      lastWords: (node, uuid) =>
        world
          .node(node)
          .log.lines.filter((line) => line.includes(uuid))
          .slice(-LAST_WORDS),
      chainFacts: (uuid) => this.#chainFacts(uuid),
    };
    await world.close();
    return result;
  }

  #chainFacts(uuid: string): readonly { readonly atMs: number; readonly text: string }[] {
    const found: { atMs: number; text: string }[] = [];
    for (const { uuid: of, node, slot, txid } of this.watch.book.byTxid.values()) {
      if (of !== uuid) continue;
      for (const ticker of [...this.world.chains.keys(), ...this.world.accountChains.keys()]) {
        const facts = this.watch.facts(ticker);
        const block = facts.blockOf(txid);
        const failed = facts.depth(txid) === 0 ? "failed " : "";
        if (block)
          found.push({ atMs: block.timeSec * 1_000, text: `${ticker} ${block.height} has the ${failed}${slot} ${txid} of ${node}` });
      }
    }
    return found;
  }

  /** Nodes that take part; those nothing is asked of are left out, which makes shrunken schedules quick. */
  #people(): { readonly makers: readonly string[]; readonly takers: readonly string[] } {
    const { makers, takers } = this.#options;
    const wanted = new Set(this.#schedule.trades.map((t) => t.taker));
    const all = Array.from({ length: takers }, (_, i) => i).filter((i) => wanted.has(i));
    return { makers: Array.from({ length: makers }, (_, i) => `maker${i}`), takers: all.map((i) => `taker${i}`) };
  }

  #isOver(lastMs: number): boolean {
    const { clock } = this.world;
    const nowMs = clock.nowMs();
    const { open, undone } = this.watch.book;
    if (open.size + undone.size > 0) this.#lastOpenMs = nowMs;
    const isQuiet = this.#carry?.isAnyDown === false && this.#catchUp?.isAwaiting === false;
    return nowMs > lastMs && nowMs > this.#lastOpenMs + AFTER_MS && isQuiet;
  }

  get #utxo(): readonly SimCoinTraits[] {
    return this.#coins.filter(({ entry }) => !isAccountCoin(entry));
  }
  get #accounts(): readonly SimCoinTraits[] {
    return this.#coins.filter(({ entry }) => isAccountCoin(entry));
  }
  get world(): SimWorld {
    if (!this.#world) throw new Error("the run has not begun");
    return this.#world;
  }
  get watch(): Watch {
    if (!this.#watch) throw new Error("the run has not begun");
    return this.#watch;
  }

  /** Keeps an order of the maker on every pair, all through the run. */
  #keepOffering(node: SimNode, maker: number, inMs: number): void {
    const { clock } = this.world;
    const untilMs = clock.nowMs() + Math.max(0, ...this.#schedule.trades.map((t) => t.atMs)) + 5 * MINUTE_MS;
    const look = (): void => {
      const isOver = clock.nowMs() > untilMs;
      if (!isOver || !node.isRunning) clock.after(UPKEEP_MS, look);
      if (!node.isRunning) return;
      const live = node.node;
      if (isOver) {
        void live.orders.cancelAllOrders({ type: "All" }).catch(() => clock.after(UPKEEP_MS, look));
        return;
      }
      const mine = live.orders.myOrders().makers;
      for (const base of this.#tickers) {
        for (const rel of this.#tickers) {
          if (base === rel || !live.coins.active(base) || !live.coins.active(rel)) continue;
          const order = mine.find((o) => o.base === base && o.rel === rel);
          if (order && gte(availableVolume(order), rational(BigInt(OFFERED), 2n))) continue;
          const price = rational(BigInt(makerMilli(maker)), 1_000n);
          void live.orders.placeMakerOrder({ base, rel, price, volume: decimal(String(OFFERED)) }).then(
            () => undefined,
            (cause: unknown) => this.world.trace.note(node.name, `setprice: ${String(cause)}`),
          );
        }
      }
    };
    clock.after(inMs, look);
  }

  #trade(trade: Trade): void {
    const node = this.world.nodes.get(`taker${trade.taker}`);
    if (!node?.isRunning) return;
    const live = node.node;
    if (!live.coins.active(trade.base) || !live.coins.active(trade.rel)) return;
    const volume = rational(BigInt(trade.milli), 1_000n);
    const price = trade.action === "Buy" ? rational(BigInt(TAKER_MILLI), 1_000n) : rational(1_000n, BigInt(TAKER_MILLI));
    const { base, rel, action } = trade;
    void live.orders.placeTakerOrder({ action, base, rel, price, volume, orderType: "FillOrKill" }).then(
      (placed) => {
        if (placed.ok) this.#placed++;
        else this.world.trace.note(node.name, `${action}: ${placed.error.kind}`);
      },
      (cause: unknown) => this.world.trace.note(node.name, `${action}: ${String(cause)}`),
    );
  }

  /** Notes which swaps a fault befalls; one beyond the envelope takes them out of the promise. */
  #happened(life: FaultLife): void {
    const { fault } = life;
    if (fault.kind === "clock_set") this.#catchUp?.expect(life);
    this.world.trace.note("fault", `${fault.id} ${fault.kind}`);
    const nowMs = this.world.clock.nowMs();
    for (const swap of this.watch.book.swaps.values()) {
      const over = Object.values(swap.sides).every((s) => s.finishedMs !== null && s.finishedMs < nowMs - REMEMBER_MS);
      if (!over && concerns(life, swap)) this.#touch(fault, swap);
    }
  }

  #touch(fault: FaultLife["fault"], swap: SwapRecord): void {
    let touched = this.#touched.get(fault.id);
    if (!touched) {
      touched = new Set();
      this.#touched.set(fault.id, touched);
    }
    touched.add(swap.uuid);
    if (fault.envelope !== "outside") return;
    swap.outside.add(fault.id);
    if (fault.kind === "clock" || fault.kind === "clock_set" || fault.kind === "backup") swap.isTimeWrong = true;
    if (fault.kind === "daemon_lies" && this.world.accountChains.has(fault.coin)) swap.misled.add(fault.node);
  }

  /** A swap that begins on a side while a fault lasts is befallen, too. */
  #sideBegan(swap: SwapRecord): void {
    const nowMs = this.world.clock.nowMs();
    for (const life of this.#carry?.lives ?? []) {
      const { fault, happenedMs, endedMs } = life;
      if (happenedMs !== null && endedMs !== null && endedMs >= nowMs && concerns(life, swap)) this.#touch(fault, swap);
    }
  }

  #checkEnd(watch: Watch, open: ReadonlySet<string>): void {
    for (const swap of watch.book.swaps.values()) {
      watch.checked("ends");
      if (!open.has(swap.uuid)) {
        for (const side of Object.values(swap.sides)) watch.checkStatus(swap, side);
        continue;
      }
      const names = unfinished(swap).map((s) => s.node);
      // Beyond the envelope, too, a swap must come to an end that its owner can read.
      watch.violate("ends", `not finished for ${names.join(" and ")}`, swap.uuid);
    }
  }

  #judge(watch: Watch, done: Audit): void {
    checkCalm(watch, this.#carry?.lives ?? [], this.#touched);
    for (const [uuid, end] of done.endings) {
      const swap = watch.book.swaps.get(uuid);
      if (!swap) continue;
      watch.checked(swap.outside.size === 0 ? "funds" : "named");
      for (const role of ["maker", "taker"] as const) {
        if (end[role] !== "lost" && end[role] !== "locked") continue;
        const side = swap.sides[role];
        if (swap.outside.size === 0)
          watch.violate(
            "funds",
            `the ${role} ${side?.node ?? "?"} ${end[role]} (the other ${end[role === "maker" ? "taker" : "maker"]})`,
            uuid,
          );
        else if (end[role] === "lost" && side && !side.isForgotten && !swap.misled.has(side.node) && side.state.finished !== "lost") {
          watch.violate("named", `the ${role} ${side.node} lost, its status says ${side.state.finished ?? "nothing"}`, uuid);
        }
      }
    }
  }
}

/** Whether a fault can have anything to do with a swap. */
function concerns({ fault, swap }: FaultLife, { sides, uuid }: SwapRecord): boolean {
  if (swap !== null) return swap === uuid;
  const all = Object.values(sides);
  const isNode = !("node" in fault) || all.some((s) => s.node === fault.node);
  const isCoin =
    !("coin" in fault) || all.some(({ terms }) => [terms.makerCoin, terms.takerCoin].some((coin) => chainTickerOf(coin) === fault.coin));
  return isNode && isCoin;
}
