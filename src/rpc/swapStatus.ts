import { z } from "zod";
import type { SwapStatus } from "./ctx/swaps.ts";
import { named } from "./named.ts";

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

const without = (status: SwapStatus, keys: readonly string[]): { [key: string]: unknown } =>
  Object.fromEntries(Object.entries(status).filter(([key]) => !keys.includes(key)));

/** The status as a flat reply shows it. Keys that would give money away are blanked whatever the source did. */
export const statusToJson = (status: SwapStatus): z.input<typeof swapStatusShape> => hideSecrets(status) as z.input<typeof swapStatusShape>;

/** The versioned form: no `type`, nothing that is derived from the events. */
export const typedSwap = (status: SwapStatus): z.input<typeof typedSwapShape> => ({
  swap_type: status.type === "Maker" ? "MakerV1" : "TakerV1",
  swap_data: without(hideSecrets(status), ["type", "my_info", "recoverable", "is_finished", "is_success"]) as { uuid: string },
});

/** The form inside `active_swaps`. */
export const savedSwap = (status: SwapStatus): { [key: string]: unknown } =>
  without(hideSecrets(status), ["my_info", "recoverable", "is_finished", "is_success"]);

/**
 * What others may see of a finished swap: the saved form without `type`, nothing of our own about fees and dangers, and of a failure
 * the name of its event: the sentence may tell of balances and daemons, which are nobody's business.
 */
export const publicSwap = (status: SwapStatus): { [key: string]: unknown; uuid: string } =>
  without(savedSwap(withEvents(status, nameFailure)), ["type", "swapnode"]) as { uuid: string };

type KdfEvent = { readonly type?: unknown; readonly data?: unknown };
const isRecord = (value: unknown): value is object => typeof value === "object" && value !== null;
const nameFailure = (event: KdfEvent): KdfEvent =>
  isRecord(event.data) && "error" in event.data ? { ...event, data: { error: event.type } } : event;

/** `secret` and `p2p_privkey` of the first event never leave the node, in no form (reference rpc.md 7.1 and 12). */
function hideSecrets(status: SwapStatus): SwapStatus {
  return withEvents(status, (event) => {
    const { type, data } = event;
    if (type !== "Started" || !isRecord(data)) return event;
    return { ...event, data: { ...data, ...("secret" in data ? { secret: "0".repeat(64) } : {}), p2p_privkey: null } };
  });
}

function withEvents(status: SwapStatus, change: (event: KdfEvent) => KdfEvent): SwapStatus {
  if (!Array.isArray(status.events)) return status;
  const events = status.events.map((timed: { readonly event?: KdfEvent }) =>
    timed.event ? { ...timed, event: change(timed.event) } : timed,
  );
  return { ...status, events };
}
