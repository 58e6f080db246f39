import { type Role, theirRefund } from "./events.ts";
import type { KeptSwap } from "./kdfStatus.ts";
import { outcomeOf, type SwapState } from "./swapState.ts";

/** Events after which a swap of either role needs nobody's hand: it never locked anything, or its money is back or paid out. */
const MAKER_ENDED: ReadonlySet<string> = new Set([
  ...["StartFailed", "NegotiateFailed", "TakerFeeValidateFailed", "TakerPaymentSpendConfirmed", "MakerPaymentRefunded"],
]);
const TAKER_ENDED: ReadonlySet<string> = new Set([
  ...["StartFailed", "NegotiateFailed", "TakerFeeSendFailed", "MakerPaymentValidateFailed", "MakerPaymentWaitConfirmFailed"],
  ...["TakerPaymentRefunded", "TakerPaymentRefundedByWatcher", "MakerPaymentSpendConfirmed"],
]);

/**
 * `recoverable` of a status, by its event names alone (reference rpc.md 7.5). It says what KDF's own test says, which also
 * calls a swap recoverable that gave up before it paid; `whyNotRecoverable` has the truth of each.
 */
export function isRecoverable(role: Role, events: readonly string[]): boolean {
  if (!events.includes("Finished")) return false;
  const ended = role === "maker" ? MAKER_ENDED : TAKER_ENDED;
  if (events.some((name) => ended.has(name))) return false;
  if (role === "maker" || events.includes("MakerPaymentSpendConfirmFailed")) return true;
  return !events.includes("MakerPaymentSpent") && !events.includes("MakerPaymentSpentByWatcher");
}

/** The same of a swap that ended in KDF: this node has only its history, and took up at the import what money was left in. */
export function whyKeptNotRecoverable({ type, events }: KeptSwap): string {
  const names = events.map((e) => e.event.type);
  if (type === "Maker") {
    if (names.includes("MakerPaymentRefunded")) return "Maker payment is refunded, swap is not recoverable";
    if (names.includes("TakerPaymentSpendConfirmed")) return "Taker payment spend transaction has been sent and confirmed";
    return names.includes("MakerPaymentSent") ? LEFT_TO_KDF : "Maker payment transaction was not found";
  }
  if (names.includes("TakerPaymentRefunded") || names.includes("TakerPaymentRefundedByWatcher"))
    return "Taker payment is refunded, swap is not recoverable";
  if (names.includes("MakerPaymentSpendConfirmed")) return "Maker payment is spent and confirmed, swap is not recoverable";
  if (!names.includes("MakerPaymentReceived")) return "No info about maker payment, swap is not recoverable";
  return names.includes("TakerPaymentSent") ? LEFT_TO_KDF : "Taker payment is not found, swap is not recoverable";
}
const LEFT_TO_KDF = "This swap ended in KDF and this node has only its history: recover it with the KDF that ran it";

/**
 * Why there is nothing to recover of a finished swap of this node, in KDF's words (reference rpc.md 5.3): a swap ends here only
 * once the chains have decided it, and refunds and claims go on by themselves until then.
 */
export function whyNotRecoverable(s: SwapState): string {
  const maker = s.terms.role === "maker";
  switch (outcomeOf(s)) {
    case "success":
      return maker
        ? "Taker payment spend transaction has been sent and confirmed"
        : "Maker payment is spent and confirmed, swap is not recoverable";
    case "refunded":
    case "cancelled":
      return `${maker ? "Maker" : "Taker"} payment is refunded, swap is not recoverable`;
    case "failed":
      if (maker) return "Maker payment transaction was not found";
      return s.received.makerPayment || s.facts.makerPayment
        ? "Taker payment is not found, swap is not recoverable"
        : "No info about maker payment, swap is not recoverable";
    case "lost": {
      const refund = s.facts[theirRefund(s.terms.role)];
      const [payment, coin] = maker ? ["Taker", s.terms.takerCoin] : ["Maker", s.terms.makerCoin];
      if (!refund) return `${payment} payment is gone from the ${coin} chain, swap is not recoverable`;
      return `${payment} payment was already refunded by ${coin} tx ${refund.txid}`;
    }
    case null:
      return "A reorganisation took back what ended this swap; the node is putting it back by itself";
  }
}
