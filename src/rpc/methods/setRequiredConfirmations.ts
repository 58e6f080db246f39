import { z } from "zod";
import { ok } from "../../core/util/result.ts";
import { activeCoin, type NoSuchCoin, noSuchCoin } from "../coinFaults.ts";
import { defineMethod } from "../define.ts";
import { readU64, required, ticker } from "../field.ts";

export const setRequiredConfirmations = defineMethod<NoSuchCoin>()({
  name: "set_required_confirmations",
  style: "flat",
  summary: "Confirmations that new orders ask for this coin, until the node stops.",
  source: "reference rpc.md 5.4",
  params: z.object({ coin: ticker(), confirmations: required(readU64, { type: "integer", minimum: 0 }) }),
  result: z.object({ coin: z.string(), confirmations: z.number() }),
  async handle(p, ctx) {
    const coin = activeCoin(ctx, p.coin);
    if (!coin.ok) return coin;
    coin.value.setRequiredConfirmations(p.confirmations);
    return ok({ coin: p.coin, confirmations: p.confirmations });
  },
  errors: { NoSuchCoin: noSuchCoin(false) },
  examples: [
    { title: "Three", style: "flat", params: { coin: "DOC", confirmations: 3 }, result: { coin: "DOC", confirmations: 3 } },
    { title: "The coin is not enabled", style: "flat", params: { coin: "KMD", confirmations: 3 }, error: "NoSuchCoin" },
  ],
});
