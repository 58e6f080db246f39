import { fundsErrorText } from "../../fundsErrorText.ts";
import type { FundsError } from "../../tradingCoin.ts";
import type { SwapTask } from "../swapTask.ts";

/** News of the chain wakes it; without any it looks this often. */
const LOOK_AGAIN_MS = 2_000;

/**
 * What to do when an own transaction cannot be built. The money was promised to this swap, so what is missing is change
 * the backend does not show yet or a block, or the backend itself: the next try comes with the next news, until the duty's own time
 * limit. Anything else will not mend itself.
 */
export async function awaitFunds(
  task: SwapTask,
  error: FundsError,
  giveUp: (reason: string) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  if (error.kind !== "NotSufficientBalance" && error.kind !== "Transport") return giveUp(fundsErrorText(error));
  task.trouble(fundsErrorText(error));
  await task.news(task.seen("chain"), LOOK_AGAIN_MS, signal);
}
