import type { ChainIndex } from "../../chainIndex/chainIndex.ts";
import { chainStatus } from "../../chainIndex/chainStatus.ts";
import { ChangeListeners } from "../../chainIndex/changeListeners.ts";
import { RetryTimer } from "../../chainIndex/retryTimer.ts";
import { Waiters } from "../../chainIndex/waiters.ts";
import { err, ok } from "../../core/util/result.ts";
import type { ChainChange, ChainStatus } from "../../ports/chain.ts";
import type { ChainDelta, ChainStore, StoredHeader, WatchKey } from "../../ports/chainStore.ts";
import { Aborted, type Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { type Look, type LookFault, lookFaultSentence } from "./fault.ts";
import type { FeeRates } from "./feeRates.ts";
import type { HeaderFollower, HeaderPlan } from "./headerFollower.ts";
import type { HistoryWork } from "./historyWork.ts";
import type { MissingTxs } from "./missingTxs.ts";
import type { Notarizations } from "./notarizations.ts";
import type { Omissions } from "./omissions.ts";
import type { RemoteServer } from "./remoteServer.ts";
import type { RewardReader } from "./rewardReader.ts";
import type { ScriptViews, Tracked } from "./scriptViews.ts";
import { majorityOf, type ServerPool } from "./serverPool.ts";
import type { WatchedTxs } from "./watchedTxs.ts";

/** What the loop of one chain is made of. */
export type LoopParts = {
  readonly ticker: string;
  readonly pool: ServerPool;
  readonly follower: HeaderFollower;
  readonly views: ScriptViews;
  readonly work: HistoryWork;
  readonly watchedTxs: WatchedTxs;
  readonly missing: MissingTxs;
  readonly omissions: Omissions;
  readonly notarizations: Notarizations;
  readonly fees: FeeRates;
  /** Null: nobody asks what blocks pay. */
  readonly rewards: RewardReader | null;
  readonly index: ChainIndex;
  readonly store: ChainStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly pollMs: number;
  readonly closing: AbortController;
};

/** Looks repeated at once because the chain moved under them, before it counts as a failure. */
const MAX_MOVES = 5;
/** Wait before the first new try after a failure, ms; doubles up to 30 s. */
const FIRST_RETRY_MS = 1_000;
/** Statuses are asked for again after this long, ms, though servers tell of changes: one may have forgotten to. */
const FRESH_MS = 300_000;
/** After so long a look stops where it is, ms: what waits between looks has its turn, and the next one goes on with what is new by then. */
const LOOK_MS = 60_000;
/** Headers kept: reorganisations up to this depth are followed; a deeper one reads everything again. */
const HEADER_WINDOW = 400;

type Command = { readonly run: () => Promise<void>; readonly settle: (error: unknown) => void };

/**
 * The one loop of a chain: commands, and looks at the servers ("rounds": headers, then histories, then what is missing), one after
 * another. Only the loop changes the index.
 */
export class ElectrumLoop {
  readonly #parts: LoopParts;
  readonly #timer: RetryTimer;
  readonly #news: ChangeListeners;
  readonly #inbox: Command[] = [];
  readonly #refreshes = new Waiters<number>();
  readonly #watches = new Waiters<{ readonly key: WatchKey; readonly after: number }>();
  /** Rounds begun. */
  #rounds = 0;
  #wantsFresh = true;
  #freshAtMs = 0;
  #moves = 0;
  #isUnfinished = false;
  #lookUntilMs = 0;
  #reached = false;
  #following: { readonly from: number | null; readonly to: number } | null = null;
  #error: string | null = null;
  #wake: () => void = () => undefined;
  #woken = false;

  constructor(parts: LoopParts) {
    this.#parts = parts;
    this.#timer = new RetryTimer(parts.clock, FIRST_RETRY_MS, () => this.wake());
    this.#news = new ChangeListeners(parts.log);
  }

  onChange(listener: (change: ChainChange) => void): () => void {
    return this.#news.add(listener);
  }

  wake(): void {
    this.#woken = true;
    this.#wake();
  }

  /** A server came, left or told something. */
  hear(): void {
    this.#timer.hurry();
  }

  /** Stores, then applies to the index; a rejection leaves both as they were. */
  async commit(delta: ChainDelta): Promise<void> {
    await this.#parts.store.commit(delta);
    this.#news.mark(this.#parts.index.apply(delta));
  }

  /** Runs `work` inside the loop, between two rounds. */
  enqueue(work: () => Promise<void>): Promise<void> {
    if (this.#parts.closing.signal.aborted) return Promise.reject(new Aborted("closed"));
    return new Promise((resolve, reject) => {
      this.#inbox.push({ run: work, settle: (error) => (error === null ? resolve() : reject(error)) });
      this.wake();
    });
  }

  async refresh(signal?: AbortSignal): Promise<void> {
    if (this.#parts.closing.signal.aborted) throw new Aborted("closed");
    this.#wantsFresh = true;
    this.#timer.hurry();
    await this.#refreshes.wait(this.#rounds, signal);
  }

  async watch(key: WatchKey, fromHeight: number, signal?: AbortSignal): Promise<void> {
    await this.enqueue(async () => {
      const known = this.#parts.index.watch(key);
      if (!known || known.fromHeight > fromHeight) await this.commit({ watches: [{ ...key, fromHeight, nextHeight: fromHeight }] });
      if (key.kind === "script") this.#parts.views.add(key.key, fromHeight);
    });
    this.#wantsFresh = true;
    this.#timer.hurry();
    await this.#watches.wait({ key, after: this.#rounds }, signal);
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
    return chainStatus({
      tip: this.#parts.index.tip(),
      failure: this.#error,
      stuck: null,
      reached: this.#reached,
      following: this.#following,
      pending: [],
    });
  }

  /** Runs until closed. */
  async run(): Promise<void> {
    const { log, closing, pool, ticker, index, views } = this.#parts;
    const { signal } = closing;
    for (const w of index.watches()) if (w.kind === "script") views.add(w.key, w.fromHeight);
    pool.tend();
    while (!signal.aborted) {
      this.#woken = false;
      try {
        const busy = await this.#step();
        this.#news.announce();
        if (!busy && !this.#woken && !signal.aborted) await this.#pause();
      } catch (cause) {
        if (signal.aborted) break;
        const text = cause instanceof Error ? cause.message : String(cause);
        log.error("chain_index_failed", { cause: text });
        this.#fail(`This node could not keep its ${ticker} index: ${text}.`);
        this.#news.announce();
      }
    }
    this.#timer.stop();
    const closed = new Aborted("closed");
    for (const command of this.#inbox.splice(0)) command.settle(closed);
    this.#refreshes.settle(() => closed);
    this.#watches.settle(() => closed);
  }

  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = () => undefined;
        resolve();
      };
    });
  }

  /** One step; false when there is nothing to do until something wakes the loop. */
  async #step(): Promise<boolean> {
    const commands = this.#inbox.splice(0);
    for (const command of commands) {
      await command.run().then(
        () => command.settle(null),
        (cause: unknown) => command.settle(cause),
      );
    }
    if (!this.#parts.pool.isGathered || !(this.#moves > 0 || this.#isUnfinished || this.#timer.take())) return commands.length > 0;
    this.#rounds++;
    const nowMs = this.#parts.clock.nowMs();
    const fresh = this.#wantsFresh || Math.abs(nowMs - this.#freshAtMs) >= FRESH_MS;
    this.#wantsFresh = false;
    this.#isUnfinished = false;
    this.#lookUntilMs = nowMs + LOOK_MS;
    const look = await this.#round(fresh);
    if (look.ok && fresh) this.#freshAtMs = nowMs;
    if (!look.ok && fresh) this.#wantsFresh = true;
    if (look.ok) this.#succeed();
    else this.#take(look.error);
    return true;
  }

  async #round(fresh: boolean): Promise<Look<undefined>> {
    const { pool, index, views, watchedTxs, missing, omissions, notarizations, fees, rewards, follower, clock } = this.#parts;
    const asked = pool.present();
    // The slow ones are asked too, and may become quicker; nobody waits for them.
    for (const server of pool.connected()) if (!asked.includes(server)) void server.askTip();
    if (fresh) await Promise.all(asked.map((s) => s.askTip()));
    const headers = await this.#followHeaders();
    if (!headers.ok) return headers;
    const { plan, delta } = headers.value;
    const followed = plan.headers.at(-1)?.hash ?? index.headerAt(plan.height)?.hash;
    if (pool.present().some((s) => s.tip !== null && s.tip.header.hash !== followed)) pool.widen();
    const nowMs = clock.nowMs();
    const txWatches = index.watches().filter((w) => w.kind === "tx");
    const found = await watchedTxs.look(txWatches, pool.present(), nowMs);
    await views.look(pool.present(), fresh);
    const servers = pool.present();
    if (servers.length < Math.max(1, pool.minConnected)) return err(this.#nobody());
    const moved = plan.fork !== null && plan.fork < (index.tipHeader?.height ?? 0);
    const open = views.all().filter((t) => t.changed || moved);
    const worked = await this.#workOff(open, plan, servers, { ...delta, ...found });
    follower.adopt(plan);
    if (!worked.ok) return worked;
    if (plan.height < plan.target) return err({ kind: "moved" });
    const gone = await missing.gone(pool.present(), nowMs);
    if (gone.length > 0) await this.commit({ gone });
    if (fresh) await omissions.look(views.all());
    const covered = await this.#cover();
    if (!covered.ok) return covered;
    if (await fees.refresh(pool.present(), nowMs)) this.#news.mark();
    if (await notarizations.refresh(pool.present(), nowMs)) this.#news.mark();
    const tip = follower.known(plan.height, plan);
    if (rewards !== null && tip !== null) await rewards.read(plan.height, tip, pool.present());
    return ok(undefined);
  }

  async #workOff(
    open: readonly Tracked[],
    plan: HeaderPlan,
    servers: readonly RemoteServer[],
    before: ChainDelta,
  ): Promise<Look<undefined>> {
    for (const tracked of open) tracked.changed = false;
    try {
      return await this.#parts.work.run(open, plan, servers, before, () => this.#isLate);
    } catch (cause) {
      // Nothing of it is stored, or not all: it is to be worked off again.
      for (const tracked of open) tracked.changed = true;
      throw cause;
    }
  }

  get #isLate(): boolean {
    return this.#parts.clock.nowMs() >= this.#lookUntilMs;
  }

  #nobody(): LookFault {
    const { pool } = this.#parts;
    return { kind: "no_servers", have: pool.present().length, need: pool.minConnected, troubles: pool.troubles() };
  }

  /** What is to become of our headers. Long ways are written on the way; the last step waits for what its blocks bring. */
  async #followHeaders(): Promise<Look<{ readonly plan: HeaderPlan; readonly delta: ChainDelta }>> {
    const { pool, follower, index } = this.#parts;
    const startTip = index.tipHeader?.height ?? null;
    for (;;) {
      const servers = pool.present();
      if (servers.length < Math.max(1, pool.minConnected)) return err(this.#nobody());
      this.#reached = true;
      const plan = await follower.plan(servers);
      if (!plan.ok) return plan;
      const delta = this.#deltaOf(plan.value);
      const isWhole = plan.value.fork !== null && plan.value.height === plan.value.target;
      this.#follow(isWhole ? null : { from: startTip, to: plan.value.target });
      if (isWhole) return ok({ plan: plan.value, delta });
      // A chain that begins anew forgets first: what is made of histories must not lean on what goes.
      await this.commit(delta);
      if (plan.value.fork === null) this.#parts.views.restart();
      follower.adopt(plan.value);
      this.#news.announce();
      if (this.#isLate) return err({ kind: "unfinished" });
    }
  }

  #follow(following: { readonly from: number | null; readonly to: number } | null): void {
    if (this.#following?.to !== following?.to) this.#news.mark();
    this.#following = following;
  }

  #deltaOf({ fork, headers, height }: HeaderPlan): ChainDelta {
    const { index } = this.#parts;
    const own = index.tipHeader?.height;
    const first = height - headers.length + 1;
    const stored = headers.map(({ hash, prevHash, timeSec }, i): StoredHeader => ({ height: first + i, hash, prevHash, timeSec }));
    if (fork === null) return { reset: own !== undefined, headers: stored };
    const back = own !== undefined && fork < own ? { rollbackTo: fork, gone: index.coinbasesAbove(fork) } : {};
    return stored.length === 0 ? back : { ...back, headers: stored, dropHeadersBelow: height - HEADER_WINDOW };
  }

  /** Watches whose past most servers have told and nothing of it is open. */
  async #cover(): Promise<Look<undefined>> {
    const { pool, index, views, watchedTxs } = this.#parts;
    const servers = pool.present();
    const need = majorityOf(servers.length);
    let refused: LookFault | null = null;
    const covered = index.pendingWatches().filter((w) => {
      if (w.kind === "tx") return watchedTxs.isAnswered(w.key);
      const told = [...(views.get(w.key)?.views ?? [])].filter(([server]) => servers.includes(server));
      const refusal = told.find(([, v]) => v.refusal !== null);
      if (told.filter(([, v]) => v.refusal === null).length >= need) return true;
      if (refusal) refused = { kind: "missing", what: "the history of a script", why: `${refusal[0].name}: ${refusal[1].refusal}` };
      return false;
    });
    if (covered.length > 0) await this.commit({ watches: covered.map((w) => ({ ...w, nextHeight: null })) });
    return refused === null ? ok(undefined) : err(refused);
  }

  #succeed(): void {
    this.#moves = 0;
    if (this.#error !== null) {
      this.#parts.log.info("servers_back");
      this.#news.mark();
    }
    this.#error = null;
    for (const server of this.#parts.pool.present()) server.forgive();
    this.#timer.succeeded(this.#parts.pollMs);
    // Whoever is told that the view is fresh must find the others told of it too.
    this.#news.announce();
    this.#refreshes.settle((after) => (this.#rounds > after ? null : undefined));
    this.#watches.settle(({ key, after }) => {
      const known = this.#parts.index.watch(key);
      if (known === undefined) return new Aborted("no longer watched");
      return known.nextHeight === null && this.#rounds > after ? null : undefined;
    });
  }

  #take(fault: LookFault): void {
    this.#isUnfinished = fault.kind === "unfinished";
    if (this.#isUnfinished) return;
    if (fault.kind === "moved" && ++this.#moves < MAX_MOVES) return;
    this.#fail(lookFaultSentence(this.#parts.ticker, fault), fault);
  }

  #fail(sentence: string, fault?: LookFault): void {
    this.#moves = 0;
    this.#parts.pool.widen();
    this.#follow(null);
    if (this.#error !== sentence) {
      this.#parts.log.warn("servers_failed", { fault: fault?.kind ?? "internal", error: sentence });
      this.#news.mark();
    }
    this.#error = sentence;
    this.#timer.failed();
  }
}
