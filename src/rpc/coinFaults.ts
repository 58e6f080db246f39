import { err, ok, type Result } from "../core/util/result.ts";
import type { RpcCoin, WalletCoin } from "./ctx/coins.ts";
import type { RpcContext } from "./ctx.ts";
import type { FaultSpec } from "./fault.ts";

export type NoSuchCoin = { readonly kind: "NoSuchCoin"; readonly coin: string };

export function activeCoin(ctx: RpcContext, ticker: string): Result<WalletCoin, NoSuchCoin> {
  const coin = ctx.coins.active(ticker);
  return coin ? ok(coin) : err({ kind: "NoSuchCoin", coin: ticker });
}

export type NotTraded = { readonly kind: "NotTraded"; readonly coin: string };

/** What a client is told of a coin that this version can only hold and send. */
export const notTradedText = (ticker: string): string =>
  `'${ticker}' can be held and sent, but not traded: this version of the node has no swaps on account chains`;

export function tradingCoin(ctx: RpcContext, ticker: string): Result<RpcCoin, NoSuchCoin | NotTraded> {
  const coin = ctx.coins.trading(ticker);
  if (coin) return ok(coin);
  return err({ kind: ctx.coins.active(ticker) ? "NotTraded" : "NoSuchCoin", coin: ticker });
}

export const NOT_TRADED: FaultSpec<NotTraded> = {
  http: 400,
  when: "The coin lives on an account chain.",
  text: ({ coin }) => notTradedText(coin),
  data: ({ coin }) => ({ coin }),
};

/**
 * The coin is not enabled. Older flat methods have a colon in the text, newer ones have none (reference rpc.md section 10).
 * @param http status of the versioned form
 */
export const noSuchCoin = (colon: boolean, http = 404): FaultSpec<NoSuchCoin> => ({
  http,
  when: "The coin is not enabled.",
  text: ({ coin }) => `No such coin${colon ? ":" : ""} ${coin}`,
  data: ({ coin }) => ({ coin }),
});
