import { ownPayment, type Slot } from "../../core/swap/events.ts";
import { fromHex } from "../../core/util/bytes.ts";
import { chainOf, contractOf } from "./contracts.ts";
import type { SwapTask } from "./swapTask.ts";

/** A settled swap needs nothing any more: its inputs are spent or were never used, and nobody asks for its contracts. */
export async function forgetSwap(task: SwapTask): Promise<void> {
  const s = task.state;
  const { role } = s.terms;
  for (const slot of ["fee", ownPayment(role)] as const) {
    const tx = s.own[slot];
    if (tx) task.coin(role).releaseInputs(fromHex(tx.raw));
  }
  for (const side of ["maker", "taker"] as const) {
    const coin = task.coin(side);
    const known = Object.entries({ ...s.received, ...s.own }) as [Slot, { readonly txid: string }][];
    const txids = known.filter(([slot, { txid }]) => txid !== "" && chainOf(role, slot) === side).map(([, { txid }]) => txid);
    const scripts = s.negotiated ? [coin.contractScript(contractOf(s, `${side}Payment`))] : [];
    await coin.chain.unwatch({ scripts, txids });
  }
}
