import { Aborted, withDeadline } from "../../../ports/clock.ts";
import { fundsErrorText } from "../../fundsErrorText.ts";
import type { SwapCoin } from "../swapCoin.ts";
import type { SwapTask } from "../swapTask.ts";

/** What one look at a backend may take before it counts as away. */
const LOOK_MS = 5_000;

/**
 * Why nothing new may be signed or sent on a coin: its backend could not be reached when it was last looked at, and cannot now. What
 * is known of the own outputs may be old then, and nobody would learn what became of what is sent. Null: it answers.
 */
export async function outageOf(task: SwapTask, coin: SwapCoin, signal: AbortSignal): Promise<string | null> {
  if (!coin.outage()) return null;
  try {
    await withDeadline(task.deps.clock, LOOK_MS, signal, (s) => coin.chain.refresh(s));
  } catch (cause) {
    if (!(cause instanceof Aborted) || signal.aborted) throw cause;
  }
  const outage = coin.outage();
  return outage && fundsErrorText(outage);
}
