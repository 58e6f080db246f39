import { Aborted, withDeadline } from "../../../ports/clock.ts";
import type { SwapTask } from "../swapTask.ts";

/**
 * Why a step must not be made now, as `look` finds; null: it may. A chain that does not answer is waited for until the step's limit, unix seconds,
 * and no longer: what is held for it would be held for as long as nobody answers.
 */
export async function byLimit(
  task: SwapTask,
  limit: number,
  signal: AbortSignal,
  look: (signal: AbortSignal) => Promise<string | null>,
): Promise<string | null> {
  const leftMs = Math.max(0, limit + 1 - task.nowSec()) * 1_000;
  try {
    return await withDeadline(task.deps.clock, leftMs, signal, look);
  } catch (cause) {
    if (signal.aborted || !(cause instanceof Aborted)) throw cause;
    return `a chain has not answered by ${limit}`;
  }
}
