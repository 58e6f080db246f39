/** What is asked of a swap in a list of them. Times are unix milliseconds. */
export type SwapStatus = {
  readonly is_finished: boolean;
  readonly is_success?: boolean;
  readonly events: readonly { readonly timestamp: number; readonly event: { readonly type: string } }[];
};

/** When the last of the swaps that succeeded was over, by its own record. 0 without one. */
export function lastFinishMs(swaps: readonly SwapStatus[]): number {
  let last = 0;
  for (const { events, is_success } of swaps) {
    if (is_success !== true) continue;
    for (const { event, timestamp } of events) if (event.type === "Finished" && timestamp > last) last = timestamp;
  }
  return last;
}
