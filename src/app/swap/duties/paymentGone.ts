import { ownClaim, ownPayment, type PaymentSlot, theirClaim, theirPayment } from "../../../core/swap/events.ts";
import { wasUsed } from "../../../core/swap/swapState.ts";
import { bytesOf } from "../bytesOf.ts";
import { chainOf, contractOf } from "../contracts.ts";
import type { SwapTask } from "../swapTask.ts";

/** So long past the later lock a backend that answers shows nothing of a payment, though the outbox offers it all the time. */
const GONE_SEC = 3_600;

/** Tells when a payment that is missing is to be given up for gone. */
export class PaymentGone {
  readonly #isMissing: (task: SwapTask) => boolean;
  /** Since when it has been missing in this run, unix seconds; null: it is not. */
  #since: number | null = null;

  constructor(isMissing: (task: SwapTask) => boolean) {
    this.#isMissing = isMissing;
  }

  /** To be asked at every look. */
  isGone(task: SwapTask): boolean {
    if (!this.#isMissing(task)) {
      this.#since = null;
      return false;
    }
    this.#since ??= task.nowSec();
    return task.nowSec() > Math.max(this.#since, task.times().makerLock) + GONE_SEC;
  }
}

/**
 * The other side's payment: a reorganisation undid it, what it was built on went elsewhere, say, and the other side has claimed ours for good.
 * Our claim is offered all the same, for as long as the swap is watched.
 */
export function isTheirsMissing(task: SwapTask): boolean {
  const { facts, terms, isTheirsGone } = task.state;
  const { role } = terms;
  const payment = theirPayment(role);
  if (isTheirsGone || !facts[theirClaim(role)]?.confirmed || facts[payment] || facts[ownClaim(role)]?.block) return false;
  if (!isRead(task, payment)) return false;
  // Nodes that keep few receipts show no transaction of it. What the contract paid for a claim, it paid to us.
  const coin = task.coin(chainOf(role, payment));
  const said = coin.chain.unfound?.(coin.contractScript(contractOf(task.state, payment))) ?? null;
  return said === null || said === "refunded";
}

/**
 * The own payment, where not one of the outputs that it spends is there any more: nobody can mine it, and there is nothing with which to cancel it. It
 * is watched for ever, for whoever has what it was built on can bring it back.
 */
export function isOursMissing(task: SwapTask): boolean {
  const { own, facts, terms, isOursGone } = task.state;
  const payment = ownPayment(terms.role);
  const tx = own[payment];
  if (isOursGone || !tx?.attempted || wasUsed(task.state) || facts[payment]?.block || facts.cancel?.block) return false;
  const coin = task.coin(chainOf(terms.role, payment));
  if (!coin.restsOnNothing || !isRead(task, payment)) return false;
  const forms = [tx, ...(facts[payment] ? [facts[payment]] : [])];
  return forms.every((form) => coin.chain.tx(form.txid) === undefined && coin.restsOnNothing?.(bytesOf(form)));
}

/** Whether a chain that answers has been read where a payment would be. */
function isRead(task: SwapTask, payment: PaymentSlot): boolean {
  const side = chainOf(task.state.terms.role, payment);
  const coin = task.coin(side);
  if (!task.covered.has(side) || coin.chain.status().state !== "ready") return false;
  // Blocks that were not read yet may have it.
  const crowded = coin.chain.crowded?.(coin.contractScript(contractOf(task.state, payment))) ?? null;
  return crowded !== "reading" && crowded !== "unread";
}
