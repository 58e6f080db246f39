import type { EnableTokensError, TokenRequest } from "../app/coin/evmParts.ts";
import { err, ok, type Result } from "../core/util/result.ts";
import type { EnableError, EnableRequest, WalletCoin, WithTokens } from "./ctx/coins.ts";

/** Which of the two was refused. */
export type WithTokensError =
  | { readonly of: "platform"; readonly error: EnableError }
  | { readonly of: "tokens"; readonly error: EnableTokensError };

/** The node's coins, of which some are put aside: there for tokens and swaps, not for new trades. */
export type PlatformCoins = {
  enable(request: EnableRequest, signal: AbortSignal, aside: boolean): Promise<Result<WalletCoin, EnableError>>;
  enableTokens(
    platform: string,
    tokens: readonly TokenRequest[],
    signal: AbortSignal,
    besideAside: boolean,
  ): Promise<Result<readonly WalletCoin[], EnableTokensError>>;
  bringForward(ticker: string): void;
  closeAside(ticker: string): Promise<boolean>;
};

/**
 * Enables a platform coin and tokens beside it. It is put aside until its tokens are there, so that a refusal leaves everything as it was:
 * stored orders of it are neither offered nor cancelled meanwhile, and tokens that were there before stay.
 */
export async function enableWithTokens(
  coins: PlatformCoins,
  request: EnableRequest,
  tokens: readonly TokenRequest[],
  signal: AbortSignal,
): Promise<Result<WithTokens, WithTokensError>> {
  const { coin } = request;
  const platform = await coins.enable(request, signal, tokens.length > 0);
  if (!platform.ok) {
    // Where its nodes are away, or show another thing than they should, it stays for swaps that wait for it; so do the tokens.
    const mayBeKept = platform.error.kind === "DaemonFailed" || platform.error.kind === "ChainMismatch";
    if (mayBeKept && tokens.length > 0) await coins.enableTokens(coin, tokens, signal, false);
    return err({ of: "platform", error: platform.error });
  }
  if (tokens.length === 0) return ok({ platform: platform.value, tokens: [] });
  const opened = await coins.enableTokens(coin, tokens, signal, true).catch(async (cause: unknown) => {
    await coins.closeAside(coin);
    throw cause;
  });
  if (opened.ok) {
    coins.bringForward(coin);
    return ok({ platform: platform.value, tokens: opened.value });
  }
  await coins.closeAside(coin);
  return err({ of: "tokens", error: opened.error });
}
