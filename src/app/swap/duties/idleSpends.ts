import { duties } from "../../../core/swap/duties.ts";
import { ownClaim, ownPayment, ownRefund, type Slot } from "../../../core/swap/events.ts";
import { versionsOf } from "../../../core/swap/swapState.ts";
import { fromHex } from "../../../core/util/bytes.ts";
import { bytesOf } from "../bytesOf.ts";
import { chainOf } from "../contracts.ts";
import type { SwapTask } from "../swapTask.ts";
import { isClaimInVain, isUnseen } from "./lateClaim.ts";
import { isPaymentOpen, isPaymentUnseen } from "./paymentLeaves.ts";
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

const isPublished = (task: SwapTask, slot: Slot): boolean => duties(task.state).some((duty) => duty.do === "publish" && duty.slot === slot);

/**
 * Where transactions have nonces, a payment that left once and that nobody has, for it stays home now or nodes refuse it, or that pools have below what a block asks,
 * keeps its own only while nothing waits behind it: the claim of another swap, whose secret is out, would miss its lock. What holds up others for long its account fills,
 * as where its swap waits for its other coin (`NonceKeeper`).
 */
export function yieldPayment(task: SwapTask): void {
  const slot = ownPayment(task.state.terms.role);
  const coin = task.coin(task.state.terms.role);
  const tx = task.state.own[slot];
  if (!tx?.attempted || coin.relayPolicy !== "nonce") return;
  const raw = bytesOf(tx);
  const isIdle = isPaymentUnseen(task) || (isPaymentOpen(task) && coin.isStuck?.(raw) === true);
  const isYielding = isIdle && isPublished(task, slot);
  if (isYielding) coin.giveUp?.(raw, false);
  else takeBackPayment(task);
  task.isPaymentYielding = isYielding;
}

/** What was given up for others only: the time of one that was refused is over. */
export function takeBackPayment(task: SwapTask): void {
  const tx = task.state.own[ownPayment(task.state.terms.role)];
  if (tx && task.isPaymentYielding) task.coin(task.state.terms.role).takeBack?.(bytesOf(tx));
  task.isPaymentYielding = false;
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
    const isSent = isPublished(task, slot) && !staysHome(task, slot);
    for (const { raw } of versionsOf(tx)) {
      if (isSent) coin.takeBack?.(fromHex(raw));
      else coin.giveUp?.(fromHex(raw), true);
    }
  }
}
