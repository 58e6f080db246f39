import { z } from "zod";
import { err, ok } from "../../core/util/result.ts";
import { defineMethod } from "../define.ts";
import { publicSwap } from "../swapStatus.ts";
import { nestedUuid } from "./mySwapStatus.ts";

const side = z.looseObject({ uuid: z.string() }).nullable();

export const statsSwapStatus = defineMethod<{ readonly kind: "SwapNotFound" }>()({
  name: "stats_swap_status",
  style: "flat",
  access: "public",
  summary:
    "Show a finished swap of this node to anybody who knows its uuid, as KDF's statistics do: without secrets, without what is this node's own, and of a failure only the event's name. " +
    "The uuid stands inside `params`.",
  source: "reference rpc.md 5.4",
  params: nestedUuid(),
  result: z.object({
    maker: side.describe("The swap as its maker saw it; null unless that was this node."),
    taker: side.describe("The swap as its taker saw it; null unless that was this node."),
  }),
  async handle({ params }, { swaps }) {
    const swap = (await swaps.statuses([params.uuid])).get(params.uuid);
    if (swap?.status.is_finished !== true) return err({ kind: "SwapNotFound" });
    const shown = publicSwap(swap);
    return ok(swap.isMaker ? { maker: shown, taker: null } : { maker: null, taker: shown });
  },
  errors: {
    SwapNotFound: { http: 400, when: "This node has no such swap, or it still runs.", text: () => "swap data is not found" },
  },
  examples: [
    { title: "A finished swap", style: "flat", params: { params: { uuid: "aa2e902d-a810-4d81-aecb-202c8b037216" } } },
    { title: "No such swap", style: "flat", params: { params: { uuid: "00000000-0000-0000-0000-000000000001" } }, error: "SwapNotFound" },
  ],
});
