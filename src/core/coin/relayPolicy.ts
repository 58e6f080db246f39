import type { CoinEntry } from "./coinEntry.ts";

/**
 * What a coin's network does for a transaction that pays too little to be mined in time.
 * - `replace`: nodes relay a replacement that pays more (BIP-125), and miners count children.
 * - `child`: miners count children of a transaction, nodes relay no replacement.
 * - `overpay`: neither; what is paid at the first sending must do.
 */
export type RelayPolicy = "replace" | "child" | "overpay";

export const RELAY_POLICIES: readonly RelayPolicy[] = ["replace", "child", "overpay"];

/**
 * Policy of an entry that names none, by its code base. Segregated witness came with Bitcoin Core 0.13.1, after replacement
 * (0.12) and mining by the fees of a transaction with its ancestors (0.13.0), so whoever has it has both. The Zcash family
 * forked from 0.11 and the fork-id family took replacement out. Of other coins nothing is known: too careful costs little.
 */
export function relayPolicy(entry: Pick<CoinEntry, "relayPolicy" | "segwit" | "overwintered" | "forkId">): RelayPolicy {
  if (entry.relayPolicy) return entry.relayPolicy;
  return entry.segwit && !entry.overwintered && !entry.forkId ? "replace" : "overpay";
}
