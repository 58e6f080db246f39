import type { StoredEvent } from "../../../core/swap/events.ts";
import type { SwapStore } from "../../../ports/swapStore.ts";
import { eventToText } from "../storedEvent.ts";
import { eventLine, settledLine } from "./copyText.ts";
import type { SwapCopies } from "./swapCopies.ts";

/** With these events something that is ours leaves for good: a copy that lacks them is of no use. */
function letsGo({ event }: StoredEvent): boolean {
  return event.type === "tx_attempted" && (event.slot === "fee" || event.slot === "makerPayment" || event.slot === "takerPayment");
}

/**
 * A swap log with copies in a second place. No swap begins, and no dex fee or payment leaves, whose record is not in the copy first; claims
 * and refunds, which can be made from that, wait for no copy.
 */
export function copiedSwapStore(store: SwapStore, copies: SwapCopies): SwapStore {
  return {
    ...store,
    obstacle: () => copies.obstacle(),
    async create(summary, first, marks) {
      await copies.add(eventLine(summary.uuid, 0, eventToText(first)));
      await store.create(summary, first, marks);
    },
    async append(uuid, seq, event, marks) {
      const line = eventLine(uuid, seq, eventToText(event));
      if (letsGo(event)) await copies.add(line);
      await store.append(uuid, seq, event, marks);
      if (!letsGo(event)) copies.follow(line);
    },
    async markSettled(uuid) {
      await store.markSettled(uuid);
      copies.follow(settledLine(uuid));
    },
  };
}
