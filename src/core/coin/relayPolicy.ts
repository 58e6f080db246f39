import type { CoinEntry } from "./coinEntry.ts";

/**
 * What a coin's network does for a transaction that pays too little to be mined in time.
 * - `replace`: nodes relay a replacement that pays more (BIP-125), and miners count children.
 * - `child`: miners count children of a transaction, nodes relay no replacement.
 * - `overpay`: neither; what is paid at the first sending must do.
 */
export type RelayPolicy = "replace" | "child" | "overpay";

export const RELAY_POLICIES: readonly RelayPolicy[] = ["replace", "child", "overpay"];

/** Human-readable parts of Bitcoin's own networks. */
const BITCOIN_HRPS: readonly string[] = ["bc", "tb", "bcrt"];

/**
 * Policy of an entry that names none, by its code base. Segregated witness came with Bitcoin Core 0.13.1, after mining by the
 * fees of a transaction with its ancestors (0.13.0), so whoever has it counts children. Replacement (0.12) came with it too, but
 * is not everywhere on: Litecoin Core refuses one with `txn-mempool-conflict` (`test/interop/trouble.test.ts`), so only
 * Bitcoin itself is taken to relay it. The Zcash family forked from 0.11 and the fork-id family took both out. Of other coins
 * nothing is known: too careful costs little.
 */
export function relayPolicy(entry: Pick<CoinEntry, "relayPolicy" | "segwit" | "overwintered" | "forkId" | "bech32Hrp">): RelayPolicy {
  if (entry.relayPolicy) return entry.relayPolicy;
  if (!entry.segwit || entry.overwintered || entry.forkId) return "overpay";
  return BITCOIN_HRPS.includes(entry.bech32Hrp ?? "") ? "replace" : "child";
}
