import type { SwapFilter as StoreFilter, SwapStore } from "../ports/swapStore.ts";
import type { SwapFilter, SwapsApi } from "../rpc/ctx/swaps.ts";

/** Pages of the stored swaps as `my_recent_swaps` counts them (reference rpc.md 4.4): nothing under the filter is never an error. */
export const swapPages =
  (store: SwapStore): SwapsApi["page"] =>
  (filter, page, limit) =>
    store.page(storeFilter(filter), page, limit);

function storeFilter(f: SwapFilter): StoreFilter {
  return {
    ...(f.myCoin === undefined ? {} : { myCoin: f.myCoin }),
    ...(f.otherCoin === undefined ? {} : { otherCoin: f.otherCoin }),
    ...(f.fromTimestamp === undefined ? {} : { fromSec: f.fromTimestamp }),
    ...(f.toTimestamp === undefined ? {} : { toSec: f.toTimestamp }),
  };
}
