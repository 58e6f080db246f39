import type { TradingCoin } from "../app/tradingCoin.ts";
import { err, ok, type Result } from "../core/util/result.ts";
import type { WalletCoin } from "./ctx/coins.ts";
import type { RpcContext } from "./ctx.ts";
import type { FaultSpec } from "./fault.ts";

export type NoSuchCoin = { readonly kind: "NoSuchCoin"; readonly coin: string };

export function activeCoin(ctx: RpcContext, ticker: string): Result<WalletCoin, NoSuchCoin> {
  const coin = ctx.coins.active(ticker);
  return coin ? ok(coin) : err({ kind: "NoSuchCoin", coin: ticker });
}

export function tradingCoin(ctx: RpcContext, ticker: string): Result<TradingCoin, NoSuchCoin> {
  const coin = ctx.coins.trading(ticker);
  return coin ? ok(coin) : err({ kind: "NoSuchCoin", coin: ticker });
}

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
