import { z } from "zod";
import { ok } from "../../core/util/result.ts";
import { defineMethod } from "../define.ts";
import { liveMaker, liveMakerToJson, liveTaker, liveTakerToJson } from "../orderShapes.ts";

export const myOrders = defineMethod()({
  name: "my_orders",
  style: "flat",
  summary: "List this node's active orders.",
  source: "reference rpc.md 5.2",
  params: z.object({}),
  result: z.object({
    maker_orders: z.record(z.string(), liveMaker).describe("By uuid."),
    taker_orders: z.record(z.string(), liveTaker).describe("By uuid."),
  }),
  async handle(_, { orders, node }) {
    const { makers, takers } = orders.myOrders();
    return ok({
      maker_orders: Object.fromEntries(makers.map((o) => [o.uuid, liveMakerToJson(o, node.publicKey)])),
      taker_orders: Object.fromEntries(takers.map((o) => [o.uuid, liveTakerToJson(o, node.publicKey)])),
    });
  },
  errors: {},
  examples: [{ title: "One open order and one being matched", style: "flat", params: {} }],
});
