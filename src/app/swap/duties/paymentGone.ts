import { ownClaim, theirClaim, theirPayment } from "../../../core/swap/events.ts";
import { chainOf, contractOf } from "../contracts.ts";
import type { SwapTask } from "../swapTask.ts";

/** So long past the later lock a backend that answers shows nothing of a payment, though the outbox offers it all the time. */
const GONE_SEC = 3_600;

/**
 * Tells when the other side's payment is to be given up for gone: a reorganisation undid it, what it was built on went elsewhere, say, and
 * the other side has claimed ours for good. Our claim is offered all the same, for as long as the swap is watched.
 */
export class PaymentGone {
  /** Since when it has been missing in this run, unix seconds; null: it is not. */
  #since: number | null = null;

  /** To be asked at every look. */
  isGone(task: SwapTask): boolean {
    if (!isMissing(task)) {
      this.#since = null;
      return false;
    }
    this.#since ??= task.nowSec();
    return task.nowSec() > Math.max(this.#since, task.times().makerLock) + GONE_SEC;
  }
}

function isMissing(task: SwapTask): boolean {
  const { facts, terms, isTheirsGone } = task.state;
  const { role } = terms;
  const payment = theirPayment(role);
  if (isTheirsGone || !facts[theirClaim(role)]?.confirmed || facts[payment] || facts[ownClaim(role)]?.block) return false;
  const side = chainOf(role, payment);
  const coin = task.coin(side);
  if (!task.covered.has(side) || coin.chain.status().state !== "ready") return false;
  // Blocks that were not read yet may have it.
  const crowded = coin.chain.crowded?.(coin.contractScript(contractOf(task.state, payment))) ?? null;
  if (crowded === "reading" || crowded === "unread") return false;
  // Nodes that keep few receipts show no transaction of it. What the contract paid for a claim, it paid to us.
  const said = coin.chain.unfound?.(coin.contractScript(contractOf(task.state, payment))) ?? null;
  return said === null || said === "refunded";
}
