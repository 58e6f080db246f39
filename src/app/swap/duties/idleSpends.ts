import { ownClaim, ownRefund, type Slot } from "../../../core/swap/events.ts";
import { duties, versionsOf } from "../../../core/swap/swapState.ts";
import { fromHex } from "../../../core/util/bytes.ts";
import { chainOf } from "../contracts.ts";
import type { SwapTask } from "../swapTask.ts";
import { isClaimInVain, isUnseen } from "./lateClaim.ts";
import { whyRefundStays } from "./refundView.ts";

/** Whether what this swap publishes stays home for longer than the time of a first look. */
function staysHome(task: SwapTask, slot: Slot): boolean {
  const { role } = task.state.terms;
  if (slot === ownRefund(role)) {
    const why = whyRefundStays(task);
    return why !== null && why !== "unlooked";
  }
  return slot === "takerPaymentSpend" && (isClaimInVain(task) || (task.isClaimKept && isUnseen(task)));
}

/**
 * Gives up own claims and refunds that this swap does not send any more, or not now: a claim whose secret stays here, a refund while the claim is in a
 * block, and whatever spends a payment that is spent. Where transactions have nonces, everything later of the account would wait for them, the refund or
 * claim of this very swap, too, and it ends only with that one. What is sent again, after a reorganisation, say, counts again.
 */
export function giveUpIdle(task: SwapTask): void {
  const { role } = task.state.terms;
  for (const slot of [ownClaim(role), ownRefund(role)]) {
    const coin = task.coin(chainOf(role, slot));
    const tx = task.state.own[slot];
    if (!tx || coin.relayPolicy !== "nonce" || task.state.facts[slot]?.confirmed) continue;
    const isPublished = duties(task.state).some((duty) => duty.do === "publish" && duty.slot === slot);
    const isSent = isPublished && !staysHome(task, slot);
    for (const { raw } of versionsOf(tx)) {
      if (isSent) coin.takeBack?.(fromHex(raw));
      else coin.giveUp?.(fromHex(raw), true);
    }
  }
}
