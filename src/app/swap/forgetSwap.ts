import { CHILD_SLOTS, ownClaim, ownPayment, ownRefund } from "../../core/swap/events.ts";
import { versionsOf } from "../../core/swap/swapState.ts";
import { fromHex } from "../../core/util/bytes.ts";
import { chainOf, contractOf } from "./contracts.ts";
import type { SwapTask } from "./swapTask.ts";
import { txidsOn } from "./txidsOn.ts";

/** A settled swap needs nothing any more: its inputs are spent or were never used, and nobody asks for its contracts. */
export async function forgetSwap(task: SwapTask): Promise<void> {
  const s = task.state;
  const { role } = s.terms;
  for (const slot of ["fee", ownPayment(role)] as const) {
    const tx = s.own[slot];
    if (tx) task.coin(role).releaseInputs(fromHex(tx.raw));
  }
  for (const slot of CHILD_SLOTS) {
    const tx = s.own[slot];
    for (const { raw } of tx ? versionsOf(tx) : []) task.coin(chainOf(role, slot)).releaseInputs(fromHex(raw));
  }
  // Somebody else may have ended the payment first, and no block ever took ours: nothing later of the account may wait for its nonce.
  for (const slot of [ownClaim(role), ownRefund(role), "cancel"] as const) {
    const [coin, tx] = [task.coin(chainOf(role, slot)), s.own[slot]];
    if (tx && coin.relayPolicy === "nonce") for (const { raw } of versionsOf(tx)) coin.releaseInputs(fromHex(raw));
  }
  for (const side of ["maker", "taker"] as const) {
    const coin = task.coin(side);
    const txids = txidsOn(s, side);
    const scripts = s.negotiated ? [coin.contractScript(contractOf(s, `${side}Payment`))] : [];
    await coin.chain.unwatch({ scripts, txids });
  }
}
