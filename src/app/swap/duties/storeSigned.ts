import { isChildSlot, ownClaim, type PaymentSlot, type Slot } from "../../../core/swap/events.ts";
import type { TxVersion } from "../../../core/swap/swapState.ts";
import { fromHex, toHex } from "../../../core/util/bytes.ts";
import { chainOf } from "../contracts.ts";
import type { OwnSignedTx } from "../swapCoin.ts";
import type { SwapTask } from "../swapTask.ts";
import { isBeforeItsTime } from "./lockTimes.ts";

/**
 * Stores the first version of a claim, refund or cancellation. Where the store refuses it, it never existed: the nonce it took is
 * free again, on chains that have them.
 */
export async function storeSpend(task: SwapTask, slot: Slot, tx: OwnSignedTx, notAfter: number | null): Promise<void> {
  const coin = task.coin(chainOf(task.state.terms.role, slot));
  try {
    await emitSigned(task, slot, tx, notAfter);
  } finally {
    const stored = task.state.own[slot];
    if (stored) countClaim(task, slot, stored);
    if (stored?.txid !== tx.txid && coin.relayPolicy === "nonce") {
      coin.releaseInputs(tx.raw);
      // An earlier try was stored and its answer lost: that one counts.
      if (stored) coin.lockInputs(fromHex(stored.raw));
    }
  }
}

/** Stores the first version of an own transaction, with what later versions are reckoned from. */
function emitSigned(task: SwapTask, slot: Slot, tx: OwnSignedTx, notAfter: number | null): Promise<void> {
  const height = task.coin(chainOf(task.state.terms.role, slot)).chain.status().tip?.height;
  const { txid, fee } = tx;
  // Blocks that come before it is final leave it out whatever it pays.
  const at = height === undefined || isBeforeItsTime(task, slot) ? {} : { height };
  return task.emit({ type: "tx_signed", slot, txid, raw: toHex(tx.raw), notAfter, fee: fee.toString(), ...at });
}

/**
 * Stores a transaction just signed from own outputs. Where the store refuses it, it never existed: its inputs and its
 * promise are free again, so that the next try does not build on change that nobody will ever have.
 */
export async function storeSigned(
  task: SwapTask,
  slot: "fee" | PaymentSlot | "feeChild" | "paymentChild" | "claimChild" | "refundChild",
  tx: OwnSignedTx,
  notAfter: number | null,
): Promise<void> {
  const coin = task.coin(chainOf(task.state.terms.role, slot));
  try {
    await emitSigned(task, slot, tx, notAfter);
  } catch (cause) {
    coin.releaseInputs(tx.raw);
    throw cause;
  }
  const stored = task.state.own[slot];
  if (stored?.txid === tx.txid) return;
  coin.releaseInputs(tx.raw);
  // A child whose parent is in a block by now never existed.
  if (!stored) return;
  // An earlier try was stored and its answer lost: that one counts.
  coin.lockInputs(fromHex(stored.raw));
  if (isChildSlot(slot)) coin.dropChange(fromHex(stored.raw));
}

/**
 * Stores another version of an own transaction. Where it is not stored, the former one keeps the inputs.
 * @returns whether it is the newest version now
 */
export async function storeReplaced(task: SwapTask, slot: Slot, tx: OwnSignedTx): Promise<boolean> {
  const coin = task.coin(chainOf(task.state.terms.role, slot));
  const giveBack = (): void => {
    const former = task.state.own[slot];
    const hasTaken = isChildSlot(slot) || (former && coin.relayPolicy === "nonce");
    if (!hasTaken || former?.txid === tx.txid) return;
    coin.releaseInputs(tx.raw);
    if (!former || !isChildSlot(slot)) return;
    coin.lockInputs(fromHex(former.raw));
    coin.dropChange(fromHex(former.raw));
  };
  try {
    await task.emit({ type: "tx_replaced", slot, txid: tx.txid, raw: toHex(tx.raw), fee: tx.fee.toString() });
  } catch (cause) {
    giveBack();
    throw cause;
  }
  giveBack();
  const newest = task.state.own[slot];
  if (newest) countClaim(task, slot, newest);
  return newest?.txid === tx.txid;
}

/** A claim that is signed counts by itself from here on; what is held beside that is there to make it dearer, until the swap is over. */
function countClaim(task: SwapTask, slot: Slot, { raw }: TxVersion): void {
  const { role } = task.state.terms;
  if (slot === ownClaim(role) && task.claimReservation) task.coin(chainOf(role, slot)).useClaimGas?.(task.claimReservation, fromHex(raw));
}
