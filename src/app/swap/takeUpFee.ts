import { fromHex, toHex } from "../../core/util/bytes.ts";
import type { SwapTask } from "./swapTask.ts";

/**
 * Takes over the dex fee from the chain when the log of a taker's swap lacks it: the store was put back to an older state. To be
 * called before the fee is built, or it is paid twice. Nothing in a fee names its swap:
 * an own transaction counts that pays exactly this fee, came after the swap began, and is in no log, for every fee that left is marked.
 *
 * @returns whether there was one
 */
export async function takeUpFee(task: SwapTask): Promise<boolean> {
  const { terms } = task.state;
  if (terms.dexFeePubkey === null) return false;
  const coin = task.coin("taker");
  const wanted = { feeUnits: BigInt(terms.dexFeeUnits), burnUnits: BigInt(terms.dexBurnUnits), feeKey: fromHex(terms.dexFeePubkey) };
  const isOfASwap = (txid: string): boolean => task.deps.ownTx(txid) !== null;
  for (const { txid, raw, fee } of coin.ownDexFees(wanted, terms.takerStartHeight, isOfASwap)) {
    const mark = { kind: "fee_tx", value: txid } as const;
    if (await task.deps.store.isMarked(mark)) continue;
    task.deps.log.warn("swap_fee_found", { swap: task.uuid, txid });
    await task.emit({ type: "tx_signed", slot: "fee", txid, raw: toHex(raw), notAfter: null, fee: fee.toString() }, [mark]);
    coin.lockInputs(raw);
    await task.emit({ type: "tx_attempted", slot: "fee" });
    return true;
  }
  return false;
}
