import { z } from "zod";
import { toDecimalString } from "../core/money/rational.ts";
import type { WalletCoin } from "./ctx/coins.ts";
import { decimalText } from "./money.ts";

/** One coin's balance as the versioned activation calls give it. */
export const balanceShape = z.object({ spendable: decimalText, unspendable: decimalText });

export const balanceOf = (coin: WalletCoin): z.input<typeof balanceShape> => ({
  spendable: toDecimalString(coin.spendable()),
  unspendable: toDecimalString(coin.unspendable()),
});
