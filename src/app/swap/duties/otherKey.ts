import { toHex } from "../../../core/util/bytes.ts";
import type { SwapTask } from "../swapTask.ts";

/**
 * Why nothing can be signed for the contracts of a swap; null: both coins have the keys that they were agreed with. In an HD wallet they
 * follow from the coins file, and with another one a swap comes back to other keys: money that is locked then could be neither claimed nor
 * taken back.
 */
export function otherKey({ state: { terms }, deps }: SwapTask, sides: readonly ("maker" | "taker")[] = ["maker", "taker"]): string | null {
  for (const side of sides) {
    const [coin, agreed] = side === "maker" ? [deps.makerCoin, terms.myMakerCoinPub] : [deps.takerCoin, terms.myTakerCoinPub];
    if (toHex(coin.htlcPubkey) !== agreed)
      return `${coin.ticker} was enabled with another key than this swap was agreed with: start with the derivation_path of its coins file entry as it was then`;
  }
  return null;
}
