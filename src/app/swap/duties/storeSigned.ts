import { fromHex, toHex } from "../../../core/util/bytes.ts";
import { chainOf, type PaymentSlot } from "../contracts.ts";
import type { SignedTx } from "../swapCoin.ts";
import type { SwapTask } from "../swapTask.ts";

/**
 * Stores a transaction just signed from own outputs. Where the store refuses it, it never existed: its inputs and its
 * promise are free again, so that the next try does not build on change that nobody will ever have.
 */
export async function storeSigned(task: SwapTask, slot: "fee" | PaymentSlot, tx: SignedTx, notAfter: number): Promise<void> {
  const coin = task.coin(chainOf(task.state.terms.role, slot));
  try {
    await task.emit({ type: "tx_signed", slot, txid: tx.txid, raw: toHex(tx.raw), notAfter });
  } catch (cause) {
    coin.releaseInputs(tx.raw);
    throw cause;
  }
  const stored = task.state.own[slot];
  if (!stored || stored.txid === tx.txid) return;
  // An earlier try was stored and its answer lost: that one counts.
  coin.releaseInputs(tx.raw);
  coin.lockInputs(fromHex(stored.raw));
}
