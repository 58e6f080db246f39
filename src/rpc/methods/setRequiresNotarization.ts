import { z } from "zod";
import { ok } from "../../core/util/result.ts";
import { activeCoin, type NoSuchCoin, noSuchCoin } from "../coinFaults.ts";
import { defineMethod } from "../define.ts";
import { readBool, required, ticker } from "../field.ts";

export const setRequiresNotarization = defineMethod<NoSuchCoin>()({
  name: "set_requires_notarization",
  style: "flat",
  summary: "Whether new orders ask that payments of this coin be notarized, until the node stops.",
  source: "reference rpc.md 5.4",
  params: z.object({ coin: ticker(), requires_notarization: required(readBool, { type: "boolean" }) }),
  result: z.object({ coin: z.string(), requires_notarization: z.boolean() }),
  async handle(p, ctx) {
    const coin = activeCoin(ctx, p.coin);
    if (!coin.ok) return coin;
    coin.value.setRequiresNotarization(p.requires_notarization);
    return ok({ coin: p.coin, requires_notarization: p.requires_notarization });
  },
  errors: { NoSuchCoin: noSuchCoin(false) },
  examples: [
    {
      title: "On",
      style: "flat",
      params: { coin: "DOC", requires_notarization: true },
      result: { coin: "DOC", requires_notarization: true },
    },
  ],
});
