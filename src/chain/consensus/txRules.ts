import type { Tx } from "../../core/utxo/tx.ts";
import { isAged, isAgedForMempool } from "../../core/utxo/txTemplate.ts";
import { MAX_BLOCK_WEIGHT } from "../block.ts";
import { type ChainParams, COINBASE_MATURITY, MAX_MONEY } from "../chainParams.ts";
import { type ChainTx, isCoinbase, isNullOutPoint, outPointKey } from "../chainTx.ts";
import type { Coin } from "../coinSet.ts";
import { LOCKTIME_THRESHOLD, SEQUENCE_DISABLE, SEQUENCE_FINAL, SEQUENCE_MASK, SEQUENCE_TYPE_TIME } from "../script/signatureChecker.ts";
import type { Reject } from "./reject.ts";

const inMoneyRange = (v: bigint): boolean => v >= 0n && v <= MAX_MONEY;

/** Sapling-era KMD transactions: version 4 and transparent; nothing here can check a shielded proof. */
function checkSaplingForm(tx: Tx): string | null {
  if (!tx.sapling) return "tx-overwinter-not-overwintered";
  if (tx.version !== 4) return "bad-sapling-tx-version-group-id";
  if (tx.sapling.shieldedTail.length !== 3 || tx.sapling.valueBalance !== 0n) return "bad-txns-shielded-unsupported";
  return null;
}

/** Rules that need no context (Bitcoin's CheckTransaction; ZIP-202 for the KMD family). */
export function checkTransaction({ tx, strippedSize }: ChainTx, params: ChainParams): string | null {
  if (params.kind === "kmd") {
    const problem = checkSaplingForm(tx);
    if (problem) return problem;
  }
  if (tx.inputs.length === 0) return "bad-txns-vin-empty";
  if (tx.outputs.length === 0) return "bad-txns-vout-empty";
  if (strippedSize * 4 > MAX_BLOCK_WEIGHT) return "bad-txns-oversize";
  let total = 0n;
  for (const { value } of tx.outputs) {
    if (!inMoneyRange(value)) return "bad-txns-vout-toolarge";
    total += value;
    if (!inMoneyRange(total)) return "bad-txns-txouttotal-toolarge";
  }
  if (new Set(tx.inputs.map(outPointKey)).size !== tx.inputs.length) return "bad-txns-inputs-duplicate";
  if (isCoinbase(tx)) {
    const length = tx.inputs[0]?.scriptSig.length ?? 0;
    return length < 2 || length > 100 ? "bad-cb-length" : null;
  }
  return tx.inputs.some(isNullOutPoint) ? "bad-txns-prevout-null" : null;
}

/**
 * Whether the transaction may stand in a block of `height`. `time` is the median time past of the block before
 * (BIP-113), unix seconds.
 */
export function isFinal(tx: Tx, height: number, time: number): boolean {
  if (tx.lockTime === 0 || tx.lockTime < (tx.lockTime < LOCKTIME_THRESHOLD ? height : time)) return true;
  return tx.inputs.every((i) => i.sequence === SEQUENCE_FINAL);
}

/** komodod's `komodo_validate_interest`: whether its lock time is too old for a block of `time`, unix seconds. */
export function hasAged({ lockTime }: Tx, params: ChainParams, time: number): boolean {
  return params.paysInterest && isAged(lockTime, time);
}

/** The same for the mempool over a tip of that median time. */
export const hasAgedForMempool = ({ lockTime }: Tx, params: ChainParams, medianTime: number): boolean =>
  params.paysInterest && isAgedForMempool(lockTime, medianTime);

/** ZIP-203: a transaction with an expiry height cannot be mined above it. */
export function isExpired(tx: Tx, height: number): boolean {
  const expiry = tx.sapling?.expiryHeight ?? 0;
  return expiry > 0 && !isCoinbase(tx) && height > expiry;
}

/**
 * BIP-68 relative lock times, for a block of `height` on a chain whose tip has the median time `medianTime`.
 * @param coins the spent coins, in input order
 * @param medianTimeAt median time past of the block at a height of this chain
 */
export function relativeLocksMet(
  tx: Tx,
  coins: readonly Coin[],
  height: number,
  medianTime: number,
  medianTimeAt: (height: number) => number,
): boolean {
  if (tx.version < 2) return true;
  return tx.inputs.every(({ sequence }, i) => {
    if (sequence & SEQUENCE_DISABLE) return true;
    const coinHeight = coins[i]?.height ?? 0;
    const span = sequence & SEQUENCE_MASK;
    if (!(sequence & SEQUENCE_TYPE_TIME)) return coinHeight + span <= height;
    // Units of 512 seconds, counted from the median time before the coin's block.
    return medianTimeAt(Math.max(coinHeight - 1, 0)) + span * 512 <= medianTime;
  });
}

/** Maturity and value (Bitcoin's CheckTxInputs). @returns the fee in base units, or the reason */
export function checkTxInputs(tx: Tx, coins: readonly Coin[], height: number): { readonly fee: bigint } | Reject {
  let inputs = 0n;
  for (const coin of coins) {
    if (coin.coinbase && height - coin.height < COINBASE_MATURITY) {
      return { reason: "bad-txns-premature-spend-of-coinbase", detail: `tried to spend coinbase at depth ${height - coin.height}` };
    }
    inputs += coin.value;
    if (!inMoneyRange(coin.value) || !inMoneyRange(inputs)) return { reason: "bad-txns-inputvalues-outofrange" };
  }
  const outputs = tx.outputs.reduce((n, o) => n + o.value, 0n);
  if (inputs < outputs) return { reason: "bad-txns-in-belowout", detail: `value in (${inputs}) < value out (${outputs})` };
  return { fee: inputs - outputs };
}
