import { z } from "zod";
import { ok } from "../../core/util/result.ts";
import { defineMethod } from "../define.ts";
import { optionalCount, optionalText } from "../field.ts";

export const allSwapsUuidsByFilter = defineMethod()({
  name: "all_swaps_uuids_by_filter",
  style: "flat",
  summary: "List the uuids of all swaps of this node under filters, newest first. Filters combine with AND.",
  source: "reference rpc.md 4.4, 5.4",
  params: z.object({
    my_coin: optionalText().describe("Only swaps in which this node gave this coin."),
    other_coin: optionalText().describe("Only swaps in which this node received this coin."),
    from_timestamp: optionalCount().describe("Only swaps started at this unix second or later."),
    to_timestamp: optionalCount().describe("Only swaps started before this unix second."),
  }),
  result: z.object({
    found_records: z.number(),
    uuids: z.array(z.string()),
    my_coin: z.string().nullable(),
    other_coin: z.string().nullable(),
    from_timestamp: z.number().nullable(),
    to_timestamp: z.number().nullable(),
  }),
  async handle(p, { swaps }) {
    const filter = { myCoin: p.my_coin, otherCoin: p.other_coin, fromTimestamp: p.from_timestamp, toTimestamp: p.to_timestamp };
    const uuids = (await swaps.page(filter, { skip: 0 }, Number.MAX_SAFE_INTEGER))?.uuids ?? [];
    return ok({
      found_records: uuids.length,
      uuids: [...uuids],
      my_coin: p.my_coin ?? null,
      other_coin: p.other_coin ?? null,
      from_timestamp: p.from_timestamp ?? null,
      to_timestamp: p.to_timestamp ?? null,
    });
  },
  errors: {},
  examples: [
    {
      title: "All swaps",
      style: "flat",
      params: {},
      result: {
        found_records: 1,
        uuids: ["aa2e902d-a810-4d81-aecb-202c8b037216"],
        my_coin: null,
        other_coin: null,
        from_timestamp: null,
        to_timestamp: null,
      },
    },
    {
      title: "A coin never traded",
      style: "flat",
      params: { my_coin: "KMD", from_timestamp: 1_673_000_000 },
      result: { found_records: 0, uuids: [], my_coin: "KMD", other_coin: null, from_timestamp: 1_673_000_000, to_timestamp: null },
    },
  ],
});
