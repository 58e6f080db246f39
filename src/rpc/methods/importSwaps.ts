import { z } from "zod";
import { ok } from "../../core/util/result.ts";
import { defineMethod } from "../define.ts";
import { type Read, readList, required } from "../field.ts";
import { plainJson } from "../plainJson.ts";

const readAny: Read<unknown> = (value) => ok(plainJson(value));

export const importSwaps = defineMethod()({
  name: "import_swaps",
  style: "flat",
  summary:
    "Take saved swaps of KDF that are over into the history of this node, each for itself. A swap money may be in is skipped: " +
    "`swapnode import-kdf` takes it over from KDF's folder while both are stopped. A body may have 1 MiB, some hundred swaps.",
  source: "reference rpc.md 5.4, 7.6",
  params: z.object({
    swaps: required(readList(readAny), {
      type: "array",
      items: { type: "object" },
      description: "Swaps as KDF keeps them in `SWAPS/MY`, with `type`; at most 1,000.",
    }),
  }),
  result: z.object({
    imported: z.array(z.string()),
    skipped: z.record(z.string(), z.string()).describe("Why not, by uuid; by `swaps[n]` where a swap does not tell its uuid."),
  }),
  async handle({ swaps: given }, { swaps }) {
    const { imported, skipped } = await swaps.importEnded(given);
    return ok({ imported: [...imported], skipped: Object.fromEntries(skipped) });
  },
  errors: {},
  examples: [
    { title: "Nothing", style: "flat", params: { swaps: [] }, result: { imported: [], skipped: {} } },
    {
      title: "A swap KDF has not finished",
      style: "flat",
      params: {
        swaps: [{ type: "Maker", uuid: "bb2e902d-a810-4d81-aecb-202c8b037216", events: [], success_events: [], error_events: [] }],
      },
      result: {
        imported: [],
        skipped: { "bb2e902d-a810-4d81-aecb-202c8b037216": "money may be in it: take it over with swapnode import-kdf" },
      },
    },
  ],
});
