import { z } from "zod";
import { ok } from "../../core/util/result.ts";
import { defineMethod } from "../define.ts";

export const getEnabledCoins = defineMethod()({
  name: "get_enabled_coins",
  style: "flat",
  needsKeys: false,
  summary: "List the enabled coins with their addresses.",
  source: "reference rpc.md 5.1",
  params: z.object({}),
  result: z.array(z.object({ ticker: z.string(), address: z.string() })),
  handle: async (_, ctx) => ok(ctx.coins.all().map(({ ticker, address }) => ({ ticker, address }))),
  errors: {},
  examples: [
    {
      title: "Two coins",
      style: "flat",
      params: {},
      result: [
        { ticker: "DOC", address: "RMjFJNEiYj8eCeT7Li4tNsvpPrHYM8pVnU" },
        { ticker: "MARTY", address: "RMjFJNEiYj8eCeT7Li4tNsvpPrHYM8pVnU" },
      ],
    },
  ],
});

export const getEnabledCoinsV2 = defineMethod()({
  name: "get_enabled_coins",
  style: "v2",
  struct: "GetEnabledCoinsRequest",
  needsKeys: false,
  summary: "List the enabled coins.",
  source: "reference rpc.md 5.1",
  params: z.object({}).nullish(),
  result: z.object({ coins: z.array(z.object({ ticker: z.string() })) }),
  handle: async (_, ctx) => ok({ coins: ctx.coins.all().map(({ ticker }) => ({ ticker })) }),
  errors: {},
  examples: [{ title: "Two coins", style: "v2", params: {}, result: { coins: [{ ticker: "DOC" }, { ticker: "MARTY" }] } }],
});
