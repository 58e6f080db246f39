import { z } from "zod";
import type { OldView, WalletCoin } from "./ctx/coins.ts";

/** What is ours in a reply with a balance. */
export const oldViewShape = z
  .object({
    state: z.enum(["starting", "syncing", "unreachable"]),
    height: z.number().nullable().describe("Of the last block that counts in the balance."),
  })
  .optional()
  .describe("Only where the balance is what the node last knew: its backend cannot be reached, or the chain is still being read.");

/** The field `swapnode` of a reply with a balance; none where the balance is the present one. */
export function oldViewOf(coin: Pick<WalletCoin, "oldView">): { readonly swapnode?: OldView } {
  const view = coin.oldView();
  return view === null ? {} : { swapnode: view };
}
