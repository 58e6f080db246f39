import { max } from "../util/bigints.ts";
import type { FeePolicy } from "./utxoKind.ts";

/** Most that servers of strangers are believed of fees, base units per 1000 bytes. */
export type ServedFees = {
  /** An estimate above it counts as it. */
  readonly mostPerKb: bigint;
  /** What is named as the least that is relayed counts for nothing above it. */
  readonly mostRelayPerKb: bigint;
};

/** 1,500 units a byte: blocks hardly ever took more for a place, and Electrum's own wallet offers no more (its `FEERATE_MAX_DYNAMIC`). */
const MOST_PER_KB = 1_500_000n;
/** Where the coins file fixes a rate, transactions at that rate were relayed when it was written. */
const RELAY_FACTOR = 10n;
/** 100 times Bitcoin Core's default `minrelaytxfee`, for coins files that fix less than their daemons' own minimum. */
const FREE_RELAY_PER_KB = 100_000n;

/**
 * The limits of what is believed, by the coin's entry. A miner or a vandal who runs most of the servers of a coin has no more than this paid of
 * whatever is sent, where a daemon of one's own could be believed anything.
 */
export function servedFees(policy: FeePolicy): ServedFees {
  if (policy.kind === "dynamic") return { mostPerKb: MOST_PER_KB, mostRelayPerKb: MOST_PER_KB };
  const raised = RELAY_FACTOR * policy.rate.perKb;
  return { mostPerKb: max(MOST_PER_KB, raised), mostRelayPerKb: max(FREE_RELAY_PER_KB, raised) };
}
