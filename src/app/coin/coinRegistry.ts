import type { CoinEntry } from "../../core/coin/coinEntry.ts";
import { isEvmProtocol } from "../../core/coin/evmProtocol.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { ScanProgress, UtxoChain } from "../../ports/chain.ts";
import { Aborted } from "../../ports/clock.ts";
import { withParents } from "../../ports/withParents.ts";
import type { SwapCoin } from "../swap/swapCoin.ts";
import { type AccountEnable, AccountOpener, type AccountOpenerDeps, platformOf } from "./accountOpener.ts";
import { serversProblem } from "./checkServers.ts";
import type { EvmCoin } from "./evm/evmCoin.ts";
import type { EnableTokensError, EvmEnableError, TokenRequest } from "./evmParts.ts";
import { type TokensToOpen, tokensToOpen } from "./tokensToOpen.ts";
import type { UtxoCoin } from "./utxoCoin.ts";
import { beginWith, type OpenedChain, openUtxoCoin, type UtxoEnable, type UtxoEnableError, type UtxoOpenerDeps } from "./utxoOpener.ts";

/** An activated coin of either family. What only one of them can do is asked for by `family`. */
export type ActiveCoin = UtxoCoin | EvmCoin;

/** `nodes` of an account chain, `daemon` and what follows it of another coin. */
export type EnableRequest = UtxoEnable &
  AccountEnable & {
    readonly coin: string;
    /** Stands in for a missing `mm2` of the coins file. */
    readonly mm2: boolean;
  };

export type EnableError =
  | UtxoEnableError
  | EvmEnableError
  /** `progress`: the node still reads the coin's chain; null when it has. */
  | { readonly kind: "AlreadyActive"; readonly coin: string; readonly progress: ScanProgress | null }
  /** By an earlier request that has no answer yet; `progress` null: its daemon has not answered. */
  | { readonly kind: "BeingEnabled"; readonly coin: string; readonly progress: ScanProgress | null }
  | { readonly kind: "BeingDisabled"; readonly coin: string }
  | { readonly kind: "Mm2NotSet"; readonly coin: string }
  | { readonly kind: "ProtocolMissing"; readonly coin: string };

export type DisableError =
  | { readonly kind: "NoSuchCoin"; readonly coin: string }
  | {
      readonly kind: "CoinInUse";
      readonly matchingOrders: readonly string[];
      readonly cancelledOrders: readonly string[];
      readonly activeSwaps: readonly string[];
    };

export type DisabledCoin = {
  readonly cancelledOrders: readonly string[];
  readonly passivized: boolean;
  /** Tokens that were disabled with their platform coin. */
  readonly tokens: readonly string[];
};

export type CoinRegistryDeps = UtxoOpenerDeps &
  AccountOpenerDeps & {
    readonly entries: ReadonlyMap<string, CoinEntry>;
    /** Called before an opened coin that trades can be used by anybody: what stored swaps have of it is taken out of circulation. */
    readonly prepare: (coin: SwapCoin) => void;
    /** Called before a coin closes. */
    readonly beforeClose: (ticker: string) => Promise<void>;
    /** Asked before a coin goes: what still needs it. */
    readonly usersOf: (ticker: string) => { readonly matchingOrders: readonly string[]; readonly activeSwaps: readonly string[] };
    /** Cancels the open orders of a coin that goes; their uuids. */
    readonly cancelOrdersOf: (ticker: string) => Promise<readonly string[]>;
  };

type Tokens = TokensToOpen["tokens"];

/** The activated coins. */
export class CoinRegistry {
  readonly #deps: CoinRegistryDeps;
  readonly #coins = new Map<string, ActiveCoin>();
  readonly #accounts: AccountOpener;
  /** Put aside: there for tokens or swaps that need them, and for no new trades. */
  readonly #passive = new Set<string>();
  /** Put aside because their backend has given no balance yet, with the request they were opened for: for swaps alone until it does. */
  readonly #unseen = new Map<string, EnableRequest>();
  /** Being opened; null until the chain is there. An index has one writer at a time. */
  readonly #opening = new Map<string, UtxoChain | null>();
  /** Of the coins of the UTXO family. */
  readonly #chains = new Map<string, OpenedChain>();
  readonly #closing = new Set<string>();
  readonly #stopping = new AbortController();
  /** Openings under way. */
  readonly #work = new Set<Promise<unknown>>();
  readonly #listeners = new Set<() => void>();

  constructor(deps: CoinRegistryDeps) {
    this.#deps = deps;
    this.#accounts = new AccountOpener(deps);
  }

  entry(ticker: string): CoinEntry | undefined {
    return this.#deps.entries.get(ticker);
  }
  /** For new trades. */
  active(ticker: string): SwapCoin | undefined {
    return this.#passive.has(ticker) ? undefined : this.running(ticker);
  }
  /** For swaps that run already. */
  running(ticker: string): SwapCoin | undefined {
    const coin = this.#coins.get(ticker);
    return coin?.family === "utxo" ? coin : coin?.swapCoin;
  }
  /** One of the UTXO family, whether or not it takes new trades. */
  utxo(ticker: string): UtxoCoin | undefined {
    const coin = this.#coins.get(ticker);
    return coin?.family === "utxo" ? coin : undefined;
  }
  /** For the wallet: a coin of either family. */
  wallet(ticker: string): ActiveCoin | undefined {
    return this.#passive.has(ticker) ? undefined : this.#coins.get(ticker);
  }
  all(): readonly ActiveCoin[] {
    return [...this.#coins.values()].filter((c) => !this.#passive.has(c.ticker));
  }
  /** A coin that is just being enabled: null until its chain is there. */
  opening(ticker: string): { readonly progress: ScanProgress | null } | null | undefined {
    const chain = this.#opening.get(ticker);
    return chain && { progress: chain.status().progress };
  }
  onActivated(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** @param aside it is put aside, and stays so, until `bringForward` or another request enables it */
  async enable(request: EnableRequest, signal: AbortSignal, aside = false): Promise<Result<ActiveCoin, EnableError>> {
    const { coin: ticker } = request;
    const entry = this.#deps.entries.get(ticker);
    if (this.#stopping.signal.aborted) throw new Aborted("the node stops");
    const taken = this.#taken(ticker);
    if (taken) return err(taken);
    if (!entry || !(entry.mm2 || request.mm2)) return err({ kind: "Mm2NotSet", coin: ticker });
    const back = this.#coins.get(ticker);
    if (back?.family === "account") {
      this.#opening.set(ticker, null);
      return this.#noted(
        [ticker],
        withParents([signal, this.#stopping.signal], (s) => this.#reopen(back, request, aside, s)),
      );
    }
    const before = this.#unseen.get(ticker);
    if (back && before) {
      this.#opening.set(ticker, back.chain);
      return this.#noted(
        [ticker],
        withParents([signal, this.#stopping.signal], (s) => this.#lookAgain(entry, back, before, request, aside, s)),
      );
    }
    if (back) {
      const refused = aside ? null : this.#useServers(request);
      if (refused) return err(refused);
      if (!aside) this.#passive.delete(ticker);
      return ok(back);
    }
    this.#opening.set(ticker, null);
    const opening = withParents([signal, this.#stopping.signal], (s) => this.#open(entry, request, aside, s));
    return this.#noted([ticker], opening);
  }

  /** What is opened is known as such until it is done, and `close` waits for it. */
  async #noted<T>(tickers: readonly string[], opening: Promise<T>): Promise<T> {
    this.#work.add(opening);
    try {
      return await opening;
    } finally {
      this.#work.delete(opening);
      for (const ticker of tickers) this.#opening.delete(ticker);
    }
  }

  /** Why a coin cannot be enabled now, with how far its first scan is: the way to ask for it while it runs. */
  #taken(ticker: string): EnableError | null {
    const coin = this.wallet(ticker);
    if (coin) return { kind: "AlreadyActive", coin: ticker, progress: coin.family === "utxo" ? coin.chain.status().progress : null };
    const chain = this.#opening.get(ticker);
    if (chain !== undefined) return { kind: "BeingEnabled", coin: ticker, progress: chain?.status().progress ?? null };
    return this.#closing.has(ticker) ? { kind: "BeingDisabled", coin: ticker } : null;
  }

  async #open(entry: CoinEntry, request: EnableRequest, aside: boolean, signal: AbortSignal): Promise<Result<ActiveCoin, EnableError>> {
    const { ticker } = entry;
    if (entry.protocol.type === "") return err({ kind: "ProtocolMissing", coin: ticker });
    const opened = isEvmProtocol(entry.protocol.type)
      ? await this.#accounts.open(entry, request, signal)
      : await this.#openUtxo(entry, request, signal);
    if (!opened.ok) return opened;
    this.#enter(opened.value, aside);
    this.#deps.log.info("coin_activated", { coin: ticker, address: opened.value.address });
    return opened;
  }

  #enter(coin: ActiveCoin, aside: boolean): void {
    this.#deps.prepare(coin.family === "utxo" ? coin : coin.swapCoin);
    this.#coins.set(coin.ticker, coin);
    if (aside) this.#passive.add(coin.ticker);
    for (const l of this.#listeners) l();
  }

  async #openUtxo(entry: CoinEntry, request: EnableRequest, signal: AbortSignal): Promise<Result<UtxoCoin, EnableError>> {
    const { ticker } = entry;
    let opened: OpenedChain | null = null;
    const onChain = (chain: OpenedChain): void => {
      this.#opening.set(ticker, chain);
      opened = chain;
    };
    const made = await openUtxoCoin(this.#deps, entry, request, onChain, signal);
    if (!made.ok) return made;
    const { coin, away } = made.value;
    const isWaitedFor = away !== null && this.#deps.usersOf(ticker).activeSwaps.length > 0;
    if (opened !== null && (away === null || isWaitedFor)) this.#chains.set(ticker, opened);
    if (away === null) return ok(coin);
    if (isWaitedFor) this.#keepForSwaps(coin, request, away);
    else await coin.close();
    return err({ kind: "DaemonFailed", coin: ticker, message: away });
  }

  /**
   * A coin whose backend is away after a start stays for the swaps that wait for it: what they must do on their other coin, a claim with a
   * known secret or a refund, cannot wait. To them it is a coin whose backend went away while they ran.
   */
  #keepForSwaps(coin: UtxoCoin, request: EnableRequest, away: string): void {
    const { ticker } = coin;
    this.#unseen.set(ticker, request);
    this.#enter(coin, true);
    this.#deps.log.warn("coin_kept_for_swaps", { coin: ticker, why: away });
    // Its rates are asked for until there are some.
    void coin.open();
  }

  /** A coin that was kept for swaps without its backend is enabled: as it is by the same request, opened anew by another. */
  async #lookAgain(
    entry: CoinEntry,
    back: UtxoCoin,
    before: EnableRequest,
    request: EnableRequest,
    aside: boolean,
    signal: AbortSignal,
  ): Promise<Result<ActiveCoin, EnableError>> {
    const { ticker } = entry;
    if (JSON.stringify(before) !== JSON.stringify(request)) {
      await this.#take(back);
      return this.#open(entry, request, aside, signal);
    }
    const away = await beginWith(this.#deps, back, request, signal);
    if (away !== null) return err({ kind: "DaemonFailed", coin: ticker, message: away });
    this.#unseen.delete(ticker);
    if (!aside) this.#passive.delete(ticker);
    this.#deps.log.info("coin_activated", { coin: ticker, address: back.address });
    for (const l of this.#listeners) l();
    return ok(back);
  }

  /** A coin that stayed for its swaps goes on with the servers that are named now: those it had may be why it was disabled. */
  #useServers({ coin, electrum }: EnableRequest): EnableError | null {
    const use = this.#chains.get(coin)?.useServers;
    if (!electrum || !use) return null;
    const problem = serversProblem(electrum);
    if (problem) return { kind: "BadServers", reason: problem };
    const used = use(electrum);
    return used.ok ? null : used.error;
  }

  /** The same of a coin of an account chain and its nodes, which are tried first. */
  async #reopen(back: EvmCoin, { nodes }: EnableRequest, aside: boolean, signal: AbortSignal): Promise<Result<ActiveCoin, EnableError>> {
    const { ticker } = back;
    const refused = await this.#accounts.useNodes(back, nodes, signal);
    if (refused) return err(refused);
    // Nothing that needed it may be left by now.
    if (this.#coins.get(ticker) !== back || this.#closing.has(ticker)) return err({ kind: "BeingDisabled", coin: ticker });
    if (!aside) this.#passive.delete(ticker);
    return ok(back);
  }

  /** A coin that was put aside takes new trades from now on. */
  bringForward(ticker: string): void {
    if (!this.#closing.has(ticker)) this.#passive.delete(ticker);
  }

  /**
   * Closes a coin that was put aside and that no token and no swap needs. Its orders are not cancelled: they wait for it.
   * @returns whether it did
   */
  async closeAside(ticker: string): Promise<boolean> {
    const coin = this.#coins.get(ticker);
    if (!coin || !this.#passive.has(ticker) || this.#closing.has(ticker)) return false;
    if (this.#tokensOf(coin).length > 0 || this.#inUse(ticker, [])) return false;
    await this.#take(coin);
    return true;
  }

  /**
   * Tokens beside their enabled platform coin, all or none.
   * @param platform null: the one the entry of the first token names
   * @param besideAside also where the platform coin was put aside
   */
  async enableTokens(
    platform: string | null,
    requests: readonly TokenRequest[],
    signal: AbortSignal,
    besideAside = false,
  ): Promise<Result<readonly EvmCoin[], EnableTokensError>> {
    const { entries } = this.#deps;
    const sorted = tokensToOpen(requests, entries, (ticker) => this.#placeOf(ticker));
    if (!sorted.ok) return sorted;
    const { tokens, back } = sorted.value;
    const first = entries.get(requests[0]?.ticker ?? "");
    const name = platform ?? (first ? platformOf(first) : "");
    const beside = (): ActiveCoin | undefined => (besideAside && !this.#closing.has(name) ? this.#coins.get(name) : this.wallet(name));
    const coin = beside();
    if (coin?.family !== "account" || coin.contract !== null) return err({ kind: "PlatformCoinIsNotActivated", platform: name });
    const other = back.find((token) => token.account !== coin.account);
    if (other) return err({ kind: "TokenIsAlreadyActivated", ticker: other.ticker });
    for (const { entry } of tokens) this.#opening.set(entry.ticker, null);
    const tickers = tokens.map(({ entry }) => entry.ticker);
    const opening = withParents([signal, this.#stopping.signal], (s) => this.#openTokens(coin, tokens, () => beside() !== coin, s));
    const opened = await this.#noted(tickers, opening);
    if (!opened.ok) return opened;
    for (const token of back) if (this.#coins.get(token.ticker) === token) this.bringForward(token.ticker);
    const all = [...opened.value, ...back];
    return ok(requests.flatMap(({ ticker }) => all.find((token) => token.ticker === ticker) ?? []));
  }

  /** Where a token stands that is to be enabled: put aside for swaps, elsewhere in use, or not there. */
  #placeOf(ticker: string): EvmCoin | "taken" | null {
    const there = this.#coins.get(ticker);
    if (this.#opening.has(ticker) || this.#closing.has(ticker)) return "taken";
    if (there === undefined) return null;
    return there.family === "account" && this.#passive.has(ticker) ? there : "taken";
  }

  async #openTokens(
    platform: EvmCoin,
    tokens: Tokens,
    isGone: () => boolean,
    signal: AbortSignal,
  ): Promise<Result<readonly EvmCoin[], EnableTokensError>> {
    const gone = err({ kind: "PlatformCoinIsNotActivated" as const, platform: platform.ticker });
    try {
      const opened = tokens.length > 0 ? await this.#accounts.openTokens(platform, tokens, signal) : ok([]);
      if (!isGone()) {
        if (!opened.ok) return opened;
        for (const token of opened.value) {
          this.#deps.prepare(token.swapCoin);
          this.#coins.set(token.ticker, token);
        }
        this.#deps.log.info("tokens_activated", { coin: platform.ticker, count: opened.value.length });
        for (const l of this.#listeners) l();
        return opened;
      }
      // It was disabled meanwhile; its account may live on under other tokens.
      for (const token of opened.ok ? opened.value : []) await this.#accounts.close(token);
      return gone;
    } catch (cause) {
      // Its account was closed under the work.
      if (cause instanceof Aborted && !signal.aborted && isGone()) return gone;
      throw cause;
    }
  }

  async disable(ticker: string, force: boolean): Promise<Result<DisabledCoin, DisableError>> {
    const coin = this.wallet(ticker);
    if (!coin) return err({ kind: "NoSuchCoin", coin: ticker });
    const tokens = this.#tokensOf(coin);
    if (tokens.length > 0 && !force) {
      this.#passive.add(ticker);
      return ok({ cancelledOrders: [], passivized: true, tokens: [] });
    }
    const usedNow = this.#inUse(ticker, []);
    if (usedNow && !force) return err(usedNow);
    // No new order, no new token and no way back from here on; a swap may still begin before the last order is cancelled.
    this.#passive.add(ticker);
    this.#closing.add(ticker);
    let isPassive = false;
    try {
      const cancelledOrders: string[] = [];
      // Those that swaps need stay, and their platform coin with them.
      for (const token of tokens) {
        const gone = await this.disable(token.ticker, true);
        if (gone.ok) cancelledOrders.push(...gone.value.cancelledOrders);
      }
      cancelledOrders.push(...(await this.#deps.cancelOrdersOf(ticker)));
      const used = this.#inUse(ticker, cancelledOrders);
      isPassive = force && (used !== null || this.#tokensOf(coin).length > 0);
      if (!used && !isPassive) await this.#take(coin);
      return used && !force ? err(used) : ok({ cancelledOrders, passivized: isPassive, tokens: tokens.map((token) => token.ticker) });
    } finally {
      this.#closing.delete(ticker);
      if (!isPassive) this.#passive.delete(ticker);
    }
  }

  /** Tokens that need this platform coin's account. */
  #tokensOf(coin: ActiveCoin): readonly EvmCoin[] {
    if (coin.family !== "account" || coin.contract !== null) return [];
    return [...this.#coins.values()].filter((c): c is EvmCoin => c.family === "account" && c !== coin && c.account === coin.account);
  }

  /** Takes a coin out and closes it. */
  async #take(coin: ActiveCoin): Promise<void> {
    const { ticker } = coin;
    this.#coins.delete(ticker);
    this.#chains.delete(ticker);
    this.#passive.delete(ticker);
    this.#unseen.delete(ticker);
    this.#closing.add(ticker);
    try {
      await this.#deps.beforeClose(ticker);
      await this.#close(coin);
    } finally {
      this.#closing.delete(ticker);
    }
  }

  async #close(coin: ActiveCoin): Promise<void> {
    if (coin.family === "utxo") await coin.close();
    else await this.#accounts.close(coin);
  }

  #inUse(ticker: string, cancelledOrders: readonly string[]): (DisableError & { kind: "CoinInUse" }) | null {
    const { matchingOrders, activeSwaps } = this.#deps.usersOf(ticker);
    const inUse = matchingOrders.length > 0 || activeSwaps.length > 0;
    return inUse ? { kind: "CoinInUse", matchingOrders, cancelledOrders, activeSwaps } : null;
  }

  /** Ends what is being opened, too. Nothing can be enabled afterwards. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await Promise.allSettled(this.#work);
    const coins = [...this.#coins.values()];
    this.#coins.clear();
    await Promise.all(coins.map((c) => this.#close(c)));
  }
}
