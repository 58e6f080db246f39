import { contractOf, unitsOf } from "../../src/app/swap/contracts.ts";
import type { FaultEffect } from "../../src/chain/faults.ts";
import { p2shOf, redeemScript } from "../../src/core/utxo/htlc.ts";
import type { SimEvmChain } from "../world/evm/simEvmChain.ts";
import type { Backup } from "../world/simBackup.ts";
import type { SimNode } from "../world/simNode.ts";
import type { SimWorld } from "../world/simWorld.ts";
import { onServer, onServerLine } from "./carryServers.ts";
import type { Fault } from "./faults.ts";
import { NewCoins } from "./newCoins.ts";
import { Passing } from "./passing.ts";
import { chainTickerOf } from "./simAccounts.ts";
import type { SwapRecord, SwapSide } from "./swapBook.ts";

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
/** Replies are lost no later than this after the fault's time. */
const LOST_REPLY_MS = 10 * MINUTE_MS;
/** A crash at a boundary that is not reached within this does not happen. */
const ARMED_MS = 60 * MINUTE_MS;
/** An operator tries to enable coins again this often. */
const RETRY_MS = 30 * SECOND_MS;
/** Base units per 1000 bytes that pass for the usual rate of a chain in a fee spike. */
export const USUAL_PER_KB: Readonly<Record<string, bigint>> = { SEG: 1_000n, LEG: 10_000n, KMD: 1_000n, QCK: 1_000n };

/** Above the dust of every simulated coin, and no swap's amount. */
const DUST_UNITS = 10_000n;

/** What makes the blocks of a chain; `setFloor`: of those whose blocks have a price. */
export type FaultyMiner = {
  drought(forMs: number): void;
  burst(blocks: number): void;
  setFloor?(perKb: bigint): void;
  takesOddForms?: boolean;
};
/** What nodes of an account chain say to a transaction they do not want. */
const REFUSED = { code: -32_000, message: "refused on request" } as const;
/** Hundredths: prices as they are. */
const TRUE_PRICES = 100n;

/** What a fault came to. */
export type FaultLife = {
  readonly fault: Fault;
  /** Virtual unix ms when it really began; null: it has not. */
  happenedMs: number | null;
  endedMs: number | null;
  /** The one swap that it befalls; null: all that it concerns. */
  swap: string | null;
};

export type CarryDeps = {
  readonly world: SimWorld;
  readonly miners: ReadonlyMap<string, FaultyMiner>;
  readonly coins: readonly string[];
  /** The last block of each chain of scripts in which nodes were given something. */
  readonly fundedAt: ReadonlyMap<string, number>;
  /** A fault takes hold. */
  readonly onHappened: (life: FaultLife) => void;
  /** A counterparty has mined its payment, of new coins. */
  readonly onMined: (txid: string) => void;
  readonly onRestored: (node: string, logs: Awaited<ReturnType<SimNode["restore"]>>) => void;
  readonly usualLine: () => void;
};

/** Carries out the faults of a schedule on the world. Everything runs on timers of the virtual clock. */
export class Carry {
  readonly lives: readonly FaultLife[];
  readonly newCoins: NewCoins;
  readonly #deps: CarryDeps;
  readonly #backups = new Map<number, Backup>();
  /** Until when strangers pay to contracts, virtual unix ms by coin, and the swaps they paid to. */
  readonly #litter = new Map<string, number>();
  readonly #littered = new Set<string>();
  /** Nodes that are to be started again, and those being started. */
  readonly #down = new Set<string>();

  readonly #passing: Passing;

  constructor(deps: CarryDeps, faults: readonly Fault[]) {
    this.#deps = deps;
    this.#passing = new Passing(deps.world.clock);
    this.lives = faults.map((fault) => ({ fault, happenedMs: null, endedMs: null, swap: null }));
    this.newCoins = new NewCoins(deps.world, (life) => this.#happened(life), deps.onMined);
  }

  /** Sets every fault on the clock; `startMs`: unix ms their times count from. */
  start(startMs: number): void {
    const { clock } = this.#deps.world;
    for (const life of this.lives) {
      const { fault } = life;
      const inMs = startMs + fault.atMs - clock.nowMs();
      if (fault.kind === "backup") {
        clock.after(Math.max(0, inMs - fault.ageMs), () => {
          void this.#node(fault.node)
            .backup()
            .then((copy) => this.#backups.set(fault.id, copy));
        });
      }
      clock.after(Math.max(0, inMs), () => this.#begin(life));
    }
  }

  /**
   * What strangers do to a swap that has agreed on its contracts, where there is litter on a chain now.
   * @returns ids of their transactions
   */
  litter(swap: SwapRecord, side: SwapSide): readonly string[] {
    const { world } = this.#deps;
    if (this.#littered.has(swap.uuid)) return [];
    const txids: string[] = [];
    for (const slot of ["makerPayment", "takerPayment"] as const) {
      const coin = slot === "makerPayment" ? side.terms.makerCoin : side.terms.takerCoin;
      if (!world.chains.has(chainTickerOf(coin))) continue;
      const { chain, ticker } = world.chain(coin);
      if ((this.#litter.get(ticker) ?? 0) < world.clock.nowMs()) continue;
      this.#littered.add(swap.uuid);
      const script = p2shOf(redeemScript(contractOf(side.state, slot)));
      const units = unitsOf(side.state, slot);
      for (const value of [DUST_UNITS, units - 1n, units + 1n]) {
        const paid = chain.payFromFaucet(script, value);
        if (paid.ok) txids.push(paid.value.txid);
      }
    }
    return txids;
  }

  get isAnyDown(): boolean {
    return this.#down.size > 0;
  }

  #node(name: string): SimNode {
    return this.#deps.world.node(name);
  }

  #happened(life: FaultLife, forMs = 0): void {
    life.happenedMs ??= this.#deps.world.clock.nowMs();
    life.endedMs = life.happenedMs + forMs;
    this.#deps.onHappened(life);
  }

  #begin(life: FaultLife): void {
    const { fault } = life;
    if (fault.kind === "crash") {
      this.#arm(life, fault.n, fault.again);
      return;
    }
    if (fault.kind === "new_coins") {
      this.newCoins.begin(life, fault.forMs);
      return;
    }
    const forMs =
      this.#onNode(fault) ?? this.#onDaemon(fault) ?? onServer(this.#deps.world, fault) ?? this.#onChain(fault) ?? this.#onLines(fault);
    if (forMs !== null) this.#happened(life, forMs);
  }

  /** @returns how long it lasts, ms; null: it is of another sort, or nothing came of it */
  #onNode(fault: Fault): number | null {
    const { clock } = this.#deps.world;
    if (fault.kind === "clock" || fault.kind === "clock_set") return this.#setClock(fault);
    if (fault.kind !== "power_cut" && fault.kind !== "backup" && fault.kind !== "disk_full") return null;
    const node = this.#node(fault.node);
    switch (fault.kind) {
      case "power_cut":
        if (!node.isRunning) return null;
        node.crash();
        this.#restartAfter(node, fault.forMs);
        return fault.forMs;
      case "backup": {
        const copy = this.#backups.get(fault.id);
        this.#backups.delete(fault.id);
        if (!node.isRunning || !copy) return null;
        node.crash();
        // Its disk is at rest then: what was under way when the process died is on it, or lost.
        clock.after(1, () => {
          void node.restore(copy).then((logs) => this.#deps.onRestored(node.name, logs));
        });
        this.#restartAfter(node, Math.max(2, fault.forMs));
        return fault.forMs;
      }
      case "disk_full":
        return this.#passing.set(`disk ${node.name}`, true, false, fault.forMs, (isFull) => {
          node.diskFull = isFull;
        });
    }
  }

  #setClock(fault: Fault & { readonly kind: "clock" | "clock_set" }): number {
    const node = this.#node(fault.node);
    const restart = fault.kind === "clock_set" ? fault.restart : null;
    if (restart !== null)
      this.#deps.world.clock.after(restart.afterMs, () => {
        if (!node.isRunning) return;
        node.crash();
        this.#restartAfter(node, restart.forMs);
      });
    this.#passing.set(`clock ${node.name}`, fault.skewMs, node.skewMs, fault.forMs, (skewMs) => {
      node.skewMs = skewMs;
    });
    return Math.max(fault.forMs, restart === null ? 0 : restart.afterMs + restart.forMs);
  }

  #onDaemon(fault: Fault): number | null {
    if ("coin" in fault && "node" in fault && this.#deps.world.accountChains.has(fault.coin)) return this.#onAccountNodes(fault);
    const line = "coin" in fault && "node" in fault ? this.#node(fault.node).serverLine(fault.coin) : undefined;
    if (line) return onServerLine(line, fault, LOST_REPLY_MS);
    switch (fault.kind) {
      case "daemon_down":
        return this.#daemon(fault, { kind: "http_500", forMs: fault.forMs });
      case "daemon_stall":
        return this.#daemon(fault, { kind: "stall", forMs: fault.forMs });
      case "daemon_slow":
        return this.#daemon(fault, { kind: "slow", delayMs: fault.delayMs, forMs: fault.forMs });
      case "daemon_refuses":
        return this.#daemon(fault, { kind: "refuse_broadcast", forMs: fault.forMs });
      case "daemon_lies":
        return this.#daemon(fault, { kind: "wrong_height", delta: fault.delta, forMs: fault.forMs });
      case "lost_reply":
        return this.#daemon({ ...fault, forMs: LOST_REPLY_MS }, { kind: "lost_reply", count: fault.count, forMs: LOST_REPLY_MS });
      default:
        return null;
    }
  }

  /** The same of the nodes of an account chain that a node of the world asks. */
  #onAccountNodes(fault: Fault & { readonly node: string; readonly coin: string }): number | null {
    const link = this.#node(fault.node).link(fault.coin);
    const add = (effect: FaultEffect, forMs: number, count?: number): number => {
      link.fault(effect, count === undefined ? { forMs } : { forMs, count });
      return forMs;
    };
    const of = `${fault.node} ${fault.coin}`;
    const set = (name: "isStuck" | "isSwallowing" | "hasNoLogs", forMs: number): number =>
      this.#passing.set(`${name} ${of}`, true, false, forMs, (isOn) => {
        link[name] = isOn;
      });
    switch (fault.kind) {
      case "daemon_down":
        return add({ kind: "http_500" }, fault.forMs);
      case "daemon_stall":
        return fault.how === "stuck" ? set("isStuck", fault.forMs) : add({ kind: "stall" }, fault.forMs);
      case "daemon_slow":
        return fault.how === "no_logs" ? set("hasNoLogs", fault.forMs) : add({ kind: "slow", delayMs: fault.delayMs }, fault.forMs);
      case "daemon_refuses":
        return fault.how === "swallow" ? set("isSwallowing", fault.forMs) : add({ kind: "refuse_broadcast", ...REFUSED }, fault.forMs);
      case "lost_reply":
        return add({ kind: "lost_reply" }, LOST_REPLY_MS, fault.count);
      case "daemon_lies": {
        const { lies } = link;
        const { delta, how, forMs } = fault;
        if (how === undefined) return add({ kind: "wrong_height", delta }, forMs);
        if (how === "time")
          return this.#passing.set(`time ${of}`, delta, 0, forMs, (timeSec) => {
            lies.timeSec = timeSec;
          });
        return this.#passing.set(`gas ${of}`, BigInt(delta), TRUE_PRICES, forMs, (percent) => {
          lies.gasPercent = percent;
        });
      }
      default:
        return null;
    }
  }

  #daemon({ node, coin, forMs }: { readonly node: string; readonly coin: string; readonly forMs: number }, effect: object): number {
    void this.#node(node).daemonFault(coin, effect);
    return forMs;
  }

  #onChain(fault: Fault): number | null {
    const { world, miners } = this.#deps;
    const account = "coin" in fault ? world.accountChains.get(fault.coin) : undefined;
    if (account && (fault.kind === "forget" || fault.kind === "reorg" || fault.kind === "fee_spike")) return onAccountChain(account, fault);
    switch (fault.kind) {
      case "forget": {
        const { graph } = world.chain(fault.coin).chain.mempool;
        const last = graph.entries().at(-1)?.chainTx.txid;
        if (last === undefined) return null;
        if (fault.all) graph.clear();
        else graph.removeWithDescendants(last);
        return 0;
      }
      case "reorg": {
        const { chain } = world.chain(fault.coin);
        // What nodes were given stays: where it is lost no books come out.
        if (chain.state.tip.height - fault.depth < (this.#deps.fundedAt.get(fault.coin) ?? 0)) return null;
        const blocks = Array.from({ length: fault.depth }, (_, i) => chain.state.at(chain.state.tip.height - i)?.block.txs.slice(1) ?? []);
        const forget = fault.forget ? blocks.flat().map((t) => t.txid) : [];
        // A notarized block is final: such a reorg cannot happen.
        return chain.reorg({ depth: fault.depth, forget }).ok ? 0 : null;
      }
      case "drought":
        miners.get(fault.coin)?.drought(fault.forMs);
        return fault.forMs;
      case "burst":
        miners.get(fault.coin)?.burst(fault.blocks);
        return 0;
      case "odd_forms":
        return this.#passing.set(`forms ${fault.coin}`, true, false, fault.forMs, (isOn) => {
          const miner = miners.get(fault.coin);
          if (miner) miner.takesOddForms = isOn;
        });
      case "litter":
        this.#litter.set(fault.coin, Math.max(this.#litter.get(fault.coin) ?? 0, world.clock.nowMs() + fault.forMs));
        return fault.forMs;
      case "fee_spike":
        return this.#passing.set<bigint | null>(
          `fees ${fault.coin}`,
          (USUAL_PER_KB[fault.coin] ?? 1_000n) * BigInt(fault.factor),
          null,
          fault.forMs,
          (perKb) => this.#setFees(fault.coin, perKb),
        );
      default:
        return null;
    }
  }

  #onLines(fault: Fault): number | null {
    const { world, usualLine } = this.#deps;
    if (fault.kind === "bad_line") {
      return this.#passing.set<typeof fault | null>("lines", fault, null, fault.forMs, (line) => {
        if (line === null) return usualLine();
        world.messageLoss = line.loss;
        world.net.setAll({ jitterMs: line.lateMs, duplicate: line.duplicate, reorder: true });
      });
    }
    if (fault.kind !== "partition" || !this.#node(fault.node).isRunning) return null;
    const id = this.#node(fault.node).p2p.peerId;
    const relays = world.relays.map((r) => world.node(r).p2p.peerId);
    return this.#passing.set(`partition ${fault.node}`, true, false, fault.forMs, (isCut) => {
      for (const relay of relays)
        if (isCut) world.net.cut(id, relay);
        else world.net.mend(id, relay);
    });
  }

  #setFees(coin: string, perKb: bigint | null): void {
    const { world, miners } = this.#deps;
    miners.get(coin)?.setFloor?.(perKb ?? 0n);
    const rate = perKb === null ? null : Number(perKb) / 1e8;
    for (const node of world.nodes.values()) void node.daemon(coin).call("chain_setFeeRate", [rate]);
    void world.servers.get(coin)?.daemon.call("chain_setFeeRate", [rate]);
  }

  /** The process dies at its n-th write or broadcast from now on, on the side of it the fault says. */
  #arm(life: FaultLife, n: number, again: { readonly n: number; readonly afterMs: number } | null): void {
    const { fault } = life;
    if (fault.kind !== "crash") return;
    const node = this.#node(fault.node);
    let left = n;
    const untilMs = this.#deps.world.clock.nowMs() + ARMED_MS;
    const isNow = (): boolean => {
      if (this.#deps.world.clock.nowMs() > untilMs) {
        disarm();
        return false;
      }
      return left-- === 0;
    };
    const disarm = (): void => {
      node.writeFault = () => undefined;
      node.crashAtBroadcast = () => undefined;
    };
    const died = (): void => {
      disarm();
      this.#happened(life, fault.forMs);
      this.#restartAfter(node, fault.forMs);
      // During recovery, too.
      if (again !== null) this.#deps.world.clock.after(fault.forMs, () => this.#armAgain(life, again));
    };
    if (fault.point === "before_store" || fault.point === "after_store") {
      const fate = fault.point === "before_store" ? "crash_before" : "crash_after";
      node.writeFault = () => {
        if (!isNow()) return undefined;
        died();
        return fate;
      };
      return;
    }
    const when = fault.point === "before_broadcast" ? "before" : "after";
    node.crashAtBroadcast = (at) => {
      if (at !== when || !isNow()) return;
      node.crash();
      died();
    };
  }

  #armAgain(life: FaultLife, again: { readonly n: number; readonly afterMs: number }): void {
    if (life.fault.kind !== "crash") return;
    const node = this.#node(life.fault.node);
    let left = again.n;
    node.writeFault = () => {
      if (left-- !== 0) return undefined;
      node.writeFault = () => undefined;
      this.#happened(life, life.fault.kind === "crash" ? life.fault.forMs + again.afterMs : 0);
      this.#restartAfter(node, again.afterMs);
      return "crash_before";
    };
  }

  #restartAfter(node: SimNode, forMs: number): void {
    this.#down.add(node.name);
    this.#deps.world.clock.after(Math.max(1, forMs), () => void this.#restart(node));
  }

  /** Starts a node as an operator would: coins whose daemon is away are enabled again and again. */
  async #restart(node: SimNode): Promise<void> {
    if (node.isRunning) return;
    this.#down.delete(node.name);
    try {
      await node.boot([]);
    } catch (cause) {
      // Its disk is full, say.
      this.#deps.world.trace.note(node.name, `start failed: ${cause instanceof Error ? cause.message : String(cause)}`);
      if (node.isRunning) node.crash();
      return this.#restartAfter(node, RETRY_MS);
    }
    // It may have died of a fault while it started.
    if (node.isRunning) this.#enable(node, node.node);
  }

  #enable(node: SimNode, life: SimNode["node"]): void {
    if (!node.isRunning || node.node !== life) return;
    const missing = this.#deps.coins.filter((coin) => !life.coins.active(coin));
    if (missing.length === 0) return;
    node.enable(missing).catch((cause: unknown) => {
      this.#deps.world.trace.note(node.name, `not enabled: ${cause instanceof Error ? cause.message : String(cause)}`);
      this.#deps.world.clock.after(RETRY_MS, () => this.#enable(node, life));
    });
  }
}

/** @returns how long it lasts, ms; null: nothing came of it */
function onAccountChain(chain: SimEvmChain, fault: Fault & { readonly kind: "forget" | "reorg" | "fee_spike" }): number | null {
  switch (fault.kind) {
    case "forget": {
      const last = chain.pool.ids().at(-1);
      if (last === undefined) return null;
      if (fault.all) chain.pool.clear();
      else chain.pool.remove(last);
      return 0;
    }
    case "reorg": {
      const off = Array.from({ length: fault.depth }, (_, i) => chain.at(chain.tip.height - i)?.txs ?? []).flat();
      const forget = fault.forget ? off.map(({ signed }) => signed.txid) : [];
      // What is final stays: such a reorg cannot happen.
      return chain.reorg(fault.depth, { forget }).ok ? 0 : null;
    }
    case "fee_spike":
      chain.spike(BigInt(fault.factor), fault.forMs);
      return fault.forMs;
  }
}
