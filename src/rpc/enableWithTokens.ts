import type { EnableTokensError, TokenRequest } from "../app/coin/evmParts.ts";
import { err, ok, type Result } from "../core/util/result.ts";
import type { CoinsApi, EnableError, EnableRequest, WithTokens } from "./ctx/coins.ts";

/** Which of the two was refused. */
export type WithTokensError =
  | { readonly of: "platform"; readonly error: EnableError }
  | { readonly of: "tokens"; readonly error: EnableTokensError };

/**
 * Enables a platform coin and tokens beside it; where the tokens are refused, the platform coin goes again. Beside tokens that were there
 * before, which may have orders, it is put aside.
 */
export async function enableWithTokens(
  coins: Pick<CoinsApi, "enable" | "enableTokens" | "disable">,
  request: EnableRequest,
  tokens: readonly TokenRequest[],
  signal: AbortSignal,
): Promise<Result<WithTokens, WithTokensError>> {
  const { coin } = request;
  const platform = await coins.enable(request, signal);
  if (!platform.ok) return err({ of: "platform", error: platform.error });
  if (tokens.length === 0) return ok({ platform: platform.value, tokens: [] });
  const undo = async (): Promise<void> => {
    const gone = await coins.disable(coin, false);
    // Swaps that waited for it have taken it up.
    if (!gone.ok) await coins.disable(coin, true);
  };
  const opened = await coins.enableTokens(coin, tokens, signal).catch(async (cause: unknown) => {
    await undo();
    throw cause;
  });
  if (opened.ok) return ok({ platform: platform.value, tokens: opened.value });
  await undo();
  return err({ of: "tokens", error: opened.error });
}
