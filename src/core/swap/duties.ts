import {
  CHILD_SLOTS,
  isChildSlot,
  ownClaim,
  ownPayment,
  ownRefund,
  parentOf,
  type Slot,
  theirClaim,
  theirPayment,
  theirRefund,
} from "./events.ts";
import { isOverForGood, isTakenUp, paymentMayExist, type SwapState, secretIsPublic } from "./swapState.ts";

/** Something a state obliges the node to be doing. The runner keeps exactly these running. */
export type Duty =
  | { readonly do: "negotiate" }
  /** Taker: answer the maker's offer whenever it comes again: it has not heard us, whatever consent came. */
  | { readonly do: "answer" }
  /** Watch both contracts and the own transactions; turn what the chain says into facts. */
  | { readonly do: "observe" }
  | { readonly do: "await_fee" }
  | { readonly do: "pay_fee" }
  | { readonly do: "await_payment" }
  | { readonly do: "pay" }
  /** Look for an own payment the log may lack, until it is certain that there is none: it is never made anew. */
  | { readonly do: "seek" }
  | { readonly do: "claim" }
  /** Refund the own payment once its lock has passed, unless it was spent meanwhile. */
  | { readonly do: "refund" }
  /** Repeat our last message until the other side has visibly moved on. */
  | { readonly do: "tell"; readonly message: "fee" | "payment" }
  /** Keep an own stored transaction before the network until a fact makes it pointless. */
  | { readonly do: "publish"; readonly slot: Slot }
  /** Have an own transaction that waits too long paid for by a child, where its coin's miners count children. */
  | { readonly do: "bump"; readonly slot: Slot };

/** True while an own stored transaction still has to be kept before the network: a child may hang on the one that is confirmed. */
function publishing(s: SwapState, slot: Slot): boolean {
  const [tx, fact] = [s.own[slot], s.facts[slot]];
  return tx !== undefined && (!fact?.confirmed || (isChildSlot(slot) && fact.txid !== tx.txid));
}

/** The taker's fee is out, or none is due. */
const feeIsDone = (s: SwapState): boolean => s.terms.dexFeePubkey === null || s.own.fee?.attempted === true;

/**
 * What must be running in this state. Money locked and not final always has a duty that can end it: `refund` for the
 * own payment, `claim` or `publish` for the other one. A finished swap is still observed, and its last transaction
 * published again if a reorg takes it back, until the runner sees it settled.
 */
export function duties(s: SwapState): readonly Duty[] {
  if (s.startFailed !== null) return [];
  if (isOverForGood(s)) return feeDuties(s);
  if (!s.negotiated) return s.abandoned ? [] : [{ do: "negotiate" }];
  const isOpen = !s.abandoned && !s.finished;
  const straight = isOpen && !s.refund;
  // Nothing is there to take back where the payment never left: it may have been dropped since, and only the steps towards one give the swap up.
  const hasSteps = isOpen && (!s.refund || !paymentMayExist(s));
  const own = [...(hasSteps ? straightDuties(s) : []), ...moneyDuties(s, straight)];
  return [{ do: "observe" }, ...own, ...childDuties(s, own), ...(hasSteps ? [] : feeDuties(s))];
}

/**
 * A fee that was sent may be with others, and own transactions of other swaps built on it: it is seen into a block. Once the swap has
 * failed nothing is observed any more, and facts are of before; a child that never left stays home then.
 */
function feeDuties(s: SwapState): readonly Duty[] {
  if (!s.own.fee?.attempted) return [];
  const isWanted = (slot: Slot): boolean => (isOverForGood(s) ? s.own[slot]?.attempted === true : publishing(s, slot));
  return (["fee", "feeChild"] as const).filter(isWanted).map((slot) => ({ do: "publish", slot }));
}

/** The steps towards success. */
function straightDuties(s: SwapState): readonly Duty[] {
  if (isTakenUp(s)) return takenUpDuties(s);
  const out: Duty[] = [];
  if (s.terms.role === "maker") {
    const paid = s.own.makerPayment !== undefined;
    if (!s.received.fee) out.push({ do: "await_fee" });
    else if (!paid) out.push({ do: "pay" });
    if (paid && !s.facts.takerPayment?.confirmed && !s.own.takerPaymentSpend) out.push({ do: "await_payment" });
    if (s.own.makerPayment?.attempted && !s.facts.takerPayment && !s.own.takerPaymentSpend) out.push({ do: "tell", message: "payment" });
    return out;
  }
  if (!s.own.fee && s.terms.dexFeePubkey !== null) out.push({ do: "pay_fee" });
  if (publishing(s, "fee")) out.push({ do: "publish", slot: "fee" });
  if (!s.received.makerPayment) out.push({ do: "answer" });
  if (feeIsDone(s) && !s.own.takerPayment) {
    if (!s.facts.makerPayment) out.push({ do: "tell", message: "fee" });
    out.push(s.facts.makerPayment?.confirmed ? { do: "pay" } : { do: "await_payment" });
  }
  if (s.own.takerPayment?.attempted && !s.facts.takerPaymentSpend) out.push({ do: "tell", message: "payment" });
  return out;
}

/** The steps of such a swap: whatever is out is seen to its end, and nothing of ours is begun. */
function takenUpDuties(s: SwapState): readonly Duty[] {
  const { role } = s.terms;
  const out: Duty[] = publishing(s, "fee") && s.own.fee?.attempted === true ? [{ do: "publish", slot: "fee" }] : [];
  if (s.own[ownPayment(role)]?.attempted !== true) return [...out, { do: "seek" }];
  const isAnswered = role === "maker" ? s.facts.takerPayment !== undefined : s.facts.takerPaymentSpend !== undefined;
  if (role === "maker" && !s.facts.takerPayment?.confirmed && !s.own.takerPaymentSpend) out.push({ do: "await_payment" });
  if (!isAnswered && !s.own[ownClaim(role)]) out.push({ do: "tell", message: "payment" });
  return out;
}

/** What money already locked obliges us to, on any road. */
function moneyDuties(s: SwapState, straight: boolean): readonly Duty[] {
  const { role } = s.terms;
  const payment = ownPayment(role);
  const claimedByThem = s.facts[theirClaim(role)]?.confirmed === true;
  const out: Duty[] = [];
  // A payment that never left does not leave any more once the swap is given up or its record was cut, for it may have been dropped since;
  // one that is being cancelled is not helped along.
  const mayLeave = s.own[payment]?.attempted === true || !(s.abandoned || s.isCut);
  const isPublished = publishing(s, payment) && mayLeave && !s.own.cancel && !s.facts.cancel?.confirmed;
  if (isPublished) out.push({ do: "publish", slot: payment });
  const isCancelled = publishing(s, "cancel") && !s.facts[payment]?.confirmed;
  if (isCancelled) out.push({ do: "publish", slot: "cancel" });
  if (wantsClaim(s, straight)) out.push({ do: "claim" });
  // A claim of the maker that never left would reveal the secret: once the refund is decided it stays home.
  const claimMayLeave = role === "taker" || straight || s.own[ownClaim(role)]?.attempted === true;
  // Whoever has its own payment back takes no other: a reorganisation may have undone the claim, which somebody brings back.
  const isBack = s.facts[theirRefund(role)]?.confirmed === true || s.facts[ownRefund(role)]?.confirmed === true;
  if (publishing(s, ownClaim(role)) && (claimMayLeave || secretIsPublic(s)) && !isBack) out.push({ do: "publish", slot: ownClaim(role) });
  const settledOtherwise = claimedByThem || s.facts[ownClaim(role)]?.confirmed || s.facts.cancel?.confirmed;
  if (paymentMayExist(s) && !settledOtherwise) {
    out.push(s.own[ownRefund(role)] ? { do: "publish", slot: ownRefund(role) } : { do: "refund" });
  }
  return out.filter((d) => !(d.do === "publish" && s.facts[d.slot]?.confirmed));
}

/**
 * What is published and may be known gets a child when it needs one; a child is published for as long as its parent is. One that left may be with others once
 * a block has its parent without it, and what it spends is free only when that is certain: it is seen into a block, too.
 */
function childDuties(s: SwapState, published: readonly Duty[]): readonly Duty[] {
  const out: Duty[] = [];
  for (const child of CHILD_SLOTS) {
    const slot = parentOf(s.terms.role, child);
    const isWanted = s.own[slot]?.attempted === true && published.some((d) => d.do === "publish" && d.slot === slot);
    if (isWanted && !s.own[child]) out.push({ do: "bump", slot });
    const isLeftOver = s.own[child]?.attempted === true && s.facts[slot]?.confirmed === true;
    if ((isWanted || isLeftOver) && publishing(s, child)) out.push({ do: "publish", slot: child });
  }
  return out;
}

/**
 * The maker claims on the straight road only: the claim reveals the secret, so every safety test must still hold.
 * The taker claims whenever it knows the secret, on any road: the secret is public and the race is on.
 */
function wantsClaim(s: SwapState, straight: boolean): boolean {
  const { role } = s.terms;
  if (s.own[ownClaim(role)] || s.facts[ownRefund(role)]?.confirmed) return false;
  // A claim that is out, of KDF's or of what the record lacks, and that nobody mines is made anew beside it.
  if (secretIsPublic(s)) return s.facts.takerPayment !== undefined && !s.facts.takerPaymentSpend?.block;
  if (role === "maker") return straight && s.own.makerPayment?.attempted === true && s.facts.takerPayment?.confirmed === true;
  return s.secret !== null && (s.facts[theirPayment(role)] !== undefined || s.received.makerPayment !== undefined);
}

/** Stable name of a duty, for the runner's table. */
export function dutyKey(d: Duty): string {
  if (d.do === "publish" || d.do === "bump") return `${d.do}:${d.slot}`;
  return d.do === "tell" ? `tell:${d.message}` : d.do;
}
