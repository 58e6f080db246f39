import { z } from "zod";
import { ok } from "../../core/util/result.ts";
import { defineMethod } from "../define.ts";
import { cancelBy } from "../orderInputs.ts";

const uuids = z.array(z.string());

export const cancelAllOrders = defineMethod()({
  name: "cancel_all_orders",
  style: "flat",
  summary: "Cancel this node's active orders chosen by a condition. Orders that are being matched stay.",
  source: "interface document, cancel_all_orders; reference rpc.md 4.3",
  params: z.object({ cancel_by: cancelBy().describe("`Pair` is directional; `Coin` matches either side.") }),
  result: z.object({
    cancelled: uuids.describe("Orders that were cancelled."),
    currently_matching: uuids.describe("Orders that fit the condition but are being matched; they stay."),
  }),
  async handle(p, ctx) {
    const done = await ctx.orders.cancelAllOrders(p.cancel_by);
    return ok({ cancelled: [...done.cancelled], currently_matching: [...done.currentlyMatching] });
  },
  errors: {},
  examples: [
    {
      title: "Everything",
      style: "flat",
      params: { cancel_by: { type: "All" } },
      result: { cancelled: ["144ce75d-d765-4ecc-b29a-1504c99c1112"], currently_matching: ["5f2c6a2e-7a44-4b6f-9f0b-6a0d5b1c0e01"] },
    },
    {
      title: "One pair",
      style: "flat",
      params: { cancel_by: { type: "Pair", data: { base: "MARTY", rel: "DOC" } } },
      result: { cancelled: [], currently_matching: [] },
    },
  ],
});
