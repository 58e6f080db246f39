import { z } from "zod";
import { err, ok } from "../../core/util/result.ts";
import { activeCoin, type NoSuchCoin, noSuchCoin } from "../coinFaults.ts";
import { defineMethod } from "../define.ts";
import { ticker } from "../field.ts";
import { GAS_POLICY_NAMES, gasPolicyName, type NoGasPolicy, noGasPolicy } from "../gasPolicyField.ts";

export const getSwapGasFeePolicy = defineMethod<NoSuchCoin | NoGasPolicy>()({
  name: "get_swap_gas_fee_policy",
  style: "v2",
  summary: "How swaps of a coin on an account chain bid for gas: one price, or EIP-1559 with a priority.",
  source: "reference rpc.md 5.4",
  params: z.object({ coin: ticker() }),
  result: z.enum(GAS_POLICY_NAMES),
  async handle(p, ctx) {
    const coin = activeCoin(ctx, p.coin);
    if (!coin.ok) return coin;
    const { gasPolicy } = coin.value;
    return gasPolicy ? ok(gasPolicyName(gasPolicy.now)) : err({ kind: "NotSupported" as const, coin: p.coin });
  },
  errors: { NoSuchCoin: noSuchCoin(false), NotSupported: noGasPolicy },
  examples: [
    { title: "Of a coin on an account chain", style: "v2", params: { coin: "AVAX" }, result: "Legacy" },
    { title: "A coin without gas", style: "v2", params: { coin: "DOC" }, error: "NotSupported" },
    { title: "The coin is not enabled", style: "v2", params: { coin: "KMD" }, error: "NoSuchCoin" },
  ],
});
