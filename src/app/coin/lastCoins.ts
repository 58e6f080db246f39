import type { ActivationStore } from "../../ports/activationStore.ts";
import { Aborted, type Clock, sleep } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { withParents } from "../../ports/withParents.ts";
import { activationToText, parseActivation } from "./activationRecord.ts";
import type { CoinRegistry, EnableRequest } from "./coinRegistry.ts";

export type LastCoinsDeps = {
  readonly coins: Pick<CoinRegistry, "enable">;
  readonly store: ActivationStore;
  readonly clock: Clock;
  readonly log: Log;
};

/** Pauses between tries of a coin whose backend is away. The longest is what a swap may lose that waits for it: lock times do not wait. */
const FIRST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 60_000;

/** Remembers how coins were enabled, and enables them again after a start. */
export class LastCoins {
  readonly #deps: LastCoinsDeps;
  readonly #stopping = new AbortController();
  readonly #work = new Set<Promise<void>>();
  /** Those still tried: what was wrong the last time, a sentence, and the end of their tries. */
  readonly #away = new Map<string, { why: string | null; readonly stop: AbortController }>();

  constructor(deps: LastCoinsDeps) {
    this.#deps = deps;
  }

  /** A coin was enabled by request. Where that cannot be stored, the coin is enabled all the same. */
  async remember(request: EnableRequest): Promise<void> {
    const { store, log } = this.#deps;
    const { coin } = request;
    const text = activationToText(request);
    if (text !== null) return this.#stored(coin, store.put({ coin, request: text }));
    log.info("coin_not_remembered", { coin, why: "its activation names a password or nodes, which are not written down" });
    await this.#stored(coin, store.remove(coin));
  }

  /** A coin was disabled by request. */
  async forget(coin: string): Promise<void> {
    this.#away.get(coin)?.stop.abort();
    this.#away.delete(coin);
    await this.#stored(coin, this.#deps.store.remove(coin));
  }

  /** Of a coin of the last run that is not there yet: sentences that say so and what can be done. Null: it is none. */
  whyAway(coin: string): string | null {
    const away = this.#away.get(coin);
    if (away === undefined) return null;
    const why = away.why === null ? "" : ` ${away.why}`;
    return `${coin} was enabled before this node was started and is being enabled again.${why} It is tried every minute until it is there; enable it with other servers to go on at once, or disable it.`;
  }

  /** What is stored is of the next start only: a disk that refuses it fails no request of now. */
  async #stored(coin: string, writing: Promise<void>): Promise<void> {
    await writing.catch((cause: unknown) => this.#deps.log.warn("last_coins_not_stored", { coin, error: cause }));
  }

  /** Begins to enable all that are remembered, at the same time; those whose backend is away are tried until it is there. */
  async start(): Promise<void> {
    const { store, log } = this.#deps;
    for (const { coin, request } of await store.all()) {
      const parsed = parseActivation(request);
      if (!parsed.ok) {
        log.error("activation_unreadable", { coin, reason: parsed.error });
        continue;
      }
      const away = { why: null, stop: new AbortController() };
      this.#away.set(coin, away);
      const enabling = withParents([this.#stopping.signal, away.stop.signal], (signal) => this.#enable(parsed.value, signal));
      const work = enabling.catch((cause: unknown) => {
        if (!(cause instanceof Aborted)) log.error("autostart_failed", { coin, error: cause });
      });
      this.#work.add(work);
      void work.finally(() => {
        this.#work.delete(work);
        if (this.#away.get(coin) === away) this.#away.delete(coin);
      });
    }
  }

  async #enable(request: EnableRequest, signal: AbortSignal): Promise<void> {
    const { coins, clock, log } = this.#deps;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      const done = await coins.enable(request, signal);
      if (done.ok || done.error.kind === "AlreadyActive") return;
      // Whoever else is enabling it may fail.
      const again = done.error.kind === "DaemonFailed" || done.error.kind === "BeingEnabled";
      if (done.error.kind !== "BeingEnabled") log.warn("autostart_refused", { coin: request.coin, kind: done.error.kind, again });
      if (!again) return;
      const away = this.#away.get(request.coin);
      if (away && done.error.kind === "DaemonFailed") away.why = done.error.message;
      await sleep(clock, pauseMs, signal);
    }
  }

  /** Ends what is being tried. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#work);
  }
}
