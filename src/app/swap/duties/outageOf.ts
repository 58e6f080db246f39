import { fundsErrorText } from "../../fundsErrorText.ts";
import type { SwapCoin } from "../swapCoin.ts";

/**
 * Why nothing new may be signed or sent on a coin: its backend could not be reached when it was last looked at, and cannot now. What
 * is known of the own outputs may be old then, and nobody would learn what became of what is sent. Null: it answers.
 */
export async function outageOf(coin: SwapCoin, signal: AbortSignal): Promise<string | null> {
  const outage = await coin.reach(signal);
  return outage && fundsErrorText(outage);
}
