import { defineMethod } from "../define.ts";
import { RECENT_SWAPS_FAULTS, type RecentSwapsError, recentSwaps, recentSwapsParams, recentSwapsShape } from "../recentSwaps.ts";
import { swapStatusShape, typedSwapShape } from "../swapStatus.ts";

const NONE = { swaps: [], from_uuid: null, skipped: 0, limit: 10, total: 0, page_number: 1, total_pages: 0, found_records: 0 };

export const myRecentSwaps = defineMethod<RecentSwapsError>()({
  name: "my_recent_swaps",
  style: "flat",
  summary: "List this node's most recent swaps, with filters and paging. Filters combine with AND.",
  source: "interface document, my_recent_swaps; reference rpc.md 4.4",
  params: recentSwapsParams,
  result: recentSwapsShape(swapStatusShape),
  handle: (params, ctx) => recentSwaps(params, ctx, "status"),
  errors: RECENT_SWAPS_FAULTS,
  examples: [
    { title: "The last ten", style: "flat", params: {} },
    { title: "A coin never traded", style: "flat", params: { my_coin: "KMD" }, result: NONE },
    {
      title: "Behind a swap that is not listed",
      style: "flat",
      params: { from_uuid: "00000000-0000-0000-0000-000000000001" },
      error: "UnknownFromUuid",
    },
  ],
});

export const myRecentSwapsV2 = defineMethod<RecentSwapsError>()({
  name: "my_recent_swaps",
  style: "v2",
  struct: "MyRecentSwapsRequest",
  summary: "List this node's most recent swaps, with filters and paging; each element has its type beside its data.",
  source: "reference rpc.md 4.4",
  params: recentSwapsParams,
  result: recentSwapsShape(typedSwapShape),
  handle: (params, ctx) => recentSwaps(params, ctx, "typed"),
  errors: RECENT_SWAPS_FAULTS,
  examples: [{ title: "A coin never traded", style: "v2", params: { my_coin: "KMD" }, result: NONE }],
});
