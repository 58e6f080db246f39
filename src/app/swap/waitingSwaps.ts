import { duties } from "../../core/swap/duties.ts";
import type { StoredEvent } from "../../core/swap/events.ts";
import { fold, type SwapState, step } from "../../core/swap/swapState.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { ListedSwap, SwapStore } from "../../ports/swapStore.ts";
import { summaryOf } from "./startTerms.ts";
import { type Reserved, StoredFunds } from "./storedFunds.ts";
import type { SwapCoin } from "./swapCoin.ts";
import type { UnreadRecords } from "./unreadRecords.ts";
import type { Decide } from "./waitingRenewals.ts";

/** Logs of stored swaps that are read together. */
const LOGS_AT_ONCE = 50;
/** Pause before a stored swap that could not be read is tried again. */
const RETRY_MS = 30_000;

export type WaitingDeps = {
  readonly clock: Clock;
  readonly log: Log;
  readonly store: Pick<SwapStore, "log" | "append">;
  readonly coin: (ticker: string) => SwapCoin | undefined;
  /** A swap whose coins are both enabled, and what is reserved for it. Throws when it cannot run. */
  readonly takeUp: (log: readonly StoredEvent[], makerCoin: SwapCoin, takerCoin: SwapCoin, reserve: () => Reserved) => void;
  /** See `SwapRunnerDeps`. */
  readonly onEvent: (uuid: string, log: readonly StoredEvent[]) => void;
};

const listed = (s: SwapState): ListedSwap => ({ ...summaryOf(s.terms), finished: s.finished !== null });

/** Stored swaps that do not run: each waits for a coin to be enabled, or for its record to be readable. */
export class WaitingSwaps {
  readonly #deps: WaitingDeps;
  readonly #unread: UnreadRecords;
  readonly #funds: StoredFunds;
  readonly #waiting = new Map<string, ListedSwap>();
  /** Those that are being taken up. */
  readonly #resuming = new Set<string>();
  #kickStartCoins: readonly string[] = [];
  #cancelRetry: (() => void) | null = null;
  #closed = false;

  constructor(deps: WaitingDeps, unread: UnreadRecords) {
    this.#deps = deps;
    this.#unread = unread;
    this.#funds = new StoredFunds(deps.clock, deps.log, (uuid, decide) => this.#goOn(uuid, decide));
  }

  /** Tickers a client must enable for the swaps to go on that were stored at the start. */
  get kickStartCoins(): readonly string[] {
    return this.#kickStartCoins;
  }

  get unfinished(): readonly ListedSwap[] {
    return [...this.#waiting.values()].filter((s) => !s.finished);
  }
  /** Those of a coin, finished or not. */
  with(ticker: string): readonly ListedSwap[] {
    return [...this.#waiting.values()].filter((s) => s.myCoin === ticker || s.otherCoin === ticker);
  }

  /** Reads what a former run left open, and takes what it needs out of the coins that are enabled already. */
  async read(open: readonly ListedSwap[]): Promise<void> {
    for (const s of open) this.#waiting.set(s.uuid, s);
    const needed = new Set<string>();
    for await (const { swap, log, fault } of this.#logsOf(open)) {
      let isNeeded = !swap.finished;
      try {
        if (!log) throw fault;
        const state = fold(log.map((e) => e.event));
        this.add(state);
        isNeeded = state.finished === null || duties(state).some((d) => d.do === "publish");
      } catch (cause) {
        this.#unread.tell(swap.uuid, cause);
      }
      if (isNeeded) for (const ticker of [swap.myCoin, swap.otherCoin]) needed.add(ticker);
    }
    this.#kickStartCoins = [...needed];
    for (const ticker of new Set([...this.#waiting.values()].flatMap((s) => [s.myCoin, s.otherCoin]))) {
      const coin = this.#deps.coin(ticker);
      if (coin) this.prepare(coin);
    }
  }

  add(state: SwapState): void {
    this.#funds.add(state.terms.uuid, state);
    this.#waiting.set(state.terms.uuid, listed(state));
    // One of its coins is being disabled, and the other may stay.
    for (const ticker of [state.terms.makerCoin, state.terms.takerCoin]) {
      const coin = this.#deps.coin(ticker);
      if (coin?.spendsFrom === "account") this.#funds.entrust(state.terms.uuid, coin);
    }
  }

  /** One that ran waits from now on, with what it has of its coins. */
  addStopped(state: SwapState, reserved: Reserved, coin: SwapCoin, other: SwapCoin): void {
    this.#funds.keepHeld(state.terms.uuid, reserved, coin, other);
    this.add(state);
  }

  /** To be called before a coin can be used by anybody: what these swaps have of it is taken out of circulation. */
  prepare(coin: SwapCoin): void {
    this.#funds.take(coin);
  }

  /** Takes up the swaps whose coins are both enabled. */
  async takeUpReady(): Promise<void> {
    const isReady = (s: ListedSwap): boolean => !this.#resuming.has(s.uuid) && [s.myCoin, s.otherCoin].every((c) => this.#deps.coin(c));
    const ready = [...this.#waiting.values()].filter(isReady);
    for (const s of ready) this.#resuming.add(s.uuid);
    for await (const { swap, log, fault } of this.#logsOf(ready)) {
      if (this.#closed) return;
      this.#resuming.delete(swap.uuid);
      // Disabled again meanwhile, perhaps: then it waits for the next time.
      const [myCoin, otherCoin] = [this.#deps.coin(swap.myCoin), this.#deps.coin(swap.otherCoin)];
      if (!myCoin || !otherCoin) continue;
      try {
        if (!log) throw fault;
        const state = fold(log.map((e) => e.event));
        const [makerCoin, takerCoin] = state.terms.role === "maker" ? [myCoin, otherCoin] : [otherCoin, myCoin];
        this.#deps.takeUp(log, makerCoin, takerCoin, () => {
          this.#waiting.delete(swap.uuid);
          return this.#funds.handOver(swap.uuid, myCoin, otherCoin, state);
        });
      } catch (cause) {
        this.#cancelRetry ??= this.#deps.clock.after(RETRY_MS, () => {
          this.#cancelRetry = null;
          void this.takeUpReady();
        });
        this.#unread.tell(swap.uuid, cause);
      }
    }
  }

  /** Nobody takes the swap up meanwhile: two writers would corrupt its log. */
  async #goOn(uuid: string, decide: Decide): Promise<SwapState | null> {
    if (this.#closed || this.#resuming.has(uuid) || !this.#waiting.has(uuid)) return null;
    this.#resuming.add(uuid);
    try {
      const log = await this.#deps.store.log(uuid);
      const state = fold(log.map((e) => e.event));
      const event = decide(state, log);
      if (!event) return state;
      const stored = { v: 1, atMs: this.#deps.clock.nowMs(), event } as const;
      await this.#deps.store.append(uuid, log.length, stored, []);
      this.#deps.log.info("swap_event", { swap: uuid, type: event.type, slot: event.slot });
      this.#deps.onEvent(uuid, [...log, stored]);
      return step(state, event);
    } catch (cause) {
      this.#unread.tell(uuid, cause);
      return null;
    } finally {
      this.#resuming.delete(uuid);
      void this.takeUpReady();
    }
  }

  close(): void {
    this.#closed = true;
    this.#cancelRetry?.();
    this.#funds.close();
  }

  /** The logs of stored swaps, in order; a node that comes back may have a thousand. `fault`: why one could not be read. */
  async *#logsOf(swaps: readonly ListedSwap[]): AsyncGenerator<{ swap: ListedSwap; log: readonly StoredEvent[] | null; fault: unknown }> {
    for (let at = 0; at < swaps.length; at += LOGS_AT_ONCE) {
      const part = swaps.slice(at, at + LOGS_AT_ONCE);
      const read = await Promise.allSettled(part.map(({ uuid }) => this.#deps.store.log(uuid)));
      for (const [i, swap] of part.entries()) {
        const answer = read[i];
        yield {
          swap,
          log: answer?.status === "fulfilled" ? answer.value : null,
          fault: answer?.status === "rejected" ? answer.reason : null,
        };
      }
    }
  }
}
