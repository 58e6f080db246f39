import { z } from "zod";
import { ok } from "../../core/util/result.ts";
import { defineMethod } from "../define.ts";

/** Time for the reply to leave before the node goes (reference rpc.md 5.3). */
const STOP_DELAY_MS = 50;

export const stop = defineMethod()({
  name: "stop",
  style: "flat",
  needsKeys: false,
  summary: "Stop the node in good order. Orders are not cancelled; running swaps go on at the next start.",
  source: "reference rpc.md 5.3",
  params: z.object({}),
  result: z.literal("success"),
  async handle(_, { clock, node }) {
    clock.after(STOP_DELAY_MS, () => node.stop());
    return ok("success" as const);
  },
  errors: {},
  examples: [{ title: "Stop", style: "flat", params: {}, result: "success" }],
});
