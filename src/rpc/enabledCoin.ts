import { z } from "zod";
import type { FeeCoin } from "../core/coin/feeCoin.ts";
import { toDecimalString } from "../core/money/rational.ts";
import type { WalletCoin } from "./ctx/coins.ts";
import { decimalText } from "./money.ts";
import { oldViewOf, oldViewShape } from "./oldView.ts";

/** What the flat calls that enable a coin answer (reference rpc.md 5.1). */
export const enabledCoin = z.object({
  result: z.literal("success"),
  address: z.string(),
  balance: decimalText,
  unspendable_balance: decimalText,
  coin: z.string(),
  required_confirmations: z.number(),
  requires_notarization: z.boolean(),
  mature_confirmations: z.number().optional(),
  swapnode: oldViewShape,
});

/**
 * The same of a coin that answers questions about fees alone. No address and no balance: nothing paid to one would be seen, and
 * no figure would be true.
 */
export const enabledForFees = z.object({
  result: z.literal("success"),
  coin: z.string(),
  swapnode: z.object({ state: z.literal("fees_only") }).describe("Of Qtum and QRC-20 tokens: only questions about fees are answered."),
});

export const enabledForFeesToJson = ({ ticker }: FeeCoin): z.input<typeof enabledForFees> => ({
  result: "success",
  coin: ticker,
  swapnode: { state: "fees_only" },
});

export const enabledCoinToJson = (coin: WalletCoin): z.input<typeof enabledCoin> => ({
  result: "success",
  address: coin.address,
  balance: toDecimalString(coin.spendable()),
  unspendable_balance: toDecimalString(coin.unspendable()),
  coin: coin.ticker,
  required_confirmations: coin.settings.confirmations,
  requires_notarization: coin.settings.notarization,
  ...(coin.matureConfirmations === null ? {} : { mature_confirmations: coin.matureConfirmations }),
  ...oldViewOf(coin),
});
