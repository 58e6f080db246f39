import type { TradingCoin } from "../app/tradingCoin.ts";
import { err, ok, type Result } from "../core/util/result.ts";
import type { WalletCoin } from "./ctx/coins.ts";
import type { RpcContext } from "./ctx.ts";
import type { FaultSpec } from "./fault.ts";

/** `why`: sentences about one that the node is enabling again by itself; null where there is nothing to say. */
export type NoSuchCoin = { readonly kind: "NoSuchCoin"; readonly coin: string; readonly why: string | null };

export function activeCoin(ctx: RpcContext, ticker: string): Result<WalletCoin, NoSuchCoin> {
  const coin = ctx.coins.active(ticker);
  return coin ? ok(coin) : err({ kind: "NoSuchCoin", coin: ticker, why: ctx.coins.whyAway(ticker) });
}

export function tradingCoin(ctx: RpcContext, ticker: string): Result<TradingCoin, NoSuchCoin> {
  const coin = ctx.coins.trading(ticker);
  return coin ? ok(coin) : err({ kind: "NoSuchCoin", coin: ticker, why: ctx.coins.whyAway(ticker) });
}

export const AWAITED = "One that the node is enabling again by itself: the text goes on with why it is not there yet.";
export const withWhy = (text: string, why: string | null): string => (why === null ? text : `${text}. ${why}`);

/**
 * The coin is not enabled. Older flat methods have a colon in the text, newer ones have none (reference rpc.md section 10).
 * @param http status of the versioned form
 */
export const noSuchCoin = (colon: boolean, http = 404): FaultSpec<NoSuchCoin> => ({
  http,
  when: `The coin is not enabled. ${AWAITED}`,
  text: ({ coin, why }) => withWhy(`No such coin${colon ? ":" : ""} ${coin}`, why),
  data: ({ coin }) => ({ coin }),
});
