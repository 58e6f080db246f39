import { z } from "zod";
import type { ExtendedFee, TradePreimage } from "../app/fees/tradePreimage.ts";
import { tripleOf, tripleShape } from "./money.ts";
import { named } from "./named.ts";

/** Fees of a swap in replies (reference rpc.md 4.5). */

const extendedFee = named(
  "ExtendedFeeInfo",
  z.object({
    coin: z.string(),
    ...tripleShape("amount"),
    paid_from_trading_vol: z.boolean().describe("It comes out of the traded amount: no balance is needed."),
  }),
);
const totalFee = named("TotalFeeInfo", z.object({ coin: z.string(), ...tripleShape("amount"), ...tripleShape("required_balance") }));
const volume = tripleShape("volume");

export const preimageShape = named(
  "TradePreimage",
  z.object({
    base_coin_fee: extendedFee,
    rel_coin_fee: extendedFee,
    volume: volume.volume.optional().describe("Only with `max`."),
    volume_rat: volume.volume_rat.optional(),
    volume_fraction: volume.volume_fraction.optional(),
    taker_fee: extendedFee.optional().describe("Dex fee; only for `buy` and `sell`."),
    fee_to_send_taker_fee: extendedFee.optional(),
    total_fees: z.array(totalFee).describe("Sums by the coin that pays them."),
  }),
);

const feeToJson = (f: ExtendedFee): z.input<typeof extendedFee> => ({
  coin: f.coin,
  ...tripleOf("amount", f.amount),
  paid_from_trading_vol: f.paidFromTradingVol,
});

export const preimageToJson = (p: TradePreimage): z.input<typeof preimageShape> => ({
  base_coin_fee: feeToJson(p.baseCoinFee),
  rel_coin_fee: feeToJson(p.relCoinFee),
  ...(p.volume ? tripleOf("volume", p.volume) : {}),
  ...(p.takerFee ? { taker_fee: feeToJson(p.takerFee.fee), fee_to_send_taker_fee: feeToJson(p.takerFee.sending) } : {}),
  total_fees: p.totals.map((t) => ({ coin: t.coin, ...tripleOf("amount", t.amount), ...tripleOf("required_balance", t.requiredBalance) })),
});
