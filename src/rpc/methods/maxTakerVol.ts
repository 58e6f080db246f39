import { z } from "zod";
import { maxTakerVolume } from "../../app/fees/tradeVolumes.ts";
import type { Outage } from "../../app/tradingCoin.ts";
import { ok } from "../../core/util/result.ts";
import { type NoSuchCoin, noSuchCoin, tradingCoin } from "../coinFaults.ts";
import { defineMethod } from "../define.ts";
import { legacyCoin, optionalText } from "../field.ts";
import { FUNDS_FAULTS } from "../fundsFaults.ts";
import { fractionalValue, toFraction } from "../money.ts";

const result = z.object({ result: fractionalValue.describe("Whole coins, exact. Zero when the balance is too small."), coin: z.string() });

export const maxTakerVol = defineMethod<NoSuchCoin | Outage>()({
  name: "max_taker_vol",
  style: "flat",
  flatReply: "bare",
  summary: "Greatest volume a `sell` of this coin (or a `buy` paid with it) could have, fees taken off.",
  source: "reference rpc.md 5.3, 9.2",
  params: z.object({
    coin: legacyCoin(),
    trade_with: optionalText().describe(
      "The other coin: it can change the dex fee, and the same balance may have to pay for claiming it. Default: `coin` itself.",
    ),
  }),
  result,
  async handle(p, ctx) {
    const coin = tradingCoin(ctx, p.coin);
    if (!coin.ok) return coin;
    const tradeWith = p.trade_with ?? p.coin;
    const other = tradeWith === p.coin ? null : (ctx.coins.trading(tradeWith) ?? null);
    const volume = maxTakerVolume(coin.value, other, ctx.dexFee.rule(coin.value, tradeWith), "preimage");
    return volume.ok ? ok({ result: toFraction(volume.value), coin: p.coin }) : volume;
  },
  errors: { Transport: FUNDS_FAULTS.Transport, NoSuchCoin: noSuchCoin(true) },
  examples: [
    {
      title: "All that swaps and open handshakes leave free",
      style: "flat",
      params: { coin: "DOC" },
      result: { result: { numer: "1546227669", denom: "7780000" }, coin: "DOC" },
    },
    { title: "The coin is not enabled", style: "flat", params: { coin: "KMD" }, error: "NoSuchCoin" },
  ],
});
