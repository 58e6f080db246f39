import type { ActivationStore } from "../../ports/activationStore.ts";
import { Aborted, type Clock, sleep } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { activationToText, parseActivation } from "./activationRecord.ts";
import type { CoinRegistry, EnableError, EnableRequest } from "./coinRegistry.ts";

export type LastCoinsDeps = {
  readonly coins: Pick<CoinRegistry, "enable">;
  readonly store: ActivationStore;
  readonly clock: Clock;
  readonly log: Log;
};

/** Pauses between tries of a coin whose backend is away. */
const FIRST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 600_000;

/** Remembers how coins were enabled, and enables them again after a start. */
export class LastCoins {
  readonly #deps: LastCoinsDeps;
  readonly #stopping = new AbortController();
  readonly #work = new Set<Promise<void>>();
  /** Disabled while it was still being tried. */
  readonly #forgotten = new Set<string>();

  constructor(deps: LastCoinsDeps) {
    this.#deps = deps;
  }

  /** A coin was enabled by request. Where that cannot be stored, the coin is enabled all the same. */
  async remember(request: EnableRequest): Promise<void> {
    const { store, log } = this.#deps;
    const { coin } = request;
    this.#forgotten.delete(coin);
    const text = activationToText(request);
    if (text !== null) return this.#stored(coin, store.put({ coin, request: text }));
    log.info("coin_not_remembered", { coin, why: "its activation names a password or nodes, which are not written down" });
    await this.#stored(coin, store.remove(coin));
  }

  /** A coin was disabled by request. */
  async forget(coin: string): Promise<void> {
    this.#forgotten.add(coin);
    await this.#stored(coin, this.#deps.store.remove(coin));
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
      const work = this.#enable(parsed.value).catch((cause: unknown) => {
        if (!(cause instanceof Aborted)) log.error("autostart_failed", { coin, error: cause });
      });
      this.#work.add(work);
      void work.finally(() => this.#work.delete(work));
    }
  }

  async #enable(request: EnableRequest): Promise<void> {
    const { coins, clock, log } = this.#deps;
    const { signal } = this.#stopping;
    for (let pauseMs = FIRST_PAUSE_MS; !this.#forgotten.has(request.coin); pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      const done = await coins.enable(request, signal);
      if (done.ok || isThere(done.error)) return;
      log.warn("autostart_refused", { coin: request.coin, kind: done.error.kind, again: done.error.kind === "DaemonFailed" });
      if (done.error.kind !== "DaemonFailed") return;
      await sleep(clock, pauseMs, signal);
    }
  }

  /** Ends what is being tried. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#work);
  }
}

/** Somebody else enables it, or has. */
const isThere = ({ kind }: EnableError): boolean => kind === "AlreadyActive" || kind === "BeingEnabled";
