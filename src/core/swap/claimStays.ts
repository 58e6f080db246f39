/**
 * What is known of an own claim that nobody was seen to have, while its secret is nobody's but ours. One that was marked may have left all the same: the
 * process may have died between its mark and the answer.
 */
export type ClaimView = {
  /** Its own limit has not passed, until which nothing is lost by its staying home. */
  readonly isEarly: boolean;
  /** The own payment goes back by now: whoever has it back takes no other. */
  readonly isOursReturnable: boolean;
  /** The payment that it claims, as its chain or contract says. */
  readonly theirs: "there" | "gone" | "unknown";
  /** Its lock has passed, and it may have gone back: what nobody sees keeps the claim home past its limit, too. */
  readonly mustBeSeen: boolean;
  /** Whether its chain would carry it out. */
  readonly payout: "paid" | "refused" | "unknown";
  /** It would come into no block soon: whoever read it in a pool meanwhile would win. */
  readonly isSlow: boolean;
  /** It has less gas than it needs now, and would fail in its block: past its limit only where as many nodes say so as must agree. */
  readonly isShort: boolean;
};

/** `unsaid`: nobody says whether it would be paid; the rest as in `ClaimView`. */
export type ClaimStay = "returnable" | "gone" | "unseen" | "refused" | "unsaid" | "slow" | "short";

/**
 * Why a claim that nobody was seen to have stays home now; null: it leaves. Before its limit it leaves where everything speaks for it, and nothing is lost by
 * waiting; after that what is not known keeps it no longer, for whoever withholds an answer could keep it here until the other side has both payments. What
 * would show the secret for nothing never leaves. The same for a swap that runs and for one that waits for its other coin (ADR 44, promise "Secret").
 */
export function claimStays(view: ClaimView): ClaimStay | null {
  if (view.isOursReturnable) return "returnable";
  if (view.theirs === "gone") return "gone";
  if (view.theirs === "unknown" && (view.isEarly || view.mustBeSeen)) return "unseen";
  if (view.payout === "refused") return "refused";
  if (view.isEarly && view.payout === "unknown") return "unsaid";
  if (view.isEarly && view.isSlow) return "slow";
  return view.isShort ? "short" : null;
}
