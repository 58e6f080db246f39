import { platformOf } from "../app/coin/accountOpener.ts";
import type { CoinRegistry } from "../app/coin/coinRegistry.ts";
import { FeeCoins } from "../app/coin/feeCoins.ts";
import type { LastCoins } from "../app/coin/lastCoins.ts";
import { ok } from "../core/util/result.ts";
import type { CoinsApi } from "../rpc/ctx/coins.ts";
import { enableWithTokens } from "../rpc/enableWithTokens.ts";

export type RememberedCoins = Pick<
  LastCoins,
  "remember" | "rememberTokens" | "forget" | "setAside" | "beside" | "whyAway" | "instead" | "isTried"
>;

/**
 * The coins as the RPC methods ask for them: those of the registry, beside them those for questions about fees.
 * @param lastCoins remembers enabled coins for the next start, of the registry's alone; null: nothing does
 */
export function coinsApi(coins: CoinRegistry, lastCoins: RememberedCoins | null): CoinsApi {
  const forFees = new FeeCoins((ticker) => coins.entry(ticker));
  return {
    forFees,
    active: (ticker) => coins.wallet(ticker),
    trading: (ticker) => coins.active(ticker),
    all: () => coins.all(),
    entry(ticker) {
      const entry = coins.entry(ticker);
      return (
        entry && {
          walletOnly: entry.walletOnly,
          orderbookTicker: entry.orderbookTicker,
          protocol: JSON.stringify(entry.raw.protocol ?? null),
          qrc20Platform: entry.protocol.type === "QRC20" ? platformOf(entry) : null,
        }
      );
    },
    // What the node tries by itself gives way to who asks.
    opening: (ticker) => (lastCoins?.isTried(ticker) ? undefined : coins.opening(ticker)),
    whyAway: (ticker) => lastCoins?.whyAway(ticker) ?? forFees.why(ticker),
    async enable(request, signal) {
      if (lastCoins === null) return coins.enable(request, signal);
      return lastCoins.instead([request.coin], async () => {
        const done = await coins.enable(request, signal);
        if (done.ok) await lastCoins.remember(request);
        return done;
      });
    },
    async enableTokens(platform, tokens, signal) {
      if (lastCoins === null) return coins.enableTokens(platform, tokens, signal);
      const tickers = tokens.map((token) => token.ticker);
      return lastCoins.instead(tickers, async () => {
        const done = await coins.enableTokens(platform, tokens, signal);
        const [first] = done.ok ? done.value : [];
        if (first) await lastCoins.rememberTokens(first.account.platform, tokens);
        return done;
      });
    },
    async enableWithTokens(request, tokens, signal) {
      if (lastCoins === null) return enableWithTokens(coins, request, tokens, signal);
      return lastCoins.instead([request.coin, ...tokens.map((token) => token.ticker)], async () => {
        // Remembered together: what is refused changes nothing of what was.
        const done = await enableWithTokens(coins, request, tokens, signal);
        if (done.ok) await lastCoins.remember(request);
        if (done.ok && tokens.length > 0) await lastCoins.rememberTokens(request.coin, tokens);
        return done;
      });
    },
    async disable(ticker, force) {
      if (forFees.disable(ticker)) return ok({ cancelledOrders: [], passivized: false });
      if (lastCoins === null) return coins.disable(ticker, force);
      const isAwaited = lastCoins.whyAway(ticker) !== null;
      const tokens = lastCoins.beside(ticker);
      const work = async (): ReturnType<CoinsApi["disable"]> => {
        const there = await coins.disable(ticker, force, tokens);
        const isAway = isAwaited && !there.ok && there.error.kind === "NoSuchCoin";
        const done = isAway ? await coins.disableAwaited(ticker, tokens, force) : there;
        if (!done.ok) return done;
        const { kept } = done.value;
        // Another client may have enabled it while its orders were being cancelled, and that is remembered.
        const gone = [ticker, ...done.value.tokens].filter((coin) => coins.wallet(coin) === undefined && !kept.includes(coin));
        if (kept.length > 0) await lastCoins.setAside(kept);
        if (gone.length > 0) await lastCoins.forget(gone);
        return done;
      };
      // A try that is just being made must not end in between.
      return lastCoins.instead(isAwaited ? [ticker, ...tokens] : tokens, work);
    },
  };
}
