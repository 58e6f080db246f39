import { z } from "zod";
import { ok } from "../../core/util/result.ts";
import { defineMethod } from "../define.ts";

export const coinsNeededForKickStart = defineMethod()({
  name: "coins_needed_for_kick_start",
  style: "flat",
  needsKeys: false,
  summary: "Coins of swaps and orders that were unfinished at the start: they go on once these are enabled.",
  source: "reference rpc.md 5.3, 6.9",
  params: z.object({}),
  result: z.array(z.string()),
  handle: async (_, { swaps }) => ok([...swaps.coinsNeededForKickStart()]),
  errors: {},
  examples: [{ title: "One unfinished swap", style: "flat", params: {}, result: ["DOC", "MARTY"] }],
});
