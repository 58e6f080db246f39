import { CHILD_SLOTS, ownClaim, ownRefund, parentOf, type Slot } from "../../../core/swap/events.ts";
import { bytesOf } from "../bytesOf.ts";
import { chainOf } from "../contracts.ts";
import type { SwapTask } from "../swapTask.ts";
import { canBuildOn, childBase, childFor, isBuiltOnByOthers } from "./childVersions.ts";
import { formsToSpend } from "./paymentForms.ts";
import { storeSigned } from "./storeSigned.ts";

/** News of the chain wakes it; without any it looks this often, because the fee due rises with time alone. */
const LOOK_MS = 30_000;

/**
 * Has an own transaction that no block takes paid for by a child of it, where its coin's miners count children: payments
 * and fees, whose id is fixed, and claims and refunds where no replacement is relayed. Its change may have been used by
 * another transaction of ours: then that one is the child.
 */
export async function bump(task: SwapTask, slot: Slot, signal: AbortSignal): Promise<void> {
  const { role } = task.state.terms;
  const child = CHILD_SLOTS.find((c) => parentOf(role, c) === slot);
  const coin = task.coin(chainOf(role, slot));
  const isSpend = slot === ownClaim(role) || slot === ownRefund(role);
  const canHelp = coin.relayPolicy === "child" || (coin.relayPolicy === "replace" && !isSpend);
  for (;;) {
    const seen = task.seen("chain");
    // The first child of all: those of other forms of the payment come beside it.
    for (const form of child && canHelp ? formsToSpend(task, slot) : []) {
      const tx = childBase(task, slot, form);
      if (!child || !tx || !canBuildOn(task, slot, tx.txid, false) || isBuiltOnByOthers(task, child, bytesOf(tx))) continue;
      const built = childFor(task, child, tx, bytesOf(tx), 1, 0n);
      if (built) return storeSigned(task, child, built, null);
    }
    await task.news(seen, LOOK_MS, signal);
  }
}
