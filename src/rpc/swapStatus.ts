import { z } from "zod";
import { type ShownSwap, WORKED_OUT, withEvents, without } from "../core/swap/shownSwap.ts";
import { named } from "./named.ts";
import { swapType } from "./swapList.ts";

/** Swap statuses in replies (reference rpc.md 7). */

/** Named in part: the events' data differ by event. */
export const swapStatusShape = named(
  "SwapStatus",
  z.looseObject({
    type: z.enum(["Maker", "Taker"]),
    uuid: z.string(),
    my_order_uuid: z.string().nullable(),
    events: z
      .array(z.looseObject({ timestamp: z.number(), event: z.looseObject({ type: z.string() }) }))
      .describe("Oldest first; unix milliseconds."),
    maker_amount: z.string().nullable(),
    maker_coin: z.string().nullable(),
    taker_amount: z.string().nullable(),
    taker_coin: z.string().nullable(),
    success_events: z.array(z.string()),
    error_events: z.array(z.string()),
    my_info: z.looseObject({}).nullable(),
    recoverable: z.boolean(),
    is_finished: z.boolean(),
    is_success: z.boolean().optional().describe("Only once finished."),
  }),
);

/** What the versioned methods call a swap: its kind beside its data. */
export const typedSwapShape = named(
  "TypedSwap",
  z.object({ swap_type: z.enum(["MakerV1", "TakerV1"]), swap_data: z.looseObject({ uuid: z.string() }) }),
);

/** The status as a flat reply shows it. */
export const statusToJson = (swap: ShownSwap): z.input<typeof swapStatusShape> => swap.status as z.input<typeof swapStatusShape>;

/** The versioned form: no `type`, nothing that is derived from the events. */
export const typedSwap = (swap: ShownSwap): z.input<typeof typedSwapShape> => ({
  swap_type: swapType(swap),
  swap_data: swap.bare as { uuid: string },
});

/** The form inside `active_swaps`. */
export const savedSwap = (swap: ShownSwap): { [key: string]: unknown } => without(swap.status, WORKED_OUT);

/**
 * What others may see of a finished swap: the saved form without `type`, nothing of our own about fees and dangers, and of a failure
 * the name of its event: the sentence may tell of balances and daemons, which are nobody's business.
 */
export function publicSwap(swap: ShownSwap): { [key: string]: unknown; uuid: string } {
  const named = withEvents(swap.bare, (event) =>
    typeof event.data === "object" && event.data !== null && "error" in event.data ? { ...event, data: { error: event.type } } : event,
  );
  return without(named, ["swapnode"]) as { uuid: string };
}
