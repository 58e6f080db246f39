import { z } from "zod";

const PLATFORM_DECIMALS = 18;

const platform = z.object({ type: z.literal("ETH"), protocol_data: z.object({ chain_id: z.int().positive() }) });
const token = z.object({ type: z.literal("ERC20"), protocol_data: z.looseObject({ platform: z.string() }) });
const decimalsOf = z.object({ decimals: z.int().min(0).max(PLATFORM_DECIMALS) });

/** What a topology's coin asks for, so far as its chain depends on it. */
export type WantedCoin =
  | { readonly kind: "utxo" }
  | { readonly kind: "platform"; readonly chainId: number }
  | { readonly kind: "token"; readonly platform: string; readonly decimals: number };

type Entry = { readonly coin: string; readonly [key: string]: unknown };

/** An entry that is no account coin's in good order is left to the embedded chain, which says what is wrong with it. */
export function wantedCoin(entry: Entry): WantedCoin {
  const eth = platform.safeParse(entry.protocol);
  if (eth.success) return { kind: "platform", chainId: eth.data.protocol_data.chain_id };
  const erc20 = token.safeParse(entry.protocol);
  if (!erc20.success) return { kind: "utxo" };
  const decimals = decimalsOf.safeParse(entry);
  return {
    kind: "token",
    platform: erc20.data.protocol_data.platform,
    decimals: decimals.success ? decimals.data.decimals : PLATFORM_DECIMALS,
  };
}

/** Why a node cannot enable these coins in this order, one sentence; null: it can. */
export function wrongOrder(node: string, enable: readonly string[], coins: readonly Entry[]): string | null {
  const wanted = new Map(coins.map((entry) => [entry.coin, wantedCoin(entry)]));
  for (const [i, ticker] of enable.entries()) {
    const coin = wanted.get(ticker);
    if (coin?.kind === "token" && !enable.slice(0, i).includes(coin.platform))
      return `node ${node} enables ${ticker}, which needs ${coin.platform} enabled before it`;
  }
  return null;
}

/** Whether a topology needs a program that may be missing. */
export const needsAnvil = (coins: readonly Entry[]): boolean => coins.some((entry) => wantedCoin(entry).kind !== "utxo");
