import type { Slot } from "../../core/swap/events.ts";
import { type SwapState, versionsOf } from "../../core/swap/swapState.ts";
import { chainOf } from "./contracts.ts";

/** Every transaction that a swap's log knows of on one of its chains: what may be watched for it, so also what is not any more when it is over. */
export function txidsOn({ own, received, facts, terms }: SwapState, side: "maker" | "taker"): readonly string[] {
  const slots = new Set([...Object.keys(own), ...Object.keys(received), ...Object.keys(facts)] as Slot[]);
  const known = [...slots]
    .filter((slot) => chainOf(terms.role, slot) === side)
    .flatMap((slot) => [...(own[slot] ? versionsOf(own[slot]) : []), received[slot], facts[slot]]);
  return [...new Set(known.flatMap((tx) => (tx && tx.txid !== "" ? [tx.txid] : [])))];
}
