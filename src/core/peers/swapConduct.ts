import { type StoredEvent, theirPayment } from "../swap/events.ts";
import { fold, isTakenUp } from "../swap/swapState.ts";
import type { BanReason, Silence } from "./peerRecord.ts";

/** What the newest event of a swap says of the other side. */
export type Conduct =
  | { readonly kind: "proof"; readonly reason: Extract<BanReason, { kind: "FailedSwap" }> }
  | { readonly kind: "silence"; readonly what: Silence }
  /** Base units by ticker. */
  | { readonly kind: "finished"; readonly units: { readonly [ticker: string]: bigint } };

/** Longest reason kept with a ban. */
const MAX_DETAIL_CHARS = 500;

/**
 * Judges the counterparty by the newest event of a swap's log. Proof is only what the key has signed for this very swap
 * and no accident explains (`theirFault`); what is missing or late is silence: its network, ours, or a congested chain may be the cause.
 */
export function conductOf(log: readonly StoredEvent[]): Conduct | null {
  const last = log.at(-1)?.event;
  if (!last) return null;
  const state = () => fold(log.map((e) => e.event));
  if ("failure" in last && last.failure?.theirFault) {
    const { terms } = state();
    const { event, reason } = last.failure;
    const side = terms.role === "maker" ? "Maker" : "Taker";
    return { kind: "proof", reason: { kind: "FailedSwap", swap: terms.uuid, side, event, detail: reason.slice(0, MAX_DETAIL_CHARS) } };
  }
  if (last.type !== "finished") return null;
  const s = state();
  // Who fell silent in a swap that was taken up, and when, nobody here has seen.
  if (isTakenUp(s)) return null;
  const { role, makerCoin, takerCoin, makerUnits, takerUnits } = s.terms;
  if (last.outcome === "success") {
    const units = makerCoin === takerCoin ? {} : { [makerCoin]: BigInt(makerUnits), [takerCoin]: BigInt(takerUnits) };
    return { kind: "finished", units };
  }
  const failure = s.refund ?? s.abandoned;
  if (last.outcome === "cancelled" || !failure || failure.theirFault) return null;
  if (failure.newCoins) return { kind: "silence", what: "noPayment" };
  const wasSeen = log.some(({ event }) => event.type === "tx_seen" && event.slot === theirPayment(role));
  const what = silenceOf(failure.event, role === "maker", s.received.fee !== undefined, wasSeen);
  return what && { kind: "silence", what };
}

/**
 * By KDF's name of the step that failed (reference rpc.md 7.2); null: nothing the other side had to do. A payment that was
 * only announced, and never on the chain, is none: its coins may have gone elsewhere long before.
 */
function silenceOf(event: string, isMaker: boolean, feeSeen: boolean, paymentSeen: boolean): Silence | null {
  switch (event) {
    case "NegotiateFailed":
      return isMaker ? "noFee" : "neverConnected";
    case "TakerFeeValidateFailed":
      return feeSeen ? null : "noFee";
    case "TakerPaymentValidateFailed":
    case "MakerPaymentValidateFailed":
      return "noPayment";
    case "TakerPaymentWaitForSpendFailed":
      return "noPayment";
    case "TakerPaymentWaitConfirmFailed":
    case "MakerPaymentWaitConfirmFailed":
      if (isMaker !== (event === "TakerPaymentWaitConfirmFailed")) return null;
      return paymentSeen ? "late" : "noPayment";
    default:
      return null;
  }
}
