import { Aborted, type Clock, sleep } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { withParents } from "../../ports/withParents.ts";
import { type KeptActivation, tickerOf } from "./activationRecord.ts";
import type { CoinRegistry } from "./coinRegistry.ts";
import type { EnableError } from "./enabling.ts";
import type { EnableTokensError } from "./evmParts.ts";

/** Pauses between tries of a coin whose backend is away. The longest is what a swap may lose that waits for it: lock times do not wait. */
const FIRST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 60_000;

export type ComingBackDeps = {
  readonly coins: Pick<CoinRegistry, "enable" | "enableTokens" | "closeAside" | "wallet">;
  readonly clock: Clock;
  readonly log: Log;
};

/** A coin that is being enabled again. */
export class AwaitedCoin {
  kept: KeptActivation;
  readonly ticker: string;
  readonly #stop = new AbortController();
  #holders = 0;
  /** The try under way: what ends it, and when it has ended. */
  trying: { readonly stop: AbortController; readonly ended: Promise<unknown> } | null = null;
  /** What was wrong the last time, a sentence. */
  why: string | null = null;

  constructor(kept: KeptActivation) {
    this.kept = kept;
    this.ticker = tickerOf(kept);
  }
  /** Fires when nobody wants it any more. */
  get given(): AbortSignal {
    return this.#stop.signal;
  }
  giveUp(): void {
    this.#stop.abort();
  }
  /** It is wanted for its tokens and for swaps alone. */
  putAside(): void {
    this.kept = { ...this.kept, aside: true };
  }
  /** Somebody else enables it just now: it is not tried meanwhile. */
  get isHeld(): boolean {
    return this.#holders > 0;
  }
  /** Ends the try under way; resolves when it has ended. */
  async hold(): Promise<void> {
    this.#holders++;
    this.trying?.stop.abort();
    await this.trying?.ended;
  }
  letGo(): void {
    this.#holders--;
  }
}

/** Of one try: there or refused for good; or to be tried again, and why where the backend said so. */
type Tried = { readonly again: boolean; readonly why: string | null };
const OVER: Tried = { again: false, why: null };

/**
 * Enables the coins of one chain until each is there, is refused for good, or is given up: the platform coin first, its tokens then, as
 * many at once as before. All of them are tried in each round, for one may have nodes of its own.
 *
 * @param onOver told each that is awaited no more
 */
export class ComingBack {
  readonly #deps: ComingBackDeps;
  readonly #platform: string;
  readonly #onOver: (coin: AwaitedCoin) => void;
  #coins: readonly AwaitedCoin[];
  /** Those that were disabled before the start and are there for swaps alone, the platform coin also for its tokens. */
  readonly #aside = new Set<string>();

  constructor(deps: ComingBackDeps, platform: string, coins: readonly AwaitedCoin[], onOver: (coin: AwaitedCoin) => void) {
    this.#deps = deps;
    this.#platform = platform;
    this.#coins = coins;
    this.#onOver = onOver;
  }

  /**
   * Rejects with `Aborted` when `signal` fires.
   * @returns those that had been put aside and that nothing needs: they are closed
   */
  async run(signal: AbortSignal): Promise<readonly string[]> {
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      for (const batch of batchesOf(this.#coins, this.#platform)) await this.#tryBatch(batch, signal);
      if (this.#coins.length === 0) break;
      await sleep(this.#deps.clock, pauseMs, signal);
    }
    // Every token may have been refused, every swap have ended. The platform coin goes after what needs it.
    const unneeded: string[] = [];
    for (const coin of [...this.#aside].toSorted((a, b) => Number(a === this.#platform) - Number(b === this.#platform)))
      if (await this.#deps.coins.closeAside(coin)) unneeded.push(coin);
    return unneeded;
  }

  /** Those of a batch that are refused together are tried one by one: one bad token must not keep the others away. */
  async #tryBatch(batch: readonly AwaitedCoin[], signal: AbortSignal): Promise<void> {
    const wanted = batch.filter((coin) => this.#isAwaited(coin) && !coin.isHeld);
    if (wanted.length === 0) return;
    const tried = await this.#try(wanted, signal);
    if (tried === "refused") {
      for (const coin of wanted) await this.#tryBatch([coin], signal);
      return;
    }
    for (const coin of wanted) {
      if (tried.why !== null) coin.why = tried.why;
      if (!tried.again) this.#over(coin);
    }
  }

  #isAwaited(coin: AwaitedCoin): boolean {
    if (coin.given.aborted) this.#over(coin);
    return this.#coins.includes(coin);
  }

  #over(coin: AwaitedCoin): void {
    if (!this.#coins.includes(coin)) return;
    this.#coins = this.#coins.filter((other) => other !== coin);
    this.#onOver(coin);
  }

  async #try(batch: readonly AwaitedCoin[], signal: AbortSignal): Promise<Tried | "refused"> {
    const [first] = batch;
    if (!first) return OVER;
    const stop = new AbortController();
    const work = withParents([signal, stop.signal, ...batch.map((coin) => coin.given)], (s) =>
      first.kept.kind === "coin" ? this.#tryCoin(first, s) : this.#tryTokens(batch, s),
    );
    const trying = { stop, ended: work.catch(() => undefined) };
    for (const coin of batch) coin.trying = trying;
    try {
      return await work;
    } catch (cause) {
      // The others of its batch go on without one that was given up or is held.
      if (cause instanceof Aborted && !signal.aborted) return { again: true, why: null };
      if (!(cause instanceof Aborted)) this.#deps.log.error("autostart_failed", { coin: first.ticker, error: cause });
      if (signal.aborted) throw cause;
      // As a disk that fails for a while: what swaps wait for must not be missing until the next start.
      return batch.length > 1 ? "refused" : { again: true, why: null };
    } finally {
      for (const coin of batch) coin.trying = null;
    }
  }

  async #tryCoin({ kept, ticker }: AwaitedCoin, signal: AbortSignal): Promise<Tried> {
    if (kept.kind !== "coin") return OVER;
    const done = await this.#deps.coins.enable(kept.request, signal, kept.aside);
    if (done.ok && kept.aside) this.#aside.add(ticker);
    if (done.ok || done.error.kind === "AlreadyActive") return OVER;
    const { error } = done;
    // Whoever else is enabling or disabling it may fail; the platform coin may bring the nodes that a token did not name.
    const isSoon = error.kind === "BeingEnabled" || error.kind === "BeingDisabled";
    const lacksNodes = error.kind === "BadAccountNodes" && ticker !== this.#platform && this.#awaitsPlatform();
    const why = whyAway(error);
    const again = isSoon || lacksNodes || why !== null;
    if (!isSoon) this.#warn(ticker, error.kind, again);
    return { again, why };
  }

  async #tryTokens(batch: readonly AwaitedCoin[], signal: AbortSignal): Promise<Tried | "refused"> {
    const tokens = batch.flatMap(({ kept }) => (kept.kind === "token" ? [{ ...kept.token, aside: kept.aside }] : []));
    const done = await this.#deps.coins.enableTokens(this.#platform, tokens, signal, this.#aside.has(this.#platform));
    if (done.ok) for (const { ticker, aside } of tokens) if (aside) this.#aside.add(ticker);
    if (done.ok) return OVER;
    const { error } = done;
    if (error.kind === "PlatformCoinIsNotActivated" && this.#awaitsPlatform()) {
      const platform = this.#coins.find(({ ticker }) => ticker === this.#platform);
      return { again: true, why: platform?.why ?? null };
    }
    const [first, second] = batch;
    const isAway = error.kind === "DaemonFailed";
    // What nodes do not say of one of them, they may never say.
    const isOfOne = isAway && batch.some(({ ticker }) => ticker === error.coin);
    if (!first || (second && (!isAway || isOfOne))) return "refused";
    const why = whyAway(error);
    if (error.kind !== "TokenIsAlreadyActivated") this.#warn(first.ticker, error.kind, why !== null);
    // Whoever else is enabling or disabling it may fail.
    const isSoon = error.kind === "TokenIsAlreadyActivated" && !this.#deps.coins.wallet(first.ticker);
    return { again: why !== null || isSoon, why };
  }

  #awaitsPlatform(): boolean {
    return this.#coins.some(({ ticker }) => ticker === this.#platform);
  }

  #warn(coin: string, kind: string, again: boolean): void {
    this.#deps.log.warn("autostart_refused", { coin, kind, again });
  }
}

/**
 * Why its backend is away, a sentence; null: it is not, or nobody knows. A daemon that has not started yet has left no cookie either, and
 * nodes that have not may name another chain, or show no contract yet.
 */
function whyAway(error: EnableError | EnableTokensError): string | null {
  if (error.kind === "DaemonFailed") return error.message;
  return error.kind === "DaemonConfig" || error.kind === "ChainMismatch" ? error.reason : null;
}

/** The platform coin, then the others that name their own nodes, then the tokens, those of one batch together. */
function batchesOf(coins: readonly AwaitedCoin[], platform: string): readonly (readonly AwaitedCoin[])[] {
  const alone = coins.filter(({ kept }) => kept.kind === "coin");
  const batches = new Map<string, AwaitedCoin[]>();
  for (const coin of coins) {
    if (coin.kept.kind === "token") batches.set(coin.kept.batch, [...(batches.get(coin.kept.batch) ?? []), coin]);
  }
  const first = alone.filter(({ ticker }) => ticker === platform);
  return [...[...first, ...alone.filter(({ ticker }) => ticker !== platform)].map((coin) => [coin]), ...batches.values()];
}
