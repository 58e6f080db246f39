import type { CoinEntry } from "../../core/coin/coinEntry.ts";
import { isEvmProtocol } from "../../core/coin/evmProtocol.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { ScanProgress } from "../../ports/chain.ts";
import { Aborted } from "../../ports/clock.ts";
import { withParents } from "../../ports/withParents.ts";
import type { SwapCoin } from "../swap/swapCoin.ts";
import { AccountOpener, platformOf } from "./accountOpener.ts";
import { CoinDisabler } from "./coinDisabler.ts";
import { CoinShelf } from "./coinShelf.ts";
import { CoinUses } from "./coinUses.ts";
import type { ActiveCoin, CoinRegistryDeps, DisabledCoin, DisableError, EnableError, EnableRequest } from "./enabling.ts";
import type { EvmCoin } from "./evm/evmCoin.ts";
import type { EnableTokensError, TokenRequest } from "./evmParts.ts";
import { KeptCoins } from "./keptCoins.ts";
import { TokenCoins } from "./tokenCoins.ts";
import type { UtxoCoin } from "./utxoCoin.ts";
import { beginWith, type OpenedChain, openUtxoCoin, planOf } from "./utxoOpener.ts";

/** As text a password is the same as any other. */
const isSame = (a: EnableRequest, b: EnableRequest): boolean =>
  JSON.stringify(a) === JSON.stringify(b) && a.daemon?.password.reveal() === b.daemon?.password.reveal();

/** The activated coins. */
export class CoinRegistry {
  readonly #deps: CoinRegistryDeps;
  readonly #shelf: CoinShelf;
  readonly #accounts: AccountOpener;
  readonly #kept: KeptCoins;
  readonly #tokens: TokenCoins;
  readonly #uses: CoinUses;
  readonly #disabler: CoinDisabler;
  /** Of the coins of the UTXO family, with the request each goes on with. */
  readonly #chains = new Map<string, { readonly chain: OpenedChain; readonly request: EnableRequest }>();
  readonly #stopping = new AbortController();
  /** Openings under way. */
  readonly #work = new Set<Promise<unknown>>();
  /** Of these the ones that were called off and are just ending, by coin. */
  readonly #calledOff = new Map<string, Promise<unknown>>();

  constructor(deps: CoinRegistryDeps) {
    const { log, entries, usersOf, beforeClose, cancelOrdersOf } = deps;
    this.#deps = deps;
    this.#shelf = new CoinShelf(deps.prepare);
    this.#accounts = new AccountOpener(deps);
    this.#uses = new CoinUses(deps);
    this.#disabler = new CoinDisabler({ shelf: this.#shelf, uses: this.#uses, cancelOrdersOf, take: (coin) => this.#take(coin) });
    const shared = { shelf: this.#shelf, accounts: this.#accounts, log, entries };
    this.#kept = new KeptCoins({ ...shared, usersOf, beforeClose });
    this.#tokens = new TokenCoins({ ...shared, kept: this.#kept, isIdleAside: (token) => this.#isIdleAside(token) });
  }

  entry(ticker: string): CoinEntry | undefined {
    return this.#deps.entries.get(ticker);
  }
  active(ticker: string): SwapCoin | undefined {
    return this.#shelf.active(ticker);
  }
  running(ticker: string): SwapCoin | undefined {
    return this.#shelf.running(ticker);
  }
  /** One of the UTXO family, whether or not it takes new trades. */
  utxo(ticker: string): UtxoCoin | undefined {
    const coin = this.#shelf.coins.get(ticker);
    return coin?.family === "utxo" ? coin : undefined;
  }
  wallet(ticker: string): ActiveCoin | undefined {
    return this.#shelf.wallet(ticker);
  }
  all(): readonly ActiveCoin[] {
    return this.#shelf.all();
  }
  /** A coin that is just being enabled: null until its chain is there. */
  opening(ticker: string): { readonly progress: ScanProgress | null } | null | undefined {
    const chain = this.#calledOff.has(ticker) ? undefined : this.#shelf.opening.get(ticker);
    return chain && { progress: chain.status().progress };
  }
  onActivated(listener: () => void): () => void {
    return this.#shelf.onActivated(listener);
  }

  /** @param aside it is put aside, and stays so, until `bringForward` or another request enables it */
  async enable(request: EnableRequest, signal: AbortSignal, aside = false): Promise<Result<ActiveCoin, EnableError>> {
    const { coin: ticker } = request;
    const entry = this.#deps.entries.get(ticker);
    const before = this.#calledOff.get(ticker);
    if (before) await before;
    if (this.#stopping.signal.aborted) throw new Aborted("the node stops");
    const taken = this.#taken(ticker);
    if (taken) return err(taken);
    if (!(entry?.mm2 || request.mm2)) return err({ kind: "Mm2NotSet", coin: ticker });
    if (!entry) return err({ kind: "ProtocolMissing", coin: ticker });
    const back = this.#shelf.coins.get(ticker);
    this.#shelf.opening.set(ticker, back?.family === "utxo" ? back.chain : null);
    const opening = withParents([signal, this.#stopping.signal], (s) =>
      back ? this.#enableAgain(entry, back, request, aside, s) : this.#open(entry, request, aside, s),
    );
    return this.#unlessCalledOff(ticker, this.#noted([ticker], opening), signal);
  }

  /** Whoever called it off may ask for another at once, which waits until this one has ended. */
  async #unlessCalledOff<T>(ticker: string, opening: Promise<T>, signal: AbortSignal): Promise<T> {
    const onAbort = (): void => void this.#calledOff.set(ticker, Promise.allSettled([opening]));
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await opening;
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#calledOff.delete(ticker);
    }
  }

  /** What stayed for swaps or tokens is there already. */
  #enableAgain(
    entry: CoinEntry,
    back: ActiveCoin,
    request: EnableRequest,
    aside: boolean,
    s: AbortSignal,
  ): Promise<Result<ActiveCoin, EnableError>> {
    const before = this.#shelf.unseen.get(entry.ticker);
    const isIdle = this.#isIdleAside(back);
    if (back.family === "account")
      return before !== undefined || isIdle ? this.#openAgain(entry, back, request, aside, s) : this.#reopen(back, request, aside, s);
    if (before) return this.#lookAgain(entry, back, before, request, aside, s);
    return isIdle && !aside ? this.#openAnew(entry, back, request, s) : this.#takeBack(entry, back, request, aside, s);
  }

  /** What is opened is known as such until it is done, and `close` waits for it. */
  async #noted<T>(tickers: readonly string[], opening: Promise<T>): Promise<T> {
    this.#work.add(opening);
    try {
      return await opening;
    } finally {
      this.#work.delete(opening);
      for (const ticker of tickers) this.#shelf.opening.delete(ticker);
    }
  }

  /** Why a coin cannot be enabled now, with how far its first scan is: the way to ask for it while it runs. */
  #taken(ticker: string): EnableError | null {
    const coin = this.wallet(ticker);
    if (coin) return { kind: "AlreadyActive", coin: ticker, progress: coin.family === "utxo" ? coin.chain.status().progress : null };
    const chain = this.#shelf.opening.get(ticker);
    if (chain !== undefined) return { kind: "BeingEnabled", coin: ticker, progress: chain?.status().progress ?? null };
    return this.#shelf.closing.has(ticker) ? { kind: "BeingDisabled", coin: ticker } : null;
  }

  /** @param isWaitedFor whether swaps wait for it, which it stays for while its backend is away */
  async #open(
    entry: CoinEntry,
    request: EnableRequest,
    aside: boolean,
    signal: AbortSignal,
    isWaitedFor = (): boolean => this.#kept.isWaitedFor(entry.ticker),
  ): Promise<Result<ActiveCoin, EnableError>> {
    const { ticker } = entry;
    if (entry.protocol.type === "") return err({ kind: "ProtocolMissing", coin: ticker });
    const opened = isEvmProtocol(entry.protocol.type)
      ? await this.#openAccount(entry, request, signal)
      : await this.#openUtxo(entry, request, signal, isWaitedFor);
    if (!opened.ok) return opened;
    this.#shelf.enter(opened.value, aside);
    this.#deps.log.info("coin_activated", { coin: ticker, address: opened.value.address });
    return opened;
  }

  async #openUtxo(
    entry: CoinEntry,
    request: EnableRequest,
    signal: AbortSignal,
    isWaitedFor: () => boolean,
  ): Promise<Result<UtxoCoin, EnableError>> {
    const { ticker } = entry;
    let opened: OpenedChain | null = null;
    const onChain = (chain: OpenedChain): void => {
      this.#shelf.opening.set(ticker, chain);
      opened = chain;
    };
    const made = await openUtxoCoin({ ...this.#deps, shelf: this.#shelf }, entry, request, isWaitedFor(), onChain, signal);
    if (!made.ok) return made;
    const { coin, away } = made.value;
    const stays = away === null || isWaitedFor();
    if (opened !== null && stays) this.#chains.set(ticker, { chain: opened, request });
    if (away === null) return ok(coin);
    if (stays) this.#kept.keep(coin, request, away);
    else await coin.close();
    return err({ kind: "DaemonFailed", coin: ticker, message: away });
  }

  async #openAccount(entry: CoinEntry, request: EnableRequest, signal: AbortSignal): Promise<Result<EvmCoin, EnableError>> {
    const opened = await this.#accounts.open(entry, request, signal, this.#kept.isWaitedFor(entry.ticker));
    if (!opened.ok) return opened;
    const { coin, away, refused } = opened.value;
    if (away === null) return ok(coin);
    this.#kept.keep(coin, request, away);
    return err(refused ?? { kind: "DaemonFailed", coin: entry.ticker, message: away });
  }

  /** A coin of an account chain that was kept for swaps is enabled: all of the request is checked, and another one takes its place. Refused, it stays. */
  async #openAgain(
    entry: CoinEntry,
    back: EvmCoin,
    request: EnableRequest,
    aside: boolean,
    signal: AbortSignal,
  ): Promise<Result<ActiveCoin, EnableError>> {
    const opened = await this.#accounts.open(entry, request, signal, false);
    if (!opened.ok) return opened;
    const { coin } = opened.value;
    await this.#kept.replace(back, coin, aside);
    this.#deps.log.info("coin_activated", { coin: coin.ticker, address: coin.address });
    return ok(coin);
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
    if (!isSame(before, request)) return this.#openInstead(entry, back, before, request, aside, signal);
    const away = await beginWith({ ...this.#deps, shelf: this.#shelf }, back, request, signal);
    if (away !== null) return err({ kind: "DaemonFailed", coin: ticker, message: away });
    this.#shelf.unseen.delete(ticker);
    if (!aside) this.#shelf.passive.delete(ticker);
    this.#deps.log.info("coin_activated", { coin: ticker, address: back.address });
    this.#shelf.tell();
    return ok(back);
  }

  async #keepAgain(entry: CoinEntry, request: EnableRequest): Promise<void> {
    const { signal } = this.#stopping;
    try {
      // What was read so far counts, whatever it was enabled with at first.
      await this.#open(entry, { ...request, rescan: false }, true, signal, () => this.#uses.isNeeded(entry.ticker));
    } catch (error) {
      if (!signal.aborted) this.#deps.log.error("coin_not_kept", { coin: entry.ticker, error });
    }
  }

  /**
   * Whether it was put aside and nothing that goes on needs it: swaps that have ended and may change yet can do without it for a while. Of a platform
   * coin whether its tokens were put aside as well, and none is just being opened beside it.
   */
  #isIdleAside(coin: ActiveCoin): boolean {
    const { ticker } = coin;
    const isBesideIt = (other: string): boolean => {
      const entry = this.#deps.entries.get(other);
      return entry !== undefined && platformOf(entry) === ticker;
    };
    if (!this.#shelf.passive.has(ticker) || this.#uses.inUse([ticker]) || [...this.#shelf.opening.keys()].some(isBesideIt)) return false;
    return this.#shelf.tokensOf(coin).every((token) => this.#isIdleAside(token));
  }

  /** A coin that was put aside, and that nothing needs which goes on: what can be told to be of no use before it is closed leaves it as it is. */
  async #openAnew(entry: CoinEntry, back: UtxoCoin, request: EnableRequest, signal: AbortSignal): Promise<Result<ActiveCoin, EnableError>> {
    const tried = await this.#try(entry, request, request.rescan ?? false, signal);
    return tried.ok ? this.#openInstead(entry, back, this.#chains.get(entry.ticker)?.request, request, false, signal) : tried;
  }

  /**
   * All of the request counts, as of one for a coin that is not there: whoever disabled it may want it over another backend, or scanned anew.
   * An index has one writer, so what was there is closed first.
   * @param before what that was opened with
   */
  async #openInstead(
    entry: CoinEntry,
    back: UtxoCoin,
    before: EnableRequest | undefined,
    request: EnableRequest,
    aside: boolean,
    signal: AbortSignal,
  ): Promise<Result<ActiveCoin, EnableError>> {
    const { ticker } = entry;
    await this.#take(back);
    try {
      return await this.#open(entry, request, aside, signal);
    } finally {
      // Refused or called off: its swaps go on with what they had.
      if (before && !this.#shelf.coins.has(ticker) && this.#uses.isNeeded(ticker)) await this.#keepAgain(entry, before);
    }
  }

  /** A coin that stayed for its swaps is enabled again. */
  async #takeBack(
    entry: CoinEntry,
    back: UtxoCoin,
    request: EnableRequest,
    aside: boolean,
    signal: AbortSignal,
  ): Promise<Result<ActiveCoin, EnableError>> {
    const used = aside ? ok(undefined) : await this.#useServers(entry, request, signal);
    return used.ok ? this.#forward(back, aside) : used;
  }

  /**
   * It goes on with the servers that are named now: those it had may be why it was disabled. What only the next start goes on with is tried
   * before anybody remembers it: with a daemon that refuses the password its swaps would stand still from then on.
   */
  async #useServers(entry: CoinEntry, request: EnableRequest, signal: AbortSignal): Promise<Result<undefined, EnableError>> {
    const tried = await this.#try(entry, request, false, signal);
    const there = this.#chains.get(request.coin);
    if (!tried.ok || !request.electrum || !there?.chain.useServers) return tried;
    const used = there.chain.useServers(request.electrum);
    if (used.ok) this.#chains.set(request.coin, { ...there, request });
    return used;
  }

  /** Whether a coin that is there could be opened by a request, as far as that can be told while it is. */
  async #try(entry: CoinEntry, request: EnableRequest, rescan: boolean, signal: AbortSignal): Promise<Result<undefined, EnableError>> {
    const plan = planOf(this.#deps, entry, request, false);
    if (!plan.ok) return plan;
    return (await this.#chains.get(entry.ticker)?.chain.tryOther?.(plan.value.source, rescan, signal)) ?? ok(undefined);
  }

  /** Nothing that needed it may be left by now. */
  #forward(back: ActiveCoin, aside: boolean): Result<ActiveCoin, EnableError> {
    const { ticker } = back;
    if (this.#shelf.coins.get(ticker) !== back || this.#shelf.closing.has(ticker)) return err({ kind: "BeingDisabled", coin: ticker });
    if (!aside) this.#shelf.passive.delete(ticker);
    return ok(back);
  }

  /** The same of a coin of an account chain and its nodes, which are tried first. */
  async #reopen(back: EvmCoin, { nodes }: EnableRequest, aside: boolean, signal: AbortSignal): Promise<Result<ActiveCoin, EnableError>> {
    const refused = await this.#accounts.useNodes(back, nodes, signal);
    return refused ? err(refused) : this.#forward(back, aside);
  }

  /** A coin that was put aside takes new trades from now on. */
  bringForward(ticker: string): void {
    this.#shelf.bringForward(ticker);
  }

  /**
   * Closes a coin that was put aside and that no token and no swap needs, nor one that has ended until nothing about it can change. Its orders are not cancelled: they wait for it.
   * @returns whether it did
   */
  async closeAside(ticker: string): Promise<boolean> {
    const coin = this.#shelf.coins.get(ticker);
    if (!coin || !this.#shelf.passive.has(ticker) || this.#shelf.closing.has(ticker) || this.#shelf.opening.has(ticker)) return false;
    if (this.#shelf.tokensOf(coin).length > 0 || this.#uses.isNeeded(ticker)) return false;
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
    const opening = withParents([signal, this.#stopping.signal], (s) => this.#tokens.enable(platform, requests, s, besideAside));
    return this.#noted([], opening);
  }

  /** @param awaited tokens of it that are not there yet, and without it cannot be: what they need it for counts as well, and they go with it */
  async disable(ticker: string, force: boolean, awaited: readonly string[] = []): Promise<Result<DisabledCoin, DisableError>> {
    return this.#disabler.disable(ticker, force, awaited);
  }

  /**
   * The same of a coin of the last run that is not there yet, and is not to come back for trades.
   * @param tokens those of it that are not there yet either, and without it cannot be
   */
  async disableAwaited(ticker: string, tokens: readonly string[], force: boolean): Promise<Result<DisabledCoin, DisableError>> {
    return this.#disabler.disableAwaited(ticker, tokens, force);
  }

  /** Takes a coin out and closes it. */
  async #take(coin: ActiveCoin): Promise<void> {
    const { ticker } = coin;
    this.#shelf.drop(ticker);
    this.#chains.delete(ticker);
    this.#shelf.closing.add(ticker);
    try {
      await this.#deps.beforeClose(ticker);
      await this.#close(coin);
    } finally {
      this.#shelf.closing.delete(ticker);
    }
  }

  async #close(coin: ActiveCoin): Promise<void> {
    if (coin.family === "utxo") await coin.close();
    else await this.#accounts.close(coin);
  }

  /** Ends what is being opened, too. Nothing can be enabled afterwards. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await Promise.allSettled(this.#work);
    const coins = [...this.#shelf.coins.values()];
    this.#shelf.coins.clear();
    await Promise.all(coins.map((c) => this.#close(c)));
  }
}
