import { monitorEventLoopDelay } from "node:perf_hooks";

/** Milliseconds the event loop was late by, as a timer of 1 ms sees it. */
export type LoopDelay = { readonly p99Ms: number; readonly maxMs: number };

/** The delay of this thread's event loop while `work` runs. */
export async function measureLoopDelay<T>(work: () => Promise<T>): Promise<{ readonly result: T; readonly delay: LoopDelay }> {
  const histogram = monitorEventLoopDelay({ resolution: 1 });
  histogram.enable();
  try {
    const result = await work();
    return { result, delay: { p99Ms: histogram.percentile(99) / 1e6, maxMs: histogram.max / 1e6 } };
  } finally {
    histogram.disable();
  }
}
