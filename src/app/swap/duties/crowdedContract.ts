import { ownPayment } from "../../../core/swap/events.ts";
import { chainOf, contractOf } from "../contracts.ts";
import type { SwapTask } from "../swapTask.ts";

/**
 * Why no payment may go to the own contract: it was paid so often already that the backend refuses its history. That costs whoever does it
 * little, and what becomes of a payment there, the secret in its claim above all, would be seen late.
 */
export function crowdedContract(task: SwapTask): string | null {
  const slot = ownPayment(task.state.terms.role);
  const coin = task.coin(chainOf(task.state.terms.role, slot));
  if (!coin.chain.crowded?.(coin.contractScript(contractOf(task.state, slot)))) return null;
  return `the ${coin.ticker} servers refuse the history of the swap's address, which others have paid very often: no payment is sent to it`;
}
