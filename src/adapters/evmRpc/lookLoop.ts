import { reasonOf } from "../../core/util/reasonOf.ts";
import type { AccountChainStatus } from "../../ports/accountChain.ts";
import type { ChainChange } from "../../ports/chain.ts";
import { Aborted, type Clock, steadyClock, withDeadline } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { ChainLook, LookResult } from "./chainLook.ts";
import { type ChainView, viewChange } from "./chainView.ts";
import { type LookFault, lookFaultText } from "./fault.ts";
import type { NodePool } from "./nodePool.ts";

/** Nodes, and what was read from them. */
export type LookSource = { readonly pool: Pick<NodePool, "health" | "aloneText" | "hastyText">; readonly look: Pick<ChainLook, "take"> };

export type LookLoopDeps = LookSource & {
  readonly ticker: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Time between looks while nothing hurries, ms. */
  readonly pollMs: number;
  /** Least time between looks, ms, however often heads arrive. */
  readonly leastMs: number;
};

/** Looks repeated at once because the chain moved under them, before it counts as a failure. */
const MAX_MOVES = 5;
/** Longest wait after a failed look. */
const MAX_BACKOFF_MS = 30_000;
/** A look that takes longer is given up; every request in it has a deadline of its own. */
const LOOK_MS = 120_000;

type Waiter = { readonly after: number; readonly settle: (error: Error | null) => void };

/** Takes looks, one after the other, and tells who listens or waits. */
export class LookLoop {
  readonly #deps: LookLoopDeps;
  /** Of pauses and ages: a wall clock that is set back makes none longer. */
  readonly #clock: Clock;
  readonly #closing = new AbortController();
  readonly #listeners = new Set<(change: ChainChange) => void>();
  readonly #waiters = new Set<Waiter>();
  #source: LookSource & { readonly left: AbortController };
  #view: ChainView | null = null;
  #error: string | null = null;
  #trouble: string | null = null;
  #looks = 0;
  #failures = 0;
  #hurried = false;
  #lastMs = Number.NEGATIVE_INFINITY;
  #succeededMs = Number.NEGATIVE_INFINITY;
  /** Since when the present nodes have been looked at. */
  #openedMs: number;
  #wake: () => void = () => undefined;

  constructor(deps: LookLoopDeps) {
    this.#deps = deps;
    this.#clock = steadyClock(deps.clock);
    this.#source = { pool: deps.pool, look: deps.look, left: new AbortController() };
    this.#openedMs = this.#clock.nowMs();
  }

  /**
   * Goes on with other nodes. Nothing that the ones before still say counts, and until a look at the new ones has made the view anew
   * the chain is unreachable.
   */
  exchange({ pool, look }: LookSource): void {
    const { left } = this.#source;
    this.#source = { pool, look, left: new AbortController() };
    left.abort(new Aborted("other nodes are used now"));
    this.#failures = 0;
    this.#succeededMs = Number.NEGATIVE_INFINITY;
    this.#openedMs = this.#clock.nowMs();
    this.#error = `The ${this.#deps.ticker} nodes were exchanged, and the new ones have not answered yet.`;
    this.#trouble = null;
    this.#announce({ all: true, keys: new Set() });
    this.hurry();
  }

  get view(): ChainView | null {
    return this.#view;
  }
  /** Since the last look that succeeded; infinite before the first. */
  get ageMs(): number {
    return this.#clock.nowMs() - this.#succeededMs;
  }
  /** How long the present nodes have shown nothing that counts. */
  get shortMs(): number {
    return this.#clock.nowMs() - Math.max(this.#succeededMs, this.#openedMs);
  }
  get signal(): AbortSignal {
    return this.#closing.signal;
  }

  status(): AccountChainStatus {
    const tip = this.#view?.tip ?? null;
    const state = this.#error !== null ? "unreachable" : tip === null ? "starting" : "ready";
    const { pool } = this.#source;
    const { ticker } = this.#deps;
    const [alone, hasty] = this.#error === null ? [pool.aloneText(ticker), pool.hastyText(ticker)] : [null, null];
    return { state, tip, progress: null, error: this.#error ?? this.#trouble ?? alone, nodes: pool.health(), alone, hasty };
  }

  /** The same function may be added twice; each has its own unsubscriber. */
  onChange(listener: (change: ChainChange) => void): () => void {
    const entry = (change: ChainChange): void => listener(change);
    this.#listeners.add(entry);
    return () => void this.#listeners.delete(entry);
  }

  /** There is news of these keys that no look brought. */
  tell(keys: ReadonlySet<string>): void {
    this.#announce({ all: false, keys });
  }

  /** Asks for a look soon. */
  hurry(): void {
    this.#hurried = true;
    this.#wake();
  }

  /** Resolves after a successful look that began after this call. Rejects with `Aborted` by its signal or when closed. */
  fresh(signal?: AbortSignal): Promise<void> {
    if (this.signal.aborted || signal?.aborted) return Promise.reject(new Aborted(this.signal.aborted ? "closed" : "aborted"));
    return new Promise((resolve, reject) => {
      const settle = (error: Error | null): void => {
        this.#waiters.delete(waiter);
        signal?.removeEventListener("abort", onAbort);
        if (error === null) resolve();
        else reject(error);
      };
      const onAbort = (): void => settle(new Aborted());
      const waiter: Waiter = { after: this.#looks, settle };
      this.#waiters.add(waiter);
      signal?.addEventListener("abort", onAbort, { once: true });
      this.hurry();
    });
  }

  close(): void {
    this.#closing.abort(new Aborted("closed"));
    this.#wake();
  }

  /** Runs until closed. */
  async run(): Promise<void> {
    while (!this.signal.aborted) {
      await this.#pause(this.#waitMs());
      if (this.signal.aborted) break;
      await this.#one();
    }
    for (const waiter of [...this.#waiters]) waiter.settle(new Aborted("closed"));
  }

  /** How long until the next look: soon when hurried, but not before the last one is `leastMs` old, and later after failures. */
  #waitMs(): number {
    const { pollMs, leastMs } = this.#deps;
    const backoff = this.#failures === 0 ? 0 : Math.min(MAX_BACKOFF_MS, leastMs * 2 ** Math.min(this.#failures - 1, 10));
    const least = Math.max(leastMs, this.#hurried ? Math.min(backoff, pollMs) : backoff);
    const wanted = this.#hurried ? 0 : this.#failures === 0 ? pollMs : backoff;
    return Math.max(0, this.#lastMs + Math.max(least, wanted) - this.#clock.nowMs());
  }

  /** Waits, and a hurry shortens the wait. */
  async #pause(ms: number): Promise<void> {
    let left = ms;
    while (left > 0 && !this.signal.aborted) {
      await new Promise<void>((resolve) => {
        const done = (): void => {
          cancel();
          this.#wake = () => undefined;
          resolve();
        };
        const cancel = this.#clock.after(left, done);
        this.#wake = done;
      });
      left = this.#waitMs();
    }
  }

  async #one(): Promise<void> {
    const { log } = this.#deps;
    const clock = this.#clock;
    const source = this.#source;
    const parents = [this.signal, source.left.signal];
    this.#hurried = false;
    this.#looks++;
    const at = this.#looks;
    try {
      let taken = await withDeadline(clock, LOOK_MS, parents, (signal) => source.look.take(signal));
      for (let moves = 1; moves < MAX_MOVES && !taken.ok && taken.error.kind === "moved"; moves++)
        taken = await withDeadline(clock, LOOK_MS, parents, (signal) => source.look.take(signal));
      if (source !== this.#source) return;
      if (taken.ok) this.#succeed(taken.value, at);
      else this.#fail(taken.error);
    } catch (cause) {
      if (this.signal.aborted || source !== this.#source) return;
      if (cause instanceof Aborted) this.#fail({ kind: "no_nodes", troubles: [`no whole look within ${LOOK_MS / 1000} s`] });
      else {
        const text = reasonOf(cause);
        log.error("account_chain_failed", { cause: text });
        this.#fail({ kind: "no_nodes", troubles: [`this node could not read them: ${text}`] });
      }
    } finally {
      this.#lastMs = clock.nowMs();
    }
  }

  #succeed({ view, trouble }: LookResult, at: number): void {
    const { log } = this.#deps;
    const change = viewChange(this.#view, view);
    const recovered = this.#error !== null || this.#trouble !== trouble;
    if (this.#error !== null) log.info("nodes_back");
    if (trouble !== null && trouble !== this.#trouble) log.warn("chain_trouble", { trouble });
    this.#view = view;
    this.#error = null;
    this.#trouble = trouble;
    this.#failures = 0;
    this.#succeededMs = this.#clock.nowMs();
    // Whoever is told that the view is fresh must find the others told of it too.
    this.#announce(recovered ? { all: true, keys: change.keys } : change);
    for (const waiter of [...this.#waiters]) if (waiter.after < at) waiter.settle(null);
  }

  #fail(fault: LookFault): void {
    const { ticker, log } = this.#deps;
    const sentence = lookFaultText(ticker, fault);
    this.#failures++;
    const isNews = this.#error !== sentence;
    this.#error = sentence;
    if (!isNews) return;
    log.warn("nodes_failed", { fault: fault.kind, error: sentence });
    this.#announce({ all: true, keys: new Set() });
  }

  /** One listener's mistake is logged and does not keep the news from the others. */
  #announce(change: ChainChange): void {
    if (!change.all && change.keys.size === 0) return;
    for (const listener of [...this.#listeners]) {
      try {
        listener(change);
      } catch (cause) {
        this.#deps.log.error("chain_listener_failed", { cause: reasonOf(cause) });
      }
    }
  }
}
