import { z } from "zod";
import { ok } from "../../core/util/result.ts";
import { type NoSuchCoin, noSuchCoin, tradingCoin } from "../coinFaults.ts";
import { defineMethod } from "../define.ts";
import { legacyCoin } from "../field.ts";
import { tripleOf, tripleShape } from "../money.ts";

export const minTradingVol = defineMethod<NoSuchCoin>()({
  name: "min_trading_vol",
  style: "flat",
  summary: "Least volume of this coin in a trade.",
  source: "reference rpc.md 4.1, 5.3; interface document, Limits",
  params: z.object({ coin: legacyCoin() }),
  result: z.object({ coin: z.string(), ...tripleShape("min_trading_vol") }),
  async handle(p, ctx) {
    const known = ctx.coins.forFees.get(p.coin);
    if (known) return ok({ coin: p.coin, ...tripleOf("min_trading_vol", known.minTradingVol) });
    const coin = tradingCoin(ctx, p.coin);
    return coin.ok ? ok({ coin: p.coin, ...tripleOf("min_trading_vol", coin.value.minTradingVol) }) : coin;
  },
  errors: { NoSuchCoin: noSuchCoin(true) },
  examples: [
    {
      title: "A UTXO coin",
      style: "flat",
      params: { coin: "DOC" },
      result: {
        coin: "DOC",
        min_trading_vol: "0.0001",
        min_trading_vol_rat: [
          [1, [1]],
          [1, [10_000]],
        ],
        min_trading_vol_fraction: { numer: "1", denom: "10000" },
      },
    },
    { title: "The coin is not enabled", style: "flat", params: { coin: "KMD" }, error: "NoSuchCoin" },
  ],
});
