import { z } from "zod";
import { err, ok } from "../../core/util/result.ts";
import { activeCoin, type NoSuchCoin, noSuchCoin } from "../coinFaults.ts";
import { defineMethod } from "../define.ts";
import { defaulted, ticker } from "../field.ts";
import { GAS_POLICY_NAMES, gasPolicyName, gasPolicySchema, type NoGasPolicy, noGasPolicy, readGasPolicy } from "../gasPolicyField.ts";

export const setSwapGasFeePolicy = defineMethod<NoSuchCoin | NoGasPolicy>()({
  name: "set_swap_gas_fee_policy",
  style: "v2",
  summary: "Choose how swaps bid for gas, for the platform coin and all its tokens, until that coin is disabled or the node stops.",
  source: "reference rpc.md 5.4",
  params: z.object({
    coin: ticker().describe("The platform coin, or a token on it."),
    swap_gas_fee_policy: defaulted(readGasPolicy, "legacy" as const, { ...gasPolicySchema, default: "Legacy" }),
  }),
  result: z.enum(GAS_POLICY_NAMES).describe("The new one."),
  async handle(p, ctx) {
    const coin = activeCoin(ctx, p.coin);
    if (!coin.ok) return coin;
    if (!coin.value.gasPolicy) return err({ kind: "NotSupported" as const, coin: p.coin });
    coin.value.gasPolicy.choose(p.swap_gas_fee_policy);
    return ok(gasPolicyName(p.swap_gas_fee_policy));
  },
  errors: { NoSuchCoin: noSuchCoin(false), NotSupported: noGasPolicy },
  examples: [
    { title: "A priority of the middle", style: "v2", params: { coin: "AVAX", swap_gas_fee_policy: "Medium" }, result: "Medium" },
    { title: "A coin without gas", style: "v2", params: { coin: "DOC" }, error: "NotSupported" },
    { title: "The coin is not enabled", style: "v2", params: { coin: "KMD" }, error: "NoSuchCoin" },
  ],
});
