/** What is known of the own payment, and of what speaks against taking it back. */
export type RefundView = {
  /** The refund is signed: whether its time had come was judged then, and its log bears that. */
  readonly isSigned: boolean;
  /** The payment's chain says that its lock has passed, and so does a second witness. */
  readonly isPassed: boolean;
  /** Whoever shows that chain may be keeping the refund here: by this node's clock its lock passed long ago. */
  readonly isHeldUp: boolean;
  /** The payment is in a block, or its contract holds it. */
  readonly isPaid: boolean;
  /** What others have of a spend of it: `pooled` one with the secret that is in no block, `mined` any in a block that nothing speaks against. */
  readonly spend: "none" | "pooled" | "mined";
  /** The other side's payment has gone back for good: a secret pays for nothing any more. */
  readonly isTheirsBack: boolean;
  /** The own claim of that payment, by its chain; `none`: it never left, or is in no block; `unknown`: nobody has looked, or can. */
  readonly claim: "mined" | "none" | "unknown";
  /** By the log a block has it. */
  readonly wasClaimMined: boolean;
  /** Since the start there was no time yet for a first look. */
  readonly isFresh: boolean;
  /** What its chain does not carry out costs gas; elsewhere it is refused, no more. */
  readonly costsGas: boolean;
};

/** After a start a look at the own claim is waited for so long, seconds. */
export const FIRST_LOOK_SEC = 60;

/** `paid`: the own claim is in a block; `unlooked`: that was not looked at yet; `taken`: others spent the payment; `early`: its time has not come. */
export type RefundStay = "paid" | "unlooked" | "taken" | "early";

/**
 * Why the own payment is not taken back now: its refund is not signed, and is not sent where it is; null: it is. Who has been paid takes nothing back; that
 * nobody can look whether that is so holds nothing up but for the time of a first look, for own money comes before honesty. It is signed only when its time has
 * come and nobody has the secret for it; from then on a secret in a pool does not stop it, for near the later lock whoever waits could lose both, and a block
 * that took the payment only where a refund would cost gas for nothing. The same for a swap that runs and for one that waits for its other coin (ADR 44).
 */
export function refundStays(view: RefundView): RefundStay | null {
  if (view.claim === "mined" || (view.claim === "unknown" && view.wasClaimMined)) return "paid";
  if (view.claim === "unknown" && view.isFresh) return "unlooked";
  if (view.spend === "mined" && (view.costsGas || !view.isSigned)) return "taken";
  if (view.isSigned) return null;
  if (view.spend === "pooled" && !view.isTheirsBack) return "taken";
  return view.isHeldUp || (view.isPassed && view.isPaid) ? null : "early";
}
