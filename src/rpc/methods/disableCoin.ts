import { z } from "zod";
import type { DisableError } from "../../app/coin/enabling.ts";
import { ok } from "../../core/util/result.ts";
import { defineMethod } from "../define.ts";
import { flag, legacyCoin } from "../field.ts";

export const disableCoin = defineMethod<DisableError>()({
  name: "disable_coin",
  style: "flat",
  summary: "Disable a coin. Refused while it is in use, unless forced: then it stays for its swaps and takes no new order.",
  source: "reference rpc.md 5.4",
  params: z.object({ coin: legacyCoin(), force_disable: flag(false) }),
  result: z.object({ coin: z.string(), cancelled_orders: z.array(z.string()), passivized: z.boolean() }),
  async handle(p, ctx) {
    const done = await ctx.coins.disable(p.coin, p.force_disable);
    if (!done.ok) return done;
    return ok({ coin: p.coin, cancelled_orders: [...done.value.cancelledOrders], passivized: done.value.passivized });
  },
  errors: {
    NoSuchCoin: {
      http: 404,
      when: "The coin is not enabled.",
      text: ({ coin }) => `No such coin: ${coin}`,
      flatExtra: () => ({ orders: { matching: [], cancelled: [] }, active_swaps: [] }),
    },
    CoinInUse: {
      http: 400,
      when: "Swaps or matching orders use the coin.",
      text: () => "There are currently matching orders, active swaps",
      flatExtra: (e) => ({ orders: { matching: e.matchingOrders, cancelled: e.cancelledOrders }, active_swaps: e.activeSwaps }),
    },
  },
  examples: [
    {
      title: "An idle coin",
      style: "flat",
      params: { coin: "MARTY" },
      result: { coin: "MARTY", cancelled_orders: [], passivized: false },
    },
    { title: "A coin in use", style: "flat", params: { coin: "DOC" }, error: "CoinInUse" },
  ],
});
