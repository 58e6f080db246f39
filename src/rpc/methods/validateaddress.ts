import { z } from "zod";
import { ok } from "../../core/util/result.ts";
import { activeCoin, type NoSuchCoin, noSuchCoin } from "../coinFaults.ts";
import { defineMethod } from "../define.ts";
import { legacyCoin, text } from "../field.ts";

export const validateaddress = defineMethod<NoSuchCoin>()({
  name: "validateaddress",
  style: "flat",
  summary: "Check whether a text is an address of a coin.",
  source: "reference rpc.md 5.4",
  params: z.object({ coin: legacyCoin(), address: text() }),
  result: z.object({ is_valid: z.boolean(), reason: z.string().optional().describe("Only when it is not valid.") }),
  async handle(p, ctx) {
    const coin = activeCoin(ctx, p.coin);
    if (!coin.ok) return coin;
    const checked = coin.value.validateAddress(p.address);
    return ok(checked.ok ? { is_valid: true } : { is_valid: false, reason: checked.error.reason });
  },
  errors: { NoSuchCoin: noSuchCoin(true) },
  examples: [
    {
      title: "An address",
      style: "flat",
      params: { coin: "DOC", address: "RMjFJNEiYj8eCeT7Li4tNsvpPrHYM8pVnU" },
      result: { is_valid: true },
    },
    { title: "Not an address", style: "flat", params: { coin: "DOC", address: "RXX" } },
    { title: "The coin is not enabled", style: "flat", params: { coin: "KMD", address: "RXX" }, error: "NoSuchCoin" },
  ],
});
