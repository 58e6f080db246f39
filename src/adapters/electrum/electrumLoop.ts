import { KnownStatus } from "../../chainIndex/chainStatus.ts";
import { ChangeListeners } from "../../chainIndex/changeListeners.ts";
import { RetryTimer } from "../../chainIndex/retryTimer.ts";
import { RoundWaiters } from "../../chainIndex/roundWaiters.ts";
import { StepLoop } from "../../chainIndex/stepLoop.ts";
import type { ChainChange, ChainStatus } from "../../ports/chain.ts";
import type { ChainDelta, ChainStore, WatchKey } from "../../ports/chainStore.ts";
import { Aborted } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { type LookFault, lookFaultSentence } from "./fault.ts";
import { NewsPace } from "./newsPace.ts";
import { type LookParts, ServerLook } from "./serverLook.ts";

/** What the loop of one chain is made of. */
export type LoopParts = LookParts & {
  readonly ticker: string;
  readonly store: ChainStore;
  readonly log: Log;
  readonly pollMs: number;
  /** The blocks above this height are on the chain no more. */
  readonly onRollback: (height: number) => void;
  readonly closing: AbortController;
};

/** Looks repeated at once because the chain moved under them, before it counts as a failure. */
const MAX_MOVES = 5;
/** Wait before the first new try after a failure, ms; doubles up to 30 s. */
const FIRST_RETRY_MS = 1_000;
/** All statuses are asked for again after this long, ms, though servers tell of changes: one may have forgotten to. */
const FRESH_MS = 300_000;
/** No watch shows as reading: servers answer for all blocks at once. */
const NONE_PENDING = [] as const;

/** The one loop of a chain: commands, and looks at the servers ("rounds"), one after another. Only the loop changes the index. */
export class ElectrumLoop {
  readonly #parts: LoopParts;
  readonly #loop: StepLoop;
  readonly #look: ServerLook;
  readonly #timer: RetryTimer;
  readonly #pace: NewsPace;
  readonly #news: ChangeListeners;
  readonly #status = new KnownStatus();
  readonly #waiters = new RoundWaiters();
  #wantsFresh = true;
  /** The last blocks are asked for. */
  #wantsTips = true;
  /** When all was asked for last. */
  #freshAtMs = 0;
  #moves = 0;
  #isUnfinished = false;
  #error: string | null = null;

  constructor(parts: LoopParts) {
    this.#parts = parts;
    this.#timer = new RetryTimer(parts.clock, FIRST_RETRY_MS, () => this.wake());
    this.#pace = new NewsPace(parts.clock, () => this.#timer.hurry());
    this.#news = new ChangeListeners(parts.log);
    this.#loop = new StepLoop({ ...parts, news: this.#news, fail: (sentence) => this.#fail(sentence) });
    this.#look = new ServerLook(parts, { news: this.#news, commit: (delta) => this.commit(delta) });
  }

  onChange(listener: (change: ChainChange) => void): () => void {
    return this.#news.add(listener);
  }

  wake(): void {
    this.#loop.wake();
  }

  /** A server came, left or told something. */
  hear(): void {
    this.#pace.hear();
  }

  /** Stores, then applies to the index; a rejection leaves both as they were. A daemon that is followed later is to read what servers told. */
  async commit(told: ChainDelta): Promise<void> {
    const delta = this.#parts.index.isTold ? told : { ...told, isTold: true };
    await this.#parts.store.commit(delta);
    this.#news.mark(this.#parts.index.apply(delta));
    const { reset, rollbackTo } = delta;
    if (reset === true || rollbackTo !== undefined) this.#parts.onRollback(reset === true ? -1 : (rollbackTo ?? -1));
  }

  /** Runs `work` inside the loop, between two rounds. */
  enqueue(work: () => Promise<void>): Promise<void> {
    return this.#loop.enqueue(work);
  }

  /** @param of absent: all that is followed */
  async refresh(signal?: AbortSignal, of?: readonly WatchKey[]): Promise<void> {
    if (this.#parts.closing.signal.aborted) throw new Aborted("closed");
    if (of === undefined) this.#wantsFresh = true;
    this.#wantsTips = true;
    for (const key of of ?? []) this.#askAnew(key);
    this.#timer.hurry();
    await this.#waiters.refreshed(signal);
  }

  async watch(key: WatchKey, fromHeight: number, signal?: AbortSignal): Promise<void> {
    const { index, views } = this.#parts;
    await this.enqueue(async () => {
      const known = index.watch(key);
      if (!known || known.fromHeight > fromHeight) await this.commit({ watches: [{ ...key, fromHeight, nextHeight: fromHeight }] });
      if (key.kind === "script") views.add(key.key, fromHeight);
      this.#askAnew(key);
    });
    this.#timer.hurry();
    await this.#waiters.covered(key, signal);
  }

  /** All others cost servers as much each, and who waits may do so again and again. */
  #askAnew({ kind, key }: WatchKey): void {
    const { views, watchedTxs } = this.#parts;
    const scriptHex = kind === "script" ? key : watchedTxs.scriptFor(key);
    if (scriptHex !== undefined) views.askAnew(scriptHex);
  }

  unwatch(keys: readonly WatchKey[]): Promise<void> {
    return this.enqueue(async () => {
      const { index, views, watchedTxs, pool } = this.#parts;
      const known = keys.filter((key) => index.watch(key) !== undefined);
      if (known.length > 0) await this.commit({ unwatch: known });
      for (const { kind, key } of known) {
        if (kind === "script") views.remove(key, pool.present());
        else watchedTxs.forget(key, pool.present());
      }
    });
  }

  status(): ChainStatus {
    return this.#status.of({
      tip: this.#parts.index.tip(),
      failure: this.#error,
      stuck: null,
      ...this.#look.status,
      pending: NONE_PENDING,
    });
  }

  /** Runs until closed. */
  async run(): Promise<void> {
    const { pool, index, views } = this.#parts;
    for (const w of index.watches()) if (w.kind === "script") views.add(w.key, w.fromHeight);
    pool.tend();
    await this.#loop.run(() => this.#step());
    this.#timer.stop();
    this.#pace.stop();
    this.#waiters.close();
  }

  /** One step; false when there is nothing to do until something wakes the loop. */
  async #step(): Promise<boolean> {
    if (!this.#parts.pool.isGathered || !(this.#moves > 0 || this.#isUnfinished || this.#timer.take())) return false;
    this.#waiters.begin();
    this.#pace.seen();
    const nowMs = this.#parts.clock.nowMs();
    const isDue = Math.abs(nowMs - this.#freshAtMs) >= FRESH_MS;
    const fresh = isDue ? "all" : this.#wantsFresh ? "awaited" : this.#wantsTips ? "tips" : "nothing";
    const wantedFresh = this.#wantsFresh;
    this.#wantsFresh = false;
    this.#wantsTips = false;
    this.#isUnfinished = false;
    const look = await this.#look.run(fresh);
    // What was told anew is worked off at the next look: whoever waited until now need not have it told once more.
    const isTold = look.ok || (look.error.kind === "unfinished" && look.error.hasAsked);
    if (isTold && isDue) this.#freshAtMs = nowMs;
    if (!look.ok && fresh !== "nothing") this.#wantsTips = true;
    if (!isTold && (isDue || wantedFresh)) this.#wantsFresh = true;
    if (look.ok) this.#succeed();
    else this.#take(look.error);
    return true;
  }

  #succeed(): void {
    this.#moves = 0;
    this.#answered();
    for (const server of this.#parts.pool.present()) server.forgive();
    this.#timer.succeeded(this.#parts.pollMs);
    // Whoever is told that the view is fresh must find the others told of it too.
    this.#news.announce();
    this.#waiters.succeeded((key) => this.#parts.index.watch(key));
  }

  /** Enough servers are there, and told what they were asked. */
  #answered(): void {
    if (this.#error !== null) {
      this.#parts.log.info("servers_back");
      this.#news.mark();
    }
    this.#error = null;
  }

  #take(fault: LookFault): void {
    this.#isUnfinished = fault.kind === "unfinished";
    if (fault.kind === "unfinished") {
      if (fault.hasAsked) this.#answered();
      return;
    }
    if ((fault.kind === "moved" || fault.kind === "unproven") && ++this.#moves < MAX_MOVES) return;
    this.#fail(lookFaultSentence(this.#parts.ticker, fault), fault);
  }

  #fail(sentence: string, fault?: LookFault): void {
    this.#moves = 0;
    this.#parts.pool.widen();
    this.#look.stop();
    if (this.#error !== sentence) {
      this.#parts.log.warn("servers_failed", { fault: fault?.kind ?? "internal", error: sentence });
      this.#news.mark();
    }
    this.#error = sentence;
    this.#timer.failed();
    // The wait begins anew, and news from here on shorten it.
    this.#pace.seen();
  }
}
