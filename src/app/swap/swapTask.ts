import type { SwapMessage } from "../../core/message/types.ts";
import type { NetworkProfile } from "../../core/network/networkProfile.ts";
import { isAwaited } from "../../core/swap/awaitedMessage.ts";
import { type Duty, duties, dutyKey } from "../../core/swap/duties.ts";
import { CHILD_SLOTS, type Slot, type StoredEvent, type SwapEvent } from "../../core/swap/events.ts";
import { begin, outcomeOf, type SwapState, step, versionsOf } from "../../core/swap/swapState.ts";
import { deadlinesOf, type SwapDeadlines } from "../../core/swap/timelocks.ts";
import { fromHex } from "../../core/util/bytes.ts";
import { reasonOf } from "../../core/util/reasonOf.ts";
import { Aborted, type Clock, steadyTime } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { SwapStore, UniqueMark } from "../../ports/swapStore.ts";
import type { Reservation } from "../tradingCoin.ts";
import { chainKeys } from "./chainKeys.ts";
import { chainOf } from "./contracts.ts";
import { DoubtedBlocks } from "./duties/doubtedBlocks.ts";
import { EndWitness } from "./duties/endWitness.ts";
import type { OwnTxOfSwap } from "./lostTo.ts";
import { Mailbox } from "./mailbox.ts";
import type { SwapCoin } from "./swapCoin.ts";
import type { FeeAllowances } from "./unknownFees.ts";

/** How long this node waits for the other side's messages, and how often it repeats its own; from the network profile. */
export type SwapTiming = Pick<
  NetworkProfile,
  | "messageGraceSec"
  | "negotiationWaitSec"
  | "paymentMessageWaitSec"
  | "negotiationResendSec"
  | "negotiatedResendSec"
  | "takerFeeResendSec"
  | "makerPaymentResendSec"
  | "takerPaymentResendSec"
>;

/** What a running swap uses of the node. */
export type SwapTaskDeps = {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: SwapStore;
  readonly makerCoin: SwapCoin;
  readonly takerCoin: SwapCoin;
  readonly timing: SwapTiming;
  /** Signs and publishes on this swap's topic. */
  readonly send: (message: SwapMessage) => void;
  /** The maker's secret, derived anew each time; null for the taker. */
  readonly secret: () => Uint8Array | null;
  /** Runs one duty until it has done its work or `signal` fires. */
  readonly runDuty: (task: SwapTask, duty: Duty, signal: AbortSignal) => Promise<void>;
  /** An own transaction by its id, whichever swap made it; null when it is none, or its swap settled long ago. */
  readonly ownTx: (txid: string) => OwnTxOfSwap | null;
  /** Names the known network profile whose fee rule a refused fee would have met; null if none. */
  readonly profileOfFee: (task: SwapTask, raw: Uint8Array) => string | null;
  /** What fees of all swaps may cost servers. */
  readonly feeAllowances: FeeAllowances;
  /** After each stored event, for exports and streams. Must not throw. */
  readonly onEvent: (task: SwapTask) => void;
};

/** What a duty looks at: the chains, the other side's messages, or both. What this swap has stored is news for all. */
export type NewsOf = "chain" | "messages" | "anything";
/** How much news of a kind there had been at a look; from `seen`, for `news`. */
export type Seen = { readonly of: NewsOf; readonly count: number };
const HEARD_BY = {
  chain: ["chain", "anything"],
  peer: ["messages", "anything"],
  log: ["chain", "messages", "anything"],
} as const satisfies { readonly [from: string]: readonly NewsOf[] };

/** Why a duty's signal fires. One for all: without a reason an error with a trace of the stack is made for each. */
const CALLED_OFF = new Aborted("called off");

/** Pause before what failed unexpectedly, a duty or the storing of the outcome, is tried again: doubles from the first to the last value. */
const RETRY_FIRST_MS = 1_000;
const RETRY_LAST_MS = 60_000;
/** A duty that ended without changing the state is looked at again after this, or at the next news. */
const IDLE_RECHECK_MS = 5_000;
const SAME_TROUBLE_MS = 60_000;

/**
 * One live swap: its log, its state, and the duties that state demands. Events go through one queue, are stored before
 * they count, and duties are started and stopped to match the new state (design D3, style "persist, then act").
 */
export class SwapTask {
  readonly deps: SwapTaskDeps;
  readonly mailbox = new Mailbox();
  /** What is held of the own coin, and of the other one for the claim; null: nothing. */
  reservation: Reservation | null = null;
  claimReservation: Reservation | null = null;
  /** Last refusal by a backend or a peer, for the log and for the reasons of what follows from it; not part of the state. */
  lastTrouble: string | null = null;
  /** Txids of the versions of the own claim that a backend took in this run: with a full disk no index shows them. */
  readonly taken = new Set<string>();
  #troubleLoggedMs = Number.NEGATIVE_INFINITY;
  /** What a chain knows and cannot show, for the status; null: nothing. */
  unseen: string | null = null;
  /** The chains that follow this swap's contracts up to their tips. */
  readonly covered = new Set<"maker" | "taker">();
  /** Blocks that own transactions are in and others deny. */
  readonly doubted = new DoubtedBlocks(this);
  /** When a backend last refused the dex fee, or a child, in this run, unix seconds. */
  readonly refusedAt = new Map<Slot, number>();
  /** The claim that nobody was seen to have would not be paid, or not soon, when that was last asked in this run. */
  isClaimKept = false;
  /** The own payment, which left once, gives way to others of its account, and that was told so. */
  isPaymentYielding = false;
  /** Tip at which an own refund that was signed before its time was first seen to be final in this run; null: it was not. */
  refundFinalFrom: number | null = null;
  readonly #steadyMs: () => number;
  readonly #startedMs: number;
  #state: SwapState;
  readonly #log: StoredEvent[];
  /** For the present state. */
  #keys: ReadonlySet<string> | null = null;
  #queue: Promise<void> = Promise.resolve();
  readonly #running = new Map<string, AbortController>();
  readonly #waiters: { readonly [of in NewsOf]: Set<() => void> } = { chain: new Set(), messages: new Set(), anything: new Set() };
  readonly #counts: { [of in NewsOf]: number } = { chain: 0, messages: 0, anything: 0 };
  readonly #stopped = new AbortController();
  /** Ends of the swap that not one server denies. */
  readonly undisputed = new EndWitness(this, this.#stopped.signal, true);
  /** Until `run`, events only change the state. */
  #started = false;

  constructor(deps: SwapTaskDeps, log: readonly StoredEvent[]) {
    this.deps = deps;
    this.#steadyMs = steadyTime(deps.clock);
    this.#startedMs = this.#steadyMs();
    this.#log = [...log];
    const [first, ...rest] = log;
    if (!first) throw new Error("a swap task needs its first event");
    this.#state = rest.reduce((s, e) => step(s, e.event), begin(first.event));
  }

  get state(): SwapState {
    return this.#state;
  }
  get uuid(): string {
    return this.#state.terms.uuid;
  }
  /** Fires when the task is stopped. */
  get stopped(): AbortSignal {
    return this.#stopped.signal;
  }
  get events(): readonly StoredEvent[] {
    return this.#log;
  }
  /** Unix seconds, never before the last event: a clock set back by a restart makes nothing early again. */
  nowSec(): number {
    return Math.floor(Math.max(this.deps.clock.nowMs(), this.#log.at(-1)?.atMs ?? 0) / 1_000);
  }
  /** How long it has run, seconds; a clock that is set back makes that no less. */
  ranSec(): number {
    return (this.#steadyMs() - this.#startedMs) / 1_000;
  }
  times(): SwapDeadlines {
    return deadlinesOf(this.#state);
  }
  coin(side: "maker" | "taker"): SwapCoin {
    return side === "maker" ? this.deps.makerCoin : this.deps.takerCoin;
  }
  /** When the first event that fits was stored, unix seconds; null if none was. */
  timeOf(match: (e: SwapEvent) => boolean): number | null {
    const found = this.#log.find((e) => match(e.event));
    return found ? Math.floor(found.atMs / 1_000) : null;
  }
  /** The same of the last one. */
  lastTimeOf(match: (e: SwapEvent) => boolean): number | null {
    const found = this.#log.findLast((e) => match(e.event));
    return found ? Math.floor(found.atMs / 1_000) : null;
  }

  /** Starts what the state demands. Call once. */
  run(): void {
    this.#started = true;
    this.#settleOutcome();
    this.#reconcile();
  }

  /** Cancels every duty; the log stays as it is and a later task resumes from it. */
  async stop(): Promise<void> {
    this.#stopped.abort(CALLED_OFF);
    for (const c of this.#running.values()) c.abort(CALLED_OFF);
    this.wake("log");
    await this.#queue.catch(() => undefined);
  }

  /** Scripts and transactions that this swap looks at, on either chain; another set when the state has changed. */
  get keys(): ReadonlySet<string> {
    this.#keys ??= chainKeys(this.#state, this.deps.makerCoin, this.deps.takerCoin);
    return this.#keys;
  }

  /** A message of the other side has come. */
  hear(message: SwapMessage): void {
    this.mailbox.put(message, isAwaited(this.#state, message));
    this.wake("peer");
  }

  /** There is news: every waiting duty that looks at such things looks again. `log`: this swap's own state. */
  wake(from: keyof typeof HEARD_BY): void {
    for (const of of HEARD_BY[from]) {
      this.#counts[of]++;
      // Each takes itself out.
      for (const end of this.#waiters[of]) end();
    }
  }

  /** To be asked before looking, and passed to `news`: so nothing that comes in between is missed. */
  seen(of: NewsOf): Seen {
    return { of, count: this.#counts[of] };
  }

  /**
   * Resolves at the next news of its kind after `seen`, or after `timeoutMs`; rejects with `Aborted` when the duty is called off.
   * @param signal the duty's own: this task alone aborts it, and wakes whoever waits then
   */
  news({ of, count }: Seen, timeoutMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(CALLED_OFF);
      if (this.#counts[of] !== count) return resolve();
      const end = (): void => {
        cancel();
        this.#waiters[of].delete(end);
        if (signal.aborted) reject(CALLED_OFF);
        else resolve();
      };
      const cancel = this.deps.clock.after(timeoutMs, end);
      // No listener on the signal: a swap that waits for hours does so thousands of times, and it would be most of the cost.
      this.#waiters[of].add(end);
    });
  }

  /** Stores an event, then makes it count. Resolves when it is durable and the duties match; repeats are no-ops. */
  async emit(event: SwapEvent, marks: readonly UniqueMark[] = []): Promise<void> {
    await this.emitIf(() => true, event, marks);
  }

  /**
   * The same for a decision that another duty, which runs beside this one, may have taken back: asked again when the event's turn
   * comes, of the state with everything before it.
   * @returns whether it counts now; false: `holds` was not true any more, and nothing was stored
   */
  emitIf(holds: (s: SwapState) => boolean, event: SwapEvent, marks: readonly UniqueMark[] = []): Promise<boolean> {
    const done = this.#queue.then(() => this.#apply(holds, event, marks));
    this.#queue = done.then(
      () => undefined,
      () => undefined,
    );
    return done;
  }

  async #apply(holds: (s: SwapState) => boolean, event: SwapEvent, marks: readonly UniqueMark[]): Promise<boolean> {
    // Whoever waits for this event goes on to act on it: without it being stored that must not happen.
    if (this.#stopped.signal.aborted) throw new Aborted("the swap was stopped");
    if (!holds(this.#state)) return false;
    const next = step(this.#state, event);
    if (next === this.#state) return true;
    const stored: StoredEvent = { v: 1, atMs: this.deps.clock.nowMs(), event };
    try {
      await this.deps.store.append(this.uuid, this.#log.length, stored, marks);
    } catch (cause) {
      // Stored all the same, perhaps, now or by an earlier try whose answer was lost: what is in the log counts.
      if (!(await this.#catchUp())) throw cause;
      return this.#apply(holds, event, marks);
    }
    this.#advance(stored);
    return true;
  }

  /** Takes over what the store has beyond this task's log. @returns whether there was anything */
  async #catchUp(): Promise<boolean> {
    const log = await this.deps.store.log(this.uuid).catch(() => []);
    const missed = log.slice(this.#log.length);
    for (const stored of missed) this.#advance(stored);
    return missed.length > 0;
  }

  /** Makes a stored event count. */
  #advance(stored: StoredEvent): void {
    const { event } = stored;
    const before = this.#state;
    this.#state = step(before, event);
    this.#freeUnsentChildren(before);
    this.#keys = null;
    this.#log.push(stored);
    this.deps.log.info("swap_event", { swap: this.uuid, type: event.type, ...eventFields(event) });
    this.deps.onEvent(this);
    this.#settleOutcome();
    this.#reconcile();
    this.wake("log");
  }

  /** What a child would have spent that the state has no more is free before anybody is told. */
  #freeUnsentChildren(before: SwapState): void {
    for (const slot of CHILD_SLOTS) {
      const tx = before.own[slot];
      if (!tx || this.#state.own[slot]) continue;
      for (const { raw } of versionsOf(tx)) this.coin(chainOf(before.terms.role, slot)).releaseInputs(fromHex(raw));
    }
  }

  /**
   * Stores the outcome when the facts decide it, and tries until it is stored, after pauses that double: each try reads the log again,
   * and a disk is full for many swaps at once. A log may end in between.
   */
  #settleOutcome(retryMs = RETRY_FIRST_MS): void {
    const outcome = this.#started ? outcomeOf(this.#state) : null;
    // A reorg beyond what counts as final may turn the end round: then the log says so too.
    if (!outcome || this.#state.finished === outcome) return;
    this.emit({ type: "finished", outcome }).catch((cause: unknown) => {
      if (cause instanceof Aborted) return;
      this.#storeFailed(cause);
      this.deps.clock.after(retryMs, () => this.#settleOutcome(Math.min(retryMs * 2, RETRY_LAST_MS)));
    });
  }

  #reconcile(): void {
    if (!this.#started || this.#stopped.signal.aborted) return;
    const wanted = new Map(duties(this.#state).map((d) => [dutyKey(d), d]));
    for (const [key, controller] of this.#running) {
      if (wanted.has(key)) continue;
      this.#running.delete(key);
      controller.abort(CALLED_OFF);
    }
    for (const [key, duty] of wanted) {
      if (this.#running.has(key)) continue;
      const controller = new AbortController();
      this.#running.set(key, controller);
      void this.#supervise(duty, controller.signal);
    }
  }

  /** Runs a duty for as long as the state demands it, whatever it throws. */
  async #supervise(duty: Duty, signal: AbortSignal): Promise<void> {
    let retryMs = RETRY_FIRST_MS;
    while (!signal.aborted) {
      const seen = this.seen("chain");
      try {
        await this.deps.runDuty(this, duty, signal);
        retryMs = RETRY_FIRST_MS;
        if (!signal.aborted) await this.news(seen, IDLE_RECHECK_MS, signal);
      } catch (cause) {
        if (signal.aborted) return;
        if (!(cause instanceof Aborted)) this.trouble(`${dutyKey(duty)}: ${reasonOf(cause)}`);
        try {
          await this.news(this.seen("anything"), retryMs, signal);
        } catch {
          return; // called off while pausing
        }
        retryMs = Math.min(retryMs * 2, RETRY_LAST_MS);
      }
    }
  }

  /** The same trouble, tried again and again, is logged once a minute. */
  trouble(what: string): void {
    const nowMs = this.deps.clock.nowMs();
    const isNews = what !== this.lastTrouble || nowMs - this.#troubleLoggedMs >= SAME_TROUBLE_MS;
    this.lastTrouble = what;
    if (!isNews) return;
    this.#troubleLoggedMs = nowMs;
    this.deps.log.warn("swap_trouble", { swap: this.uuid, what });
  }
  /** The last trouble, as the end of a reason. */
  get beforeThat(): string {
    return this.lastTrouble === null ? "" : `; before that: ${this.lastTrouble}`;
  }

  #storeFailed(cause: unknown): void {
    this.trouble(`the log could not be written: ${reasonOf(cause)}`);
  }
}

function eventFields(e: SwapEvent): Record<string, unknown> {
  const slot = "slot" in e ? { slot: e.slot satisfies Slot } : {};
  const txid = "txid" in e ? { txid: e.txid } : {};
  const failure = "failure" in e && e.failure ? { failure: e.failure } : {};
  const outcome = "outcome" in e ? { outcome: e.outcome } : {};
  const block = "block" in e && e.block ? { height: e.block.height } : {};
  return { ...slot, ...txid, ...failure, ...outcome, ...block };
}
