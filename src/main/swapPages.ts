import type { SwapFilter as StoreFilter, SwapStore } from "../ports/swapStore.ts";
import type { SwapFilter, SwapsApi } from "../rpc/ctx/swaps.ts";

/** Pages of the stored swaps as `my_recent_swaps` counts them (reference rpc.md 4.4): nothing under the filter is never an error. */
export const swapPages =
  (store: SwapStore): SwapsApi["page"] =>
  async (filter, page, limit) => {
    const f = storeFilter(filter);
    const total = await store.count(f);
    if (total === 0) return { uuids: [], total, skipped: 0 };
    const skipped = "skip" in page ? page.skip : await store.position(f, page.after);
    if (skipped === null) return null;
    const rows = await store.list(f, skipped, limit);
    return { uuids: rows.map((r) => r.uuid), total, skipped };
  };

function storeFilter(f: SwapFilter): StoreFilter {
  return {
    ...(f.myCoin === undefined ? {} : { myCoin: f.myCoin }),
    ...(f.otherCoin === undefined ? {} : { otherCoin: f.otherCoin }),
    ...(f.fromTimestamp === undefined ? {} : { fromSec: f.fromTimestamp }),
    ...(f.toTimestamp === undefined ? {} : { toSec: f.toTimestamp }),
  };
}
