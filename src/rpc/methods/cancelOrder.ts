import { z } from "zod";
import type { CancelError } from "../../app/orders/cancelOrders.ts";
import { ok } from "../../core/util/result.ts";
import { defineMethod } from "../define.ts";
import { uuid } from "../field.ts";

export const cancelOrder = defineMethod<CancelError>()({
  name: "cancel_order",
  style: "flat",
  summary: "Cancel one active order of this node.",
  source: "reference rpc.md 5.2",
  params: z.object({ uuid: uuid().describe("The order.") }),
  result: z.literal("success"),
  async handle({ uuid }, ctx) {
    const done = await ctx.orders.cancelOrder(uuid);
    return done.ok ? ok("success" as const) : done;
  },
  errors: {
    OrderNotFound: {
      http: 404,
      flatHttp: 404,
      when: "There is no active order with this uuid.",
      text: ({ uuid }) => `Order with uuid ${uuid} is not found`,
    },
    BeingMatched: {
      http: 500,
      when: "The order is being matched; its swap may already be starting.",
      text: ({ uuid }) => `Order ${uuid} is being matched now, can't cancel`,
    },
  },
  examples: [
    { title: "An open order", style: "flat", params: { uuid: "144ce75d-d765-4ecc-b29a-1504c99c1112" }, result: "success" },
    { title: "A matching order", style: "flat", params: { uuid: "5f2c6a2e-7a44-4b6f-9f0b-6a0d5b1c0e01" }, error: "BeingMatched" },
    { title: "No such order", style: "flat", params: { uuid: "00000000-0000-0000-0000-000000000001" }, error: "OrderNotFound" },
  ],
});
