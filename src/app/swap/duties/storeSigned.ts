import { toHex } from "../../../core/util/bytes.ts";
import { chainOf, type PaymentSlot } from "../contracts.ts";
import type { SignedTx } from "../swapCoin.ts";
import type { SwapTask } from "../swapTask.ts";

/**
 * Stores a transaction just signed from own outputs. Where the store refuses it, it never existed: its inputs and its
 * promise are free again, so that the next try does not build on change that nobody will ever have.
 */
export async function storeSigned(task: SwapTask, slot: "fee" | PaymentSlot, tx: SignedTx, notAfter: number): Promise<void> {
  try {
    await task.emit({ type: "tx_signed", slot, txid: tx.txid, raw: toHex(tx.raw), notAfter });
  } catch (cause) {
    task.coin(chainOf(task.state.terms.role, slot)).releaseInputs(tx.raw);
    throw cause;
  }
}
