import { z } from "zod";
import { ok } from "../../core/util/result.ts";
import { activeCoin, type NoSuchCoin, noSuchCoin } from "../coinFaults.ts";
import { defineMethod } from "../define.ts";
import { legacyCoin } from "../field.ts";
import { tripleOf, tripleShape } from "../money.ts";

const result = z.object({ coin: z.string().describe("The coin that pays the fee."), ...tripleShape("amount") });

export const getTradeFee = defineMethod<NoSuchCoin>()({
  name: "get_trade_fee",
  style: "flat",
  summary:
    "Approximate the miner fee of one swap transaction. For UTXO coins it is the rate per 1000 bytes, as in KDF; `trade_preimage` gives real fees. For ETH-like coins and tokens it is the gas of the dearest swap transaction at the present price, in the platform coin.",
  source: "interface document, get_trade_fee; reference rpc.md 4.6, 9.3",
  params: z.object({ coin: legacyCoin() }),
  result,
  async handle(p, ctx, { signal }) {
    const coin = activeCoin(ctx, p.coin);
    if (!coin.ok) return coin;
    const fee = await coin.value.tradeFee(signal);
    return ok({ coin: fee.coin, ...tripleOf("amount", fee.amount) });
  },
  errors: { NoSuchCoin: noSuchCoin(true) },
  examples: [
    {
      title: "A coin with a fixed fee",
      style: "flat",
      params: { coin: "DOC" },
      result: {
        coin: "DOC",
        amount: "0.0001",
        amount_rat: [
          [1, [1]],
          [1, [10_000]],
        ],
        amount_fraction: { numer: "1", denom: "10000" },
      },
    },
    { title: "The coin is not enabled", style: "flat", params: { coin: "KMD" }, error: "NoSuchCoin" },
  ],
});
