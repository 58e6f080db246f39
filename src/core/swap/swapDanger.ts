import { ownClaim, ownRefund, theirClaim, theirPayment, theirRefund } from "./events.ts";
import { paymentMayExist, type SwapState } from "./swapState.ts";

/**
 * What may be lost, in one sentence; null while nothing is. Only a chain that went outside the promised envelope brings this about
 * (a reorg deeper than the confirmations asked for), a node that was away past its deadline, or one whose data is older than what it did: the swap goes on all the same, and this
 * names what it may end with.
 */
export function dangerOf(s: SwapState): string | null {
  const { role } = s.terms;
  if (s.finished === "lost") return lostText(s);
  if (s.isOursGone && s.finished === "failed")
    return "what our payment spends is gone from the chain, and the payment with it: should it come back it is cancelled or taken back, so keep the coin enabled";
  if (s.facts[ownClaim(role)]?.confirmed || s.facts[ownRefund(role)]?.confirmed) return null;
  const isTaken = s.facts[theirClaim(role)] !== undefined;
  const isKnown = s.secret !== null || s.own.takerPaymentSpend?.attempted === true;
  if (s.facts[theirRefund(role)] && isTaken) return "the other side took our payment and is taking its own back";
  if (s.facts[theirRefund(role)] && isKnown && role === "maker") {
    return "the other side is taking its payment back and may know the secret: ours is refunded as soon as its lock has passed";
  }
  if (isTaken && s.facts[ownClaim(role)] === undefined && s.facts[theirPayment(role)] === undefined) {
    return "the other side took our payment, and its own is on the chain no more: it is claimed should it come back";
  }
  if (s.isCut && s.finished === null && !paymentMayExist(s)) {
    return "its record may lack events: a payment of ours of before is looked for until a day past its lock, and none is made";
  }
  return null;
}

/** What a swap that ended as lost has come to. */
export const lostText = ({ terms: { role }, facts, isTheirsGone }: SwapState): string =>
  isTheirsGone && !facts[theirRefund(role)]?.confirmed
    ? "the other side took our payment, and its own is gone from the chain"
    : "the other side took both payments";
