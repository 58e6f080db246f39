import type { CoinEntry } from "../../core/coin/coinEntry.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { EvmCoin } from "./evm/evmCoin.ts";
import type { EnableTokensError, TokenRequest } from "./evmParts.ts";

/** What a request for tokens comes to. `back`: those that were disabled while swaps need them are there, and only take new trades again. */
export type TokensToOpen = {
  readonly tokens: readonly { readonly entry: CoinEntry; readonly requiredConfirmations: number | undefined }[];
  readonly back: readonly EvmCoin[];
};

/** @param placeOf a token that was put aside, `taken` for one that is in use, null for one that is not there */
export function tokensToOpen(
  requests: readonly TokenRequest[],
  entries: ReadonlyMap<string, CoinEntry>,
  placeOf: (ticker: string) => EvmCoin | "taken" | null,
): Result<TokensToOpen, EnableTokensError> {
  const tokens: TokensToOpen["tokens"][number][] = [];
  const back: EvmCoin[] = [];
  const named = new Set<string>();
  for (const { ticker, requiredConfirmations } of requests) {
    const entry = entries.get(ticker);
    if (!entry) return err({ kind: "TokenConfigIsNotFound", ticker });
    if (entry.protocol.type !== "ERC20") return err({ kind: "UnexpectedTokenProtocol", ticker, protocol: entry.protocol.type });
    const place = placeOf(ticker);
    if (named.has(ticker) || place === "taken") return err({ kind: "TokenIsAlreadyActivated", ticker });
    named.add(ticker);
    if (place === null) tokens.push({ entry, requiredConfirmations });
    else back.push(place);
  }
  return ok({ tokens, back });
}
