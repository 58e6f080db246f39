import { z } from "zod";
import { ok } from "../../core/util/result.ts";
import { defineMethod } from "../define.ts";
import { uuid } from "../field.ts";
import { liveMaker, liveMakerToJson, liveTaker, liveTakerToJson, makerResult, makerResultToJson } from "../orderShapes.ts";

export const orderStatus = defineMethod<{ readonly kind: "OrderNotFound"; readonly uuid: string }>()({
  name: "order_status",
  style: "flat",
  flatReply: "bare",
  summary: "Show one order of this node, active or from the history.",
  source: "reference rpc.md 5.2",
  params: z.object({ uuid: uuid().describe("The order.") }),
  result: z.object({
    type: z.enum(["Maker", "Taker"]),
    order: z.union([liveMaker, liveTaker, makerResult]),
    cancellation_reason: z.string().optional().describe("Only for orders from the history: how they ended."),
  }),
  async handle({ uuid }, { orders, node }) {
    const found = await orders.orderStatus(uuid);
    if (!found.ok) return found;
    const { own, cancellationReason } = found.value;
    const live = cancellationReason === null;
    if (own.kind === "Taker") {
      const order = liveTakerToJson(own.order, node.publicKey);
      return ok({ type: own.kind, order, ...(live ? {} : { cancellation_reason: cancellationReason }) });
    }
    return ok(
      live
        ? { type: own.kind, order: liveMakerToJson(own.order, node.publicKey) }
        : { type: own.kind, order: makerResultToJson(own.order, node.publicKey), cancellation_reason: cancellationReason },
    );
  },
  errors: {
    OrderNotFound: {
      http: 500,
      when: "Neither an active order nor the history has this uuid.",
      text: ({ uuid }) => `Order with uuid ${uuid} is not found`,
    },
  },
  examples: [
    { title: "An open order", style: "flat", params: { uuid: "144ce75d-d765-4ecc-b29a-1504c99c1112" } },
    { title: "No such order", style: "flat", params: { uuid: "00000000-0000-0000-0000-000000000001" }, error: "OrderNotFound" },
  ],
});
