import { z } from "zod";
import type { Outage } from "../../app/tradingCoin.ts";
import { toDecimalString } from "../../core/money/rational.ts";
import { err, ok } from "../../core/util/result.ts";
import { activeCoin, type NoSuchCoin, noSuchCoin } from "../coinFaults.ts";
import { defineMethod } from "../define.ts";
import { legacyCoin } from "../field.ts";
import { FUNDS_FAULTS } from "../fundsFaults.ts";
import { decimalText } from "../money.ts";
import { oldViewOf, oldViewShape } from "../oldView.ts";

export const myBalance = defineMethod<NoSuchCoin | Outage>()({
  name: "my_balance",
  style: "flat",
  flatReply: "bare",
  summary: "Balance and address of an enabled coin.",
  source: "reference rpc.md 5.1",
  params: z.object({ coin: legacyCoin() }),
  result: z.object({
    coin: z.string(),
    balance: decimalText,
    unspendable_balance: decimalText,
    address: z.string(),
    swapnode: oldViewShape,
  }),
  async handle(p, ctx) {
    const coin = activeCoin(ctx, p.coin);
    if (!coin.ok) return coin;
    const { value } = coin;
    const untold = value.untold?.();
    if (untold) return err(untold);
    return ok({
      coin: p.coin,
      balance: toDecimalString(value.spendable()),
      unspendable_balance: toDecimalString(value.unspendable()),
      address: value.address,
      ...oldViewOf(value),
    });
  },
  errors: {
    Transport: { ...FUNDS_FAULTS.Transport, when: "The nodes of an account chain told no balance of the token." },
    NoSuchCoin: noSuchCoin(true),
  },
  examples: [
    {
      title: "An enabled coin",
      style: "flat",
      params: { coin: "DOC" },
      result: { coin: "DOC", balance: "200", unspendable_balance: "0", address: "RMjFJNEiYj8eCeT7Li4tNsvpPrHYM8pVnU" },
    },
    { title: "The coin is not enabled", style: "flat", params: { coin: "KMD" }, error: "NoSuchCoin" },
  ],
});
