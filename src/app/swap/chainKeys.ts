import { type SwapState, versionsOf } from "../../core/swap/swapState.ts";
import { hexOf } from "../../core/util/bytes.ts";
import { contractOf } from "./contracts.ts";
import type { SwapCoin } from "./swapCoin.ts";

/**
 * Scripts (lower-case hex) and transaction ids by which a chain's news is known to concern a swap: both contracts and every
 * transaction it has signed, received or seen. What else can matter to it comes with a block, which concerns every swap.
 */
export function chainKeys(s: SwapState, makerCoin: SwapCoin, takerCoin: SwapCoin): ReadonlySet<string> {
  const keys = new Set<string>();
  if (s.negotiated) {
    keys.add(hexOf(makerCoin.contractScript(contractOf(s, "makerPayment"))));
    keys.add(hexOf(takerCoin.contractScript(contractOf(s, "takerPayment"))));
  }
  for (const tx of Object.values(s.own)) for (const { txid } of versionsOf(tx)) keys.add(txid);
  for (const known of [...Object.values(s.received), ...Object.values(s.facts), ...Object.values(s.forms).flat()]) keys.add(known.txid);
  return keys;
}
