import { z } from "zod";
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
