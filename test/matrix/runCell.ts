import { ownPayment, type Role, type SwapEvent } from "../../src/core/swap/events.ts";
import { deadlinesOf } from "../../src/core/swap/timelocks.ts";
import { type Books, closeBooks, dangerIn, type Holdings, holdingsOf, notFree, stepWrongs } from "./books.ts";
import { type Cell, type Column, EventKeys, type Move, type Restart } from "./cell.ts";
import type { AtStore, MatrixNode } from "./matrixNode.ts";
import { GIVES, LOCK_SEC, MatrixWorld } from "./matrixWorld.ts";
import { AT_ONCE_SEC, isBeyond, restartIn } from "./moments.ts";
import { isOfScripts, platformOf, type Ticker } from "./pairs.ts";
import { hasPaid, movesAt, Villain } from "./villain.ts";
import { Weather } from "./weather.ts";

/** An honest peer that was away comes back so long after the crash. */
const PEER_BACK_SEC = 30;
/** Own funds are free so long after the own lock, or after the last start if that was later: the two hours of the envelope, scaled. */
const FREE_AFTER_SEC = LOCK_SEC;
/** A swap cannot take longer than both locks and that. */
const LIMIT_SEC = 2 * LOCK_SEC + FREE_AFTER_SEC + 600;
/** Blocks after which a finished swap is settled, and time for the nodes to see them. */
const SETTLED_BLOCKS = 9;
const SETTLED_SEC = 20;

export type CellResult = {
  /** The crash happened where it was to happen. */
  readonly hit: boolean;
  /** How the crashed side ended; null when it never had the swap. */
  readonly ending: string;
  /** Beyond the promise: away past the moment by which it had to be online. */
  readonly isOutside: boolean;
  readonly minerFees: bigint;
  readonly wrongs: readonly string[];
  /** Of a failing run: both logs. */
  readonly story: string;
  /** Seconds from the crash to the start, for each kind of restart: where two are the same, so are their runs. */
  readonly restartSec: { readonly [R in Restart]: number } | null;
};

/** An event of an undisturbed run. */
export type Met = { readonly event: string; readonly isBroadcast: boolean; readonly moves: readonly Move[] };

const other = (role: Role): Role => (role === "maker" ? "taker" : "maker");

/** One world with one swap, run to its end, with or without a crash. */
class Run {
  readonly #world: MatrixWorld;
  readonly #column: Column;
  readonly #cell: Cell | null;
  readonly #victim: MatrixNode;
  readonly #peer: MatrixNode;
  readonly #weather: Weather;
  readonly #keys = new EventKeys();
  readonly met: { event: string; isBroadcast: boolean; moves: readonly Move[] }[] = [];
  /** Bytes of every transaction the crashed side has on its disk. */
  readonly #stored = new Set<string>();
  readonly #wrongs: string[] = [];
  #villain: Villain | null = null;
  /** What is still to happen: the crash, then those of the recovery. */
  #plan: ("crash" | "at_broadcast" | "recovery_persist" | "recovery_broadcast")[];
  #hit = false;
  #isOutside = false;
  #restartSec: CellResult["restartSec"] = null;
  #freeBySec = Number.POSITIVE_INFINITY;

  constructor(column: Column, cell: Cell | null) {
    this.#column = column;
    this.#cell = cell;
    this.#world = new MatrixWorld(column.pair);
    this.#victim = this.#world.node(column.role);
    this.#peer = this.#world.node(other(column.role));
    this.#weather = new Weather(column.chain, this.#world);
    this.#plan = cell ? ["crash"] : [];
    this.#victim.atStore = (e) => this.#atStore(e);
    this.#victim.onStored = (e) => this.#onVictimStored(e);
    this.#victim.onOwnTx = (raw) => this.#stored.add(raw);
    this.#victim.onBroadcast = (ticker, when, raw) => this.#onBroadcast(ticker, when, raw);
    this.#victim.onCrash = () => this.#onCrash();
    this.#peer.onStored = (e) => this.#weather.onStored(this.#peer.role, e);
  }

  get #nowSec(): number {
    return Math.floor(this.#world.clock.nowMs() / 1_000);
  }

  #atStore(e: SwapEvent): AtStore {
    const key = this.#keys.next(e);
    const [next] = this.#plan;
    if (next === "recovery_persist") {
      this.#plan.shift();
      return "die_before";
    }
    if (next === "at_broadcast") {
      // Nothing was sent between this event and the next: there is no such moment.
      this.#plan.shift();
      return "live";
    }
    if (next !== "crash" || key !== this.#cell?.event) {
      this.met.push({ event: key, isBroadcast: false, moves: [] });
      return "live";
    }
    this.#plan.shift();
    switch (this.#cell.crash) {
      case "before_persist":
        this.#hit = true;
        return "die_before";
      case "after_persist":
        this.#hit = true;
        return "die_after";
      case "recovery":
        this.#hit = true;
        this.#plan = ["recovery_persist", "recovery_broadcast"];
        return "die_after";
      case "after_broadcast":
        this.#plan = ["at_broadcast"];
        return "live";
    }
  }

  #onVictimStored(e: SwapEvent): void {
    if ("raw" in e) this.#stored.add(e.raw);
    if (this.#victim.state) this.#wrongs.push(...stepWrongs(this.#world, this.#victim.state, e, this.#nowSec));
    this.#weather.onStored(this.#victim.role, e);
    const { role, road } = this.#column;
    const last = this.met.at(-1);
    if (last && !this.#cell) last.moves = movesAt(road, this.#peer.state, this.#victim.state);
    if (this.#hit) return;
    if (road === "refund" && hasPaid(role, e)) this.#peer.crash();
    if (road === "late" && hasPaid(role, e)) this.#becomeVillain("late");
    if (road === "cancel" && e.type === "tx_signed" && e.slot === ownPayment(role)) this.#world.chain(GIVES[role]).hold(e.txid);
  }

  #onBroadcast(ticker: string, when: "before" | "after", raw: string): void {
    if (when === "before") {
      const chain = ticker === platformOf(this.#column.pair) ? this.#world.account : this.#world.chain(ticker as Ticker);
      // What the other side signed may be handed on, stored or not.
      if (!this.#stored.has(raw) && chain?.isOf(raw, this.#victim.purse))
        this.#wrongs.push(`sends a transaction that its disk does not have: ${raw.slice(0, 60)}…`);
      this.#makeRoom(raw);
      return;
    }
    const last = this.met.at(-1);
    if (last) last.isBroadcast = true;
    const [next] = this.#plan;
    if (next !== "at_broadcast" && next !== "recovery_broadcast") return;
    this.#plan.shift();
    if (next === "at_broadcast") this.#hit = true;
    this.#victim.crash();
  }

  /** On the road to a cancellation the mempools forget the payment just then: only so there is room for the conflict. */
  #makeRoom(raw: string): void {
    if (this.#column.road !== "cancel") return;
    const own = this.#victim.state?.own;
    const payment = own?.[ownPayment(this.#column.role)];
    const isCancel = own?.cancel !== undefined && [own.cancel, ...(own.cancel.replaced ?? [])].some((v) => v.raw === raw);
    if (isCancel && payment) this.#world.chain(GIVES[this.#column.role]).forget(payment.txid);
  }

  #becomeVillain(move: Move): void {
    this.#villain = new Villain(this.#world, this.#peer, move);
    // Not in the middle of what the victim is storing.
    this.#world.clock.after(0, () => void this.#villain?.begin().catch((cause: unknown) => this.#wrongs.push(`villain: ${String(cause)}`)));
  }

  #onCrash(): void {
    const isFirst = this.#freeBySec === Number.POSITIVE_INFINITY;
    const s = this.#victim.state;
    const inSec = isFirst && this.#cell ? restartIn(this.#cell.restart, s, this.#nowSec) : AT_ONCE_SEC;
    const backSec = this.#nowSec + inSec;
    if (s) {
      const { makerLock, takerLock } = deadlinesOf(s);
      this.#freeBySec = Math.max(this.#column.role === "maker" ? makerLock : takerLock, backSec) + FREE_AFTER_SEC;
    } else this.#freeBySec = backSec + LIMIT_SEC;
    if (isFirst) {
      const now = this.#nowSec;
      this.#restartSec = {
        at_once: restartIn("at_once", s, now),
        after_deadline: restartIn("after_deadline", s, now),
        after_lock: restartIn("after_lock", s, now),
      };
      this.#isOutside = isBeyond(s, backSec);
      this.#weather.onCrash(inSec);
      this.#peerActs();
    }
    this.#world.clock.after(inSec * 1_000, () => this.#start(this.#victim));
  }

  #start(node: MatrixNode): void {
    if (node.isUp) return;
    node.start().catch((cause: unknown) => this.#wrongs.push(`the ${node.role} does not start: ${String(cause)}`));
  }

  /** What the column says of the other side from the crash on. */
  #peerActs(): void {
    this.#villain?.off();
    this.#villain = null;
    const peer = this.#peer;
    if (this.#cell?.peer === "malicious") this.#becomeVillain(this.#cell.move ?? "late");
    else if (this.#cell?.peer === "silent") peer.crash();
    else if (!peer.isTrading) {
      peer.crash();
      this.#world.clock.after(PEER_BACK_SEC * 1_000, () => this.#start(peer));
    }
  }

  /** The other side is honest and there to the end. */
  get #isPeerHonest(): boolean {
    // On the road of the late claim it was not honest before the crash.
    if (this.#column.road === "late") return false;
    return this.#cell ? this.#cell.peer === "honest" : this.#column.road === "straight" || this.#column.road === "cancel";
  }

  #isOver(): boolean {
    const isDone = (node: MatrixNode): boolean => node.isTrading && (node.disk.length === 0 || node.isFinished);
    return (
      (this.#cell === null || this.#freeBySec !== Number.POSITIVE_INFINITY || this.#plan.length === 0) &&
      isDone(this.#victim) &&
      (!this.#isPeerHonest || isDone(this.#peer))
    );
  }

  async run(): Promise<CellResult> {
    const world = this.#world;
    const { clock } = world;
    const roles = this.#column.road === "alone" ? [this.#column.role] : (["maker", "taker"] as const);
    for (const node of [world.maker, world.taker]) await world.drive(node.start());
    const before = { maker: holdingsOf(world, world.maker), taker: holdingsOf(world, world.taker) };
    const startSec = this.#nowSec;
    for (const role of roles) void world.startSwap(role).catch((cause: unknown) => this.#wrongs.push(`no start: ${String(cause)}`));
    await clock.run({ untilMs: clock.nowMs() + 500 });
    await clock.run({ until: () => this.#isOver(), untilMs: (startSec + 2 * LIMIT_SEC) * 1_000 });
    const isOver = this.#isOver();
    this.#weather.end();
    this.#villain?.off();
    for (const chain of world.chains) chain.mine(SETTLED_BLOCKS);
    await clock.run({ untilMs: clock.nowMs() + SETTLED_SEC * 1_000 });
    if (isOver && !isOfScripts(world.pair))
      await clock.run({ until: () => this.#isFree(), untilMs: clock.nowMs() + FREE_AFTER_SEC * 1_000 });
    const result = this.#judge(before, isOver);
    await world.close();
    return result;
  }

  /** An account has its line in order: a nonce that nobody has is filled after a while. */
  #isFree(): boolean {
    const honest = [this.#victim, ...(this.#isPeerHonest ? [this.#peer] : [])];
    return honest.every((node) => !node.isUp || notFree(this.#world, node).length === 0);
  }

  #judge(before: { readonly [R in Role]: Holdings }, isOver: boolean): CellResult {
    const world = this.#world;
    const wrongs = [...this.#wrongs];
    const victim: Books = closeBooks(world, this.#victim, before[this.#victim.role]);
    wrongs.push(...victim.wrongs);
    const isNamed = victim.ending !== "lost" || dangerIn(this.#victim) !== null;
    if (victim.ending === "lost" && !this.#isOutside) wrongs.push(`the ${this.#victim.role} lost its coins`);
    if (!isNamed) wrongs.push(`the ${this.#victim.role}'s loss is not named in the status`);
    if (victim.ending === "locked") wrongs.push(`the ${this.#victim.role}'s coins are locked`);
    if (!isOver) wrongs.push("not over in time");
    const lateSec = (this.#victim.finishedSec ?? 0) - this.#freeBySec;
    if (lateSec > 0) wrongs.push(`free ${lateSec} s after the deadline`);
    if (this.#victim.isUp && isOver) wrongs.push(...notFree(world, this.#victim));
    if (this.#isPeerHonest) {
      const peer = closeBooks(world, this.#peer, before[this.#peer.role]);
      wrongs.push(...peer.wrongs);
      if (isOver && this.#peer.isUp) wrongs.push(...notFree(world, this.#peer));
      if (peer.ending !== "traded" && peer.ending !== "kept") wrongs.push(`the honest ${this.#peer.role} ${peer.ending}`);
      if (victim.ending === "gained") wrongs.push(`the ${this.#victim.role} gained from an honest ${this.#peer.role}`);
    }
    return {
      hit: this.#hit,
      ending: this.#victim.disk.length === 0 ? "none" : victim.ending,
      isOutside: this.#isOutside,
      minerFees: victim.minerFees,
      wrongs,
      story: wrongs.length > 0 ? this.#story() : "",
      restartSec: this.#restartSec,
    };
  }

  #story(): string {
    const startMs = 1_700_000_000_000;
    const line =
      (node: MatrixNode) =>
      (e: (typeof node.disk)[number]): readonly [number, string] => {
        const { event } = e;
        const more = { ...event, raw: undefined, terms: undefined, with: undefined };
        return [e.atMs, `${((e.atMs - startMs) / 1_000).toFixed(1).padStart(8)} ${node.role} ${JSON.stringify(more)}`];
      };
    const trouble = (node: MatrixNode) =>
      node.log.lines
        .filter((l) => l.event === "swap_trouble")
        .slice(-12)
        .map((l) => `${node.role} ${JSON.stringify(l.fields)}`);
    const nodes = [this.#world.maker, this.#world.taker];
    const events = nodes.flatMap((n) => n.disk.map(line(n))).sort(([a], [b]) => a - b);
    return [...events.map(([, text]) => text), ...nodes.flatMap(trouble)].join("\n");
  }
}

export const runCell = (cell: Cell): Promise<CellResult> => new Run(cell, cell).run();

/** The events an undisturbed run of a column meets, in order. Throws when it does not end well. */
export async function undisturbed(column: Column): Promise<{ readonly met: readonly Met[]; readonly result: CellResult }> {
  const run = new Run(column, null);
  const result = await run.run();
  return { met: run.met, result };
}
