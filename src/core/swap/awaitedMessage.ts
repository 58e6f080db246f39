import type { SwapMessage } from "../message/types.ts";
import { MAX_PEER_TX_BYTES } from "../utxo/swapTx.ts";
import type { SwapState } from "./swapState.ts";

const fits = (...parts: readonly (Uint8Array | undefined)[]): boolean =>
  parts.reduce((sum, part) => sum + (part?.length ?? 0), 0) <= MAX_PEER_TX_BYTES;

/**
 * Whether a swap reads a message of the other side as things stand. What is not read would be kept for as long as the swap is open, hours, and
 * a message may have a megabyte; nothing is lost with it, for each is repeated until it is answered.
 */
export function isAwaited(s: SwapState, message: SwapMessage): boolean {
  const isMaker = s.terms.role === "maker";
  const isStraight = !s.refund && !s.abandoned && !s.finished;
  switch (message.type) {
    case "Negotiation":
    case "Negotiated":
      return !isMaker;
    case "NegotiationReply":
      return isMaker;
    case "TakerFee":
      return isMaker && isStraight && !s.received.fee && fits(message.tx.data, message.tx.instructions);
    case "MakerPayment":
      return !isMaker && isStraight && !s.facts.makerPayment && fits(message.tx.data, message.tx.instructions);
    case "TakerPayment":
      return isMaker && isStraight && s.own.makerPayment !== undefined && !s.facts.takerPayment && fits(message.tx);
  }
}
