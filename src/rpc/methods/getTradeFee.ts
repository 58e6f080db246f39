import { z } from "zod";
import type { TradeFee } from "../../app/coin/tradeFee.ts";
import type { Outage } from "../../app/tradingCoin.ts";
import { QRC20_TRADE_GAS } from "../../core/coin/qrc20.ts";
import { add } from "../../core/money/rational.ts";
import { ok, type Result } from "../../core/util/result.ts";
import { activeCoin, type NoSuchCoin, noSuchCoin } from "../coinFaults.ts";
import type { RpcContext } from "../ctx.ts";
import { defineMethod } from "../define.ts";
import { legacyCoin } from "../field.ts";
import { FUNDS_FAULTS } from "../fundsFaults.ts";
import { tripleOf, tripleShape } from "../money.ts";

const result = z.object({ coin: z.string().describe("The coin that pays the fee."), ...tripleShape("amount") });

/** The fee without what a QRC-20 token's calls cost: of the coin itself, or of `platform`, its platform coin. */
async function feeOf(
  ctx: RpcContext,
  ticker: string,
  platform: string | null,
  signal: AbortSignal,
): Promise<Result<TradeFee, NoSuchCoin | Outage>> {
  const { forFees } = ctx.coins;
  const known = forFees.get(ticker) ?? (platform === null ? undefined : forFees.get(platform));
  if (known) return ok({ coin: known.payer, amount: known.rate });
  const payer = platform === null ? undefined : ctx.coins.active(platform);
  const coin = payer ? ok(payer) : activeCoin(ctx, ticker);
  return coin.ok ? coin.value.tradeFee(signal) : coin;
}

export const getTradeFee = defineMethod<NoSuchCoin | Outage>()({
  name: "get_trade_fee",
  style: "flat",
  summary:
    "Approximate the miner fee of one swap transaction. For UTXO coins it is the rate per 1000 bytes, as in KDF; `trade_preimage` gives real fees. For ETH-like coins and tokens it is the gas of the dearest swap transaction at the present price, in the platform coin. For a QRC-20 token it is the rate per 1000 bytes, in the platform coin, and the gas of two approvals and the payment; the rate is that of the platform coin where only that is enabled.",
  source: "interface document, get_trade_fee; reference rpc.md 4.6, 9.3",
  params: z.object({ coin: legacyCoin() }),
  result,
  async handle(p, ctx, { signal }) {
    const platform = ctx.coins.entry(p.coin)?.qrc20Platform ?? null;
    const fee = await feeOf(ctx, p.coin, platform, signal);
    if (!fee.ok) return fee;
    const amount = platform === null ? fee.value.amount : add(fee.value.amount, QRC20_TRADE_GAS[ctx.compatibility]);
    return ok({ coin: fee.value.coin, ...tripleOf("amount", amount) });
  },
  errors: {
    Transport: { ...FUNDS_FAULTS.Transport, when: "The nodes of an account chain told no price of gas." },
    NoSuchCoin: noSuchCoin(true),
  },
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
