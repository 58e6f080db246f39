import { LOCK_TIME_THRESHOLD } from "./htlc.ts";
import type { Tx } from "./tx.ts";
import type { TxFormat } from "./txCodec.ts";
import { SAPLING_GROUP_ID } from "./txCodec.ts";

/** Header of the transactions a coin's node makes. */
export type TxTemplate = { readonly version: number; readonly format: TxFormat };

/** Input sequence that makes lock times irrelevant. */
export const SEQUENCE_FINAL = 0xffffffff;
/** Input sequence that lets the lock time count and still opts out of replacement (BIP-125) and relative locks (BIP-68). */
export const SEQUENCE_LOCKTIME = 0xfffffffe;
/** Input sequence that lets the lock time count and offers the transaction for replacement (BIP-125); no relative lock (BIP-68). */
export const SEQUENCE_REPLACEABLE = 0xfffffffd;

/** Seconds a lock time may lie before the time of its block on a chain that pays interest (komodod's `komodo_validate_interest`). */
const INTEREST_WINDOW_SEC = 3_600;
/** KDF's clock offset for Komodo, seconds before now: an hour, less two notarisation spans of 777 s. */
const KMD_LOCK_TIME_OFFSET = INTEREST_WINDOW_SEC - 2 * 777;

/** A transaction without signatures. A v4 one has no shielded parts and never expires. */
export function draftTx(template: TxTemplate, parts: Pick<Tx, "inputs" | "outputs" | "lockTime">): Tx {
  const { version } = template;
  if (template.format.kind !== "sapling") return { version, ...parts };
  return {
    version,
    sapling: { versionGroupId: SAPLING_GROUP_ID, expiryHeight: 0, valueBalance: 0n, shieldedTail: new Uint8Array(3) },
    ...parts,
  };
}

/**
 * `nLockTime` of an ordinary transaction: now, in unix seconds, and for coins that pay interest (KMD) a time the chain has
 * surely reached (swap-protocol.md 4.2). Inputs are final, so it binds nothing; watchers read a fee's age from it.
 */
export function currentLockTime(nowSec: number, paysInterest: boolean): number {
  return paysInterest ? nowSec - KMD_LOCK_TIME_OFFSET : nowSec;
}

/**
 * `nLockTime` of a claim or refund: the contract's lock, or later if the chain's time has passed it (4.6). Never later than
 * the node's own time or the chain's: a daemon that is wrong about its chain's time, or a clock that is ahead, would have a refund signed
 * that is final years from now.
 * @param medianTimePastSec of the payment's chain
 */
export function htlcLockTime(
  lock: number,
  at: { readonly medianTimePastSec: number; readonly nowSec: number },
  paysInterest: boolean,
): number {
  return Math.max(lock, Math.min(at.medianTimePastSec - 1, paysInterest ? currentLockTime(at.nowSec, true) : at.nowSec));
}

/** Whether the chain accepts a refund with that lock time in its next block: lock time below median time past (4.7, BIP-113). */
export function isRefundFinal(lockTime: number, medianTimePastSec: number): boolean {
  return lockTime < medianTimePastSec;
}

/** Time of the next block as komodod's mempool reckons, seconds after the chain's median time. */
const NEXT_BLOCK_SEC = 777;

/** Whether the mempools of a chain that pays interest take nothing of that lock time any more, over a tip of that median time. */
export const isAgedForMempool = (lockTime: number, medianTimePastSec: number): boolean =>
  isAged(lockTime, medianTimePastSec + NEXT_BLOCK_SEC);

/**
 * Whether a chain that pays interest takes a transaction of that lock time in no block of that time. Of the chain's median time: in none any more, for
 * the time of each block is above it (BIP-113).
 */
export function isAged(lockTime: number, blockSec: number): boolean {
  return lockTime >= LOCK_TIME_THRESHOLD && lockTime + INTEREST_WINDOW_SEC < blockSec;
}
