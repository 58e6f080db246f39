import { BlockRewards } from "../../chainIndex/blockRewards.ts";
import type { ChainIndex } from "../../chainIndex/chainIndex.ts";
import { KnownStatus } from "../../chainIndex/chainStatus.ts";
import { ChangeListeners } from "../../chainIndex/changeListeners.ts";
import { ProgressReport } from "../../chainIndex/progressReport.ts";
import { RetryTimer } from "../../chainIndex/retryTimer.ts";
import { RoundWaiters } from "../../chainIndex/roundWaiters.ts";
import { StepLoop } from "../../chainIndex/stepLoop.ts";
import { err, ok } from "../../core/util/result.ts";
import type { TxFormat } from "../../core/utxo/txCodec.ts";
import { BlockGone, type ChainChange, type ChainStatus } from "../../ports/chain.ts";
import type { ChainDelta, ChainStore, StoredWatch, WatchKey } from "../../ports/chainStore.ts";
import { Aborted, type Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { backfillStep } from "./backfill.ts";
import { BlockReader } from "./blockReader.ts";
import { BlockSync } from "./blockSync.ts";
import type { Answer, DaemonCalls } from "./daemonCalls.ts";
import { type ChainFault, faultSentence } from "./fault.ts";
import type { FeeRates } from "./feeRates.ts";
import { FirstScans } from "./firstScans.ts";
import { MempoolWatch } from "./mempoolWatch.ts";
import { PrunedBlocks } from "./prunedBlocks.ts";
import type { SyncContext } from "./syncContext.ts";
import { ToldBlocks } from "./toldBlocks.ts";
import type { UtxoRpcOptions } from "./utxoRpcOptions.ts";

export type SyncLoopDeps = {
  readonly ticker: string;
  readonly format: TxFormat;
  readonly calls: DaemonCalls;
  readonly fees: FeeRates;
  readonly index: ChainIndex;
  readonly store: ChainStore;
  readonly clock: Clock;
  readonly log: Log;
  readonly options: UtxoRpcOptions;
  readonly genesis: string | null;
  readonly closing: AbortController;
};

/** Looks repeated at once because the chain moved under them, before it counts as a failure. */
const MAX_MOVES = 5;
/** Looks at a mempool of n transactions are at least n / 10 ms apart. */
const MEMPOOL_TXS_PER_MS = 10;
/** Wait between looks while mempool transactions are left to fetch. */
const BACKLOG_POLL_MS = 200;
/** Wait between looks for a block that the daemon fetches from a peer. */
const FETCHING_MS = 2_000;

type Round = { readonly startTip: number | null };

const idOf = (key: WatchKey): string => `${key.kind}:${key.key}`;

/**
 * The one loop of a chain: commands, looks at the daemon ("rounds": follow the best chain to its tip, then the
 * mempool) and old blocks for new watches, one bounded step after another. Only the loop changes the index.
 */
export class SyncLoop {
  readonly #deps: SyncLoopDeps;
  readonly #ctx: SyncContext;
  readonly #sync: BlockSync;
  readonly #mempool: MempoolWatch;
  readonly #scans: FirstScans;
  readonly #told: ToldBlocks;
  readonly #timer: RetryTimer;
  readonly #loop: StepLoop;
  readonly #waiters = new RoundWaiters();
  readonly #news: ChangeListeners;
  readonly #status = new KnownStatus();
  readonly #stuck = new Map<string, ChainFault & { kind: "block_gone" }>();
  /** Watches that wait for a block the daemon fetches again. */
  readonly #fetching = new Set<string>();
  #cancelFetching: () => void = () => undefined;
  #round: Round | null = null;
  #target: number | null = null;
  /** A round has ended and watches want old blocks: they get a step before the next, however soon new watches ask for that. */
  #owesOldBlocks = false;
  #moves = 0;
  #reached = false;
  #triedReward = false;
  #error: string | null = null;

  constructor(deps: SyncLoopDeps) {
    this.#deps = deps;
    const { index, store, calls, format, clock, log, options } = deps;
    this.#news = new ChangeListeners(log);
    this.#loop = new StepLoop({ ...deps, news: this.#news, fail: (sentence) => this.#fail(sentence) });
    this.#ctx = {
      calls,
      reader: new BlockReader(calls, new PrunedBlocks(calls, clock), format),
      rewards: new BlockRewards(),
      index,
      store,
      clock,
      log,
      commit: async (delta: ChainDelta) => {
        await store.commit(delta);
        this.#news.mark(index.apply(delta));
      },
      outputsFound: (keys) => this.#mempool.recheck(keys),
    };
    this.#sync = new BlockSync(this.#ctx, store, deps.genesis);
    this.#mempool = new MempoolWatch(this.#ctx, format, options.mempoolPerRound ?? 500);
    this.#scans = new FirstScans(this.#ctx, { format, decimals: options.decimals ?? 8, readWholeUpTo: options.readWholeUpTo ?? 2000 }, () =>
      this.wake(),
    );
    this.#told = new ToldBlocks(this.#ctx);
    this.#timer = new RetryTimer(clock, options.pollMs ?? 1000, () => this.wake());
  }

  onChange(listener: (change: ChainChange) => void): () => void {
    return this.#news.add(listener);
  }

  wake(): void {
    this.#loop.wake();
  }

  /** Runs `work` inside the loop, between two steps. */
  enqueue(work: (ctx: SyncContext) => Promise<void>): Promise<void> {
    return this.#loop.enqueue(() => work(this.#ctx));
  }

  async refresh(signal?: AbortSignal): Promise<void> {
    if (this.#deps.closing.signal.aborted) throw new Aborted("closed");
    this.#timer.hurry();
    await this.#waiters.refreshed(signal);
  }

  async watch(key: WatchKey, fromHeight: number, signal?: AbortSignal): Promise<void> {
    await this.enqueue(async ({ index, commit }) => {
      this.#stuck.delete(idOf(key));
      const known = index.watch(key);
      if (known && known.fromHeight <= fromHeight) return;
      await commit({ watches: [{ ...key, fromHeight, nextHeight: fromHeight }] });
      this.#mempool.recheck([key.key]);
    });
    this.#timer.hurry();
    await this.#waiters.covered(key, signal);
  }

  unwatch(keys: readonly WatchKey[]): Promise<void> {
    return this.enqueue(async ({ index, commit }) => {
      const known = keys.filter((key) => index.watch(key) !== undefined);
      for (const key of known) this.#stuck.delete(idOf(key));
      if (known.length > 0) await commit({ unwatch: known });
    });
  }

  status(): ChainStatus {
    const { ticker, index } = this.#deps;
    const stuck = [...this.#stuck.values()][0];
    return this.#status.of({
      tip: index.tip(),
      failure: this.#error,
      stuck: stuck ? faultSentence(ticker, stuck) : null,
      reached: this.#reached,
      following: this.#target === null ? null : { from: this.#round?.startTip ?? null, to: this.#target },
      pending: this.#pending(),
    });
  }

  /** Base units; see `UtxoChain.blockRewardUnits`. */
  get blockReward(): bigint | null {
    return this.#ctx.rewards.median;
  }

  /** Reads the tip's block once for its reward. Without it the reward is unknown until the next block; nothing waits for it. */
  async #firstReward(): Promise<void> {
    const tip = this.#deps.index.tipHeader;
    if (this.#triedReward || !this.#deps.options.readsReward || tip === undefined) return;
    this.#triedReward = true;
    const { reader, rewards, log } = this.#ctx;
    if (!rewards.isEmpty) return;
    const read = await reader.read(tip.height, 1, () => tip.hash);
    if (read.ok) rewards.note(read.value);
    else log.info("block_reward_unknown", { fault: read.error.kind });
  }

  #pending(): readonly StoredWatch[] {
    const pending = this.#deps.index.pendingWatches();
    return this.#stuck.size === 0 ? pending : pending.filter((w) => !this.#stuck.has(idOf(w)));
  }

  /** Of those pending, what does not wait for a block that is fetched again. */
  #readable(): readonly StoredWatch[] {
    const pending = this.#pending();
    return this.#fetching.size === 0 ? pending : pending.filter((w) => !this.#fetching.has(idOf(w)));
  }

  /** Runs until closed. */
  async run(): Promise<void> {
    const { clock, log } = this.#deps;
    const report = new ProgressReport(clock, log);
    await this.#loop.run(
      () => this.#step(),
      () => report.note(this.status().progress),
    );
    this.#timer.stop();
    this.#cancelFetching();
    this.#scans.stop();
    this.#waiters.close();
  }

  /** One step; false when there is nothing to do until something wakes the loop. */
  async #step(): Promise<boolean> {
    if (this.#round === null && !this.#owesOldBlocks && this.#timer.take()) {
      this.#waiters.begin();
      this.#round = { startTip: this.#deps.index.tipHeader?.height ?? null };
    }
    if (this.#round !== null) {
      this.#take(await this.#roundStep());
      return true;
    }
    const owed = this.#owesOldBlocks;
    this.#owesOldBlocks = false;
    if (this.#timer.failing || this.#deps.index.tipHeader === undefined) return owed;
    return (await this.#oldBlocks()) || owed;
  }

  /** Follows to the tip, then looks at the mempool: the end of the round. */
  async #roundStep(): Promise<Answer<undefined>> {
    const { index, fees, clock } = this.#deps;
    await this.#told.begin();
    const followed = await this.#sync.step();
    if (!followed.ok) return followed;
    this.#reached = true;
    const target = followed.value.atTip ? null : followed.value.target;
    if (this.#target !== target) this.#news.mark();
    this.#target = target;
    if (target !== null) return ok(undefined);
    await this.#told.end(this.#pending());
    const pool = await this.#mempool.round();
    if (!pool.ok) return pool;
    const rates = await fees.refresh(index.tipHeader?.hash ?? "", clock.nowMs(), (height) => index.headerAt(height)?.hash);
    if (!rates.ok) return rates;
    if (rates.value) this.#news.mark();
    await this.#firstReward();
    const { size, waiting } = pool.value;
    this.#succeed(waiting > 0 ? BACKLOG_POLL_MS : size / MEMPOOL_TXS_PER_MS);
    return ok(undefined);
  }

  #succeed(atLeastMs: number): void {
    this.#round = null;
    this.#owesOldBlocks = this.#pending().length > 0;
    this.#moves = 0;
    if (this.#error !== null) {
      this.#deps.log.info("daemon_back");
      this.#news.mark();
    }
    this.#error = null;
    this.#timer.succeeded(atLeastMs);
    // Whoever is told that the view is fresh must find the others told of it too.
    this.#news.announce();
    this.#waiters.succeeded((key) => {
      const stuck = this.#stuck.get(idOf(key));
      return stuck ? new BlockGone(stuck.height, faultSentence(this.#deps.ticker, stuck)) : this.#deps.index.watch(key);
    });
  }

  #take(answer: Answer<undefined>): void {
    if (answer.ok) return;
    const { error } = answer;
    if (error.kind === "moved" && ++this.#moves < MAX_MOVES) return;
    this.#sync.distrust();
    this.#fail(faultSentence(this.#deps.ticker, error), error);
  }

  #fail(sentence: string, fault?: ChainFault): void {
    this.#round = null;
    this.#target = null;
    this.#moves = 0;
    if (this.#error !== sentence) {
      this.#deps.log.warn("daemon_failed", { fault: fault?.kind ?? "internal", error: sentence });
      this.#news.mark();
    }
    this.#error = sentence;
    this.#timer.failed(fault?.kind === "block_gone" && fault.isFetched ? FETCHING_MS : undefined);
  }

  /** A step for watches that still want old blocks; false when there are none to take now. */
  async #oldBlocks(): Promise<boolean> {
    const pending = this.#readable();
    if (pending.length === 0) return false;
    const left = await this.#scans.take(pending);
    if (left === "round_needed") {
      this.#timer.hurry();
      return true;
    }
    const answer = await backfillStep(this.#ctx, left);
    if (!answer.ok) await this.#backfillFailed(answer.error, left);
    const covered = this.#readable().length < pending.length;
    // Whoever waits for a watch is answered at the end of a round.
    if (covered) this.#timer.hurry();
    return covered || left.length > 0;
  }

  async #backfillFailed(fault: ChainFault, pending: readonly StoredWatch[]): Promise<void> {
    if (fault.kind !== "block_gone") {
      if (fault.kind === "moved") this.#timer.hurry();
      this.#take(err(fault));
      return;
    }
    const concerned = pending.filter((w) => (w.nextHeight ?? 0) <= fault.height);
    if (fault.isFetched) {
      for (const w of concerned) this.#fetching.add(idOf(w));
      this.#cancelFetching();
      this.#cancelFetching = this.#deps.clock.after(FETCHING_MS, () => {
        this.#fetching.clear();
        this.wake();
      });
      return;
    }
    this.#deps.log.warn("block_gone", { height: fault.height });
    const stuck = await this.#told.withoutBlock(fault.height, concerned);
    if (!stuck.ok) return this.#backfillFailed(stuck.error, pending);
    for (const w of stuck.value) this.#stuck.set(idOf(w), fault);
    this.#news.mark();
    this.#timer.hurry();
  }
}
