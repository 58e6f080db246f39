import type { CoinEntry } from "../../core/coin/coinEntry.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import { Aborted } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { type AccountOpener, platformOf } from "./accountOpener.ts";
import type { CoinShelf } from "./coinShelf.ts";
import type { ActiveCoin } from "./enabling.ts";
import type { EvmCoin } from "./evm/evmCoin.ts";
import type { EnableTokensError, TokenRequest } from "./evmParts.ts";
import type { KeptCoins } from "./keptCoins.ts";
import { type TokensToOpen, tokensToOpen } from "./tokensToOpen.ts";

export type TokenCoinsDeps = {
  readonly shelf: CoinShelf;
  readonly accounts: Pick<AccountOpener, "openTokens" | "leave" | "close">;
  readonly kept: Pick<KeptCoins, "keepTokens" | "replace">;
  readonly entries: ReadonlyMap<string, CoinEntry>;
  readonly log: Log;
  /** Whether a token was put aside and no swap that goes on needs it. Enabled again it is opened anew, and takes the place of what was kept. */
  readonly isIdleAside: (token: EvmCoin) => boolean;
};

type Opened = Result<readonly EvmCoin[], EnableTokensError>;

/** Enables tokens beside their platform coin. */
export class TokenCoins {
  readonly #deps: TokenCoinsDeps;

  constructor(deps: TokenCoinsDeps) {
    this.#deps = deps;
  }

  /** See `CoinRegistry.enableTokens`. */
  async enable(platform: string | null, requests: readonly TokenRequest[], signal: AbortSignal, besideAside: boolean): Promise<Opened> {
    const { entries, shelf, kept } = this.#deps;
    const sorted = tokensToOpen(requests, entries, (ticker) => this.#placeOf(ticker));
    if (!sorted.ok) return sorted;
    const { tokens, back } = sorted.value;
    const first = entries.get(requests[0]?.ticker ?? "");
    const name = platform ?? (first ? platformOf(first) : "");
    const beside = (): ActiveCoin | undefined => (besideAside && !shelf.closing.has(name) ? shelf.coins.get(name) : shelf.wallet(name));
    const coin = beside();
    const unseen = shelf.unseen.has(name) ? shelf.coins.get(name) : undefined;
    if (unseen?.family === "account") await kept.keepTokens(unseen, tokens, `its platform coin ${name} was kept`);
    if (unseen || coin?.family !== "account" || coin.contract !== null) return err({ kind: "PlatformCoinIsNotActivated", platform: name });
    const other = back.find((token) => token.account !== coin.account);
    if (other) return err({ kind: "TokenIsAlreadyActivated", ticker: other.ticker });
    const aside = new Set(requests.filter((request) => request.aside).map(({ ticker }) => ticker));
    const opened = await this.#openAll(coin, tokens, aside, () => beside() !== coin, signal);
    if (!opened.ok) return opened;
    const forward = back.filter(({ ticker }) => !aside.has(ticker));
    for (const token of forward) if (shelf.coins.get(token.ticker) === token) shelf.bringForward(token.ticker);
    const all = [...opened.value, ...back];
    return ok(requests.flatMap(({ ticker }) => all.find((token) => token.ticker === ticker) ?? []));
  }

  #placeOf(ticker: string): EvmCoin | "taken" | null {
    const place = this.#deps.shelf.placeOf(ticker);
    return place === null || place === "taken" || !this.#deps.isIdleAside(place) ? place : null;
  }

  async #openAll(
    platform: EvmCoin,
    tokens: TokensToOpen["tokens"],
    aside: ReadonlySet<string>,
    isGone: () => boolean,
    signal: AbortSignal,
  ): Promise<Opened> {
    const { shelf, accounts } = this.#deps;
    const gone = err({ kind: "PlatformCoinIsNotActivated" as const, platform: platform.ticker });
    for (const { entry } of tokens) shelf.opening.set(entry.ticker, null);
    try {
      const opened = tokens.length > 0 ? await accounts.openTokens(platform, tokens, signal) : ok([]);
      if (isGone()) {
        if (opened.ok) await this.#leaveAll(opened.value);
        return gone;
      }
      if (opened.ok) await this.#enterAll(platform, opened.value, aside);
      else await this.#keep(platform, tokens, opened.error);
      return opened;
    } catch (cause) {
      // Its account was closed under the work.
      if (cause instanceof Aborted && !signal.aborted && isGone()) return gone;
      throw cause;
    } finally {
      for (const { entry } of tokens) shelf.opening.delete(entry.ticker);
    }
  }

  /** One of several that is not what the coins file says keeps nobody from the others: who enables them asks for each alone. */
  async #keep(platform: EvmCoin, tokens: TokensToOpen["tokens"], error: EnableTokensError): Promise<void> {
    const { kept } = this.#deps;
    if (error.kind === "DaemonFailed") await kept.keepTokens(platform, tokens, error.message);
    if (error.kind === "ChainMismatch" && tokens.length === 1) await kept.keepTokens(platform, tokens, error.reason);
  }

  async #enterAll({ ticker }: EvmCoin, tokens: readonly EvmCoin[], aside: ReadonlySet<string>): Promise<void> {
    const { shelf, kept, log } = this.#deps;
    for (const token of tokens) if (aside.has(token.ticker)) shelf.passive.add(token.ticker);
    shelf.enterAll(tokens.filter((token) => !shelf.coins.has(token.ticker)));
    for (const token of tokens) {
      const before = shelf.coins.get(token.ticker);
      if (before?.family === "account" && before !== token) await kept.replace(before, token, aside.has(token.ticker));
    }
    log.info("tokens_activated", { coin: ticker, count: tokens.length });
  }

  /** Their platform coin was disabled meanwhile; its account may live on under other tokens, and under what was kept of these. */
  async #leaveAll(tokens: readonly EvmCoin[]): Promise<void> {
    const { shelf, accounts } = this.#deps;
    for (const token of tokens) await (shelf.coins.has(token.ticker) ? accounts.leave(token) : accounts.close(token));
  }
}
