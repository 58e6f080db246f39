import type { ActivationStore } from "../../ports/activationStore.ts";
import { Aborted } from "../../ports/clock.ts";
import { platformOf } from "./accountOpener.ts";
import { activationToText, type KeptActivation, parseActivation, tickerOf } from "./activationRecord.ts";
import type { ActivationSeal } from "./activationSeal.ts";
import type { CoinRegistry } from "./coinRegistry.ts";
import { AwaitedCoin, ComingBack, type ComingBackDeps } from "./comingBack.ts";
import type { EnableRequest } from "./enabling.ts";
import type { TokenRequest } from "./evmParts.ts";

export type LastCoinsDeps = ComingBackDeps & {
  readonly coins: Pick<CoinRegistry, "entry">;
  readonly store: ActivationStore;
  readonly seal: ActivationSeal;
};

/** Remembers how coins were enabled, and enables them again after a start. */
export class LastCoins {
  readonly #deps: LastCoinsDeps;
  readonly #stopping = new AbortController();
  readonly #work = new Set<Promise<void>>();
  /** Those still tried. */
  readonly #away = new Map<string, AwaitedCoin>();

  constructor(deps: LastCoinsDeps) {
    this.#deps = deps;
  }

  /** A coin was enabled by request. Where that cannot be stored, the coin is enabled all the same. */
  async remember(request: EnableRequest): Promise<void> {
    this.#giveUp(request.coin);
    await this.#keep([{ kind: "coin", request, aside: false }]);
  }

  /** Tokens were enabled at once beside their platform coin. */
  async rememberTokens(platform: string, tokens: readonly TokenRequest[]): Promise<void> {
    const batch = tokens[0]?.ticker ?? "";
    for (const { ticker } of tokens) this.#giveUp(ticker);
    await this.#keep(tokens.map((token) => ({ kind: "token", token, platform, batch, aside: false })));
  }

  /** Coins were disabled by request. Those still awaited beside one of them are not wanted either: without it they cannot be there. */
  async forget(coins: readonly string[]): Promise<void> {
    const all = [...new Set([...coins, ...coins.flatMap((coin) => this.beside(coin))])];
    for (const coin of all) this.#giveUp(coin);
    await this.#stored(all, this.#deps.store.remove(all));
  }

  /** The tokens of a platform coin that are still awaited. */
  beside(platform: string): readonly string[] {
    return [...this.#away.keys()].filter((coin) => coin !== platform && this.#platformOf(coin) === platform);
  }

  /** Coins were disabled and stay, for swaps or for their tokens: they come back for these alone. */
  async setAside(coins: readonly string[]): Promise<void> {
    const { store, seal } = this.#deps;
    for (const coin of coins) this.#away.get(coin)?.putAside();
    const rows = (await store.all().catch(() => [])).filter(({ coin }) => coins.includes(coin));
    // Another client may have enabled one again, and that is remembered.
    const aside = rows.filter(({ coin }) => !this.#deps.coins.wallet(coin));
    const read = aside.map(({ coin, request }) => parseActivation(coin, request, seal));
    await this.#keep(read.flatMap((kept) => (kept.ok ? [{ ...kept.value, aside: true }] : [])));
  }

  /** Of a coin of the last run that is not there yet: sentences that say so and what can be done. Null: it is none. */
  whyAway(coin: string): string | null {
    const away = this.#away.get(coin);
    if (away === undefined || away.kept.aside) return null;
    const why = away.why === null ? "" : ` ${away.why.replace(/[^.]$/, "$&.")}`;
    return `${coin} was enabled before this node was started and is being enabled again.${why} It is tried every minute until it is there; enable it with other servers to go on at once, or disable it.`;
  }

  /** A client enables coins itself: `work` has them to itself, and what is awaited of them goes on where that fails. */
  async instead<T>(coins: readonly string[], work: () => Promise<T>): Promise<T> {
    const held = coins.flatMap((coin) => this.#away.get(coin) ?? []);
    try {
      await Promise.all(held.map((coin) => coin.hold()));
      return await work();
    } finally {
      for (const coin of held) coin.letGo();
    }
  }

  /** It is just being tried, which ends where a client enables it. */
  isTried(coin: string): boolean {
    const away = this.#away.get(coin);
    return away?.trying != null && !away.isHeld;
  }

  #giveUp(coin: string): void {
    this.#away.get(coin)?.giveUp();
    this.#away.delete(coin);
  }

  async #keep(kept: readonly KeptActivation[]): Promise<void> {
    const { store, seal, log } = this.#deps;
    const rows = kept.map((one) => ({ coin: tickerOf(one), request: activationToText(one, seal) }));
    const tooLong = rows.filter(({ request }) => request === null).map(({ coin }) => coin);
    for (const coin of tooLong) log.info("coin_not_remembered", { coin, why: "its activation is too long" });
    if (tooLong.length > 0) await this.#stored(tooLong, store.remove(tooLong));
    const short = rows.flatMap(({ coin, request }) => (request === null ? [] : [{ coin, request }]));
    const names = short.map(({ coin }) => coin);
    if (short.length > 0) await this.#stored(names, store.put(short));
  }

  /** What is stored is of the next start only: a disk that refuses it fails no request of now. */
  async #stored(coins: readonly string[], writing: Promise<void>): Promise<void> {
    await writing.catch((cause: unknown) => this.#deps.log.warn("last_coins_not_stored", { coins, error: cause }));
  }

  /** Begins to enable all that are remembered, at the same time; those whose backend is away are tried until it is there. */
  async start(): Promise<void> {
    const { store, seal, log } = this.#deps;
    const chains = new Map<string, AwaitedCoin[]>();
    for (const { coin, request } of await store.all()) {
      const kept = parseActivation(coin, request, seal);
      if (!kept.ok) {
        log.error("activation_unreadable", { coin, reason: kept.error });
        continue;
      }
      const awaited = new AwaitedCoin(kept.value);
      const platform = kept.value.kind === "token" ? kept.value.platform : this.#platformOf(coin);
      this.#away.set(coin, awaited);
      chains.set(platform, [...(chains.get(platform) ?? []), awaited]);
    }
    for (const [platform, coins] of chains) this.#begin(platform, coins);
  }

  #begin(platform: string, coins: readonly AwaitedCoin[]): void {
    const over = (coin: AwaitedCoin): void => {
      if (this.#away.get(coin.ticker) === coin) this.#away.delete(coin.ticker);
    };
    const work = new ComingBack(this.#deps, platform, coins, over)
      .run(this.#stopping.signal)
      .then((unneeded) => {
        // With tokens that are remembered the platform coin is, too, though they were refused this time.
        const gone = unneeded.length === coins.length ? unneeded : unneeded.filter((coin) => coin !== platform);
        return gone.length > 0 ? this.forget(gone) : undefined;
      })
      .catch((cause: unknown) => {
        if (!(cause instanceof Aborted)) this.#deps.log.error("autostart_failed", { coin: platform, error: cause });
      });
    this.#work.add(work);
    void work.finally(() => this.#work.delete(work));
  }

  /** The platform coin of a token; any other coin's is itself. */
  #platformOf(coin: string): string {
    const entry = this.#deps.coins.entry(coin);
    return (entry && platformOf(entry)) || coin;
  }

  /** Ends what is being tried. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#work);
  }
}
