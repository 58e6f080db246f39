import { z } from "zod";
import { maxMakerVolume } from "../../app/fees/tradeVolumes.ts";
import type { MissingFunds, Outage } from "../../app/tradingCoin.ts";
import { ok } from "../../core/util/result.ts";
import { type NoSuchCoin, noSuchCoin, tradingCoin } from "../coinFaults.ts";
import { defineMethod } from "../define.ts";
import { ticker } from "../field.ts";
import { FUNDS_FAULTS } from "../fundsFaults.ts";
import { detailOf, numberDetail } from "../money.ts";

const result = z.object({ coin: z.string(), volume: numberDetail, balance: numberDetail, locked_by_swaps: numberDetail });

export const maxMakerVol = defineMethod<NoSuchCoin | MissingFunds | Outage>()({
  name: "max_maker_vol",
  style: "v2",
  struct: "MaxMakerVolRequest",
  summary: "Greatest volume a maker order of this coin could have.",
  source: "reference rpc.md 5.3",
  params: z.object({ coin: ticker() }),
  result,
  async handle(p, ctx) {
    const coin = tradingCoin(ctx, p.coin);
    if (!coin.ok) return coin;
    const most = maxMakerVolume(coin.value, null, "preimage");
    if (!most.ok) return most;
    const { value } = coin;
    return ok({
      coin: p.coin,
      volume: detailOf(most.value.volume),
      balance: detailOf(value.spendable()),
      locked_by_swaps: detailOf(value.locked()),
    });
  },
  errors: {
    NotSufficientBalance: FUNDS_FAULTS.NotSufficientBalance,
    NotSufficientBaseCoinBalance: FUNDS_FAULTS.NotSufficientBaseCoinBalance,
    Transport: FUNDS_FAULTS.Transport,
    NoSuchCoin: noSuchCoin(false),
  },
  examples: [
    { title: "All that is free", style: "v2", params: { coin: "DOC" } },
    { title: "The coin is not enabled", style: "v2", params: { coin: "KMD" }, error: "NoSuchCoin" },
  ],
});
