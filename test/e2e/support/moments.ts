/** Moments of a swap, each as what a node has just stored when it dies. */
export const MOMENTS = [
  { who: "maker", moment: "with its payment signed and not sent", line: { type: "tx_signed", slot: "makerPayment" } },
  { who: "maker", moment: "with the taker's payment just seen", line: { type: "tx_seen", slot: "takerPayment" } },
  { who: "maker", moment: "with its claim, and so the secret, just let go", line: { type: "tx_attempted", slot: "takerPaymentSpend" } },
  { who: "taker", moment: "with its payment just let go", line: { type: "tx_attempted", slot: "takerPayment" } },
  { who: "taker", moment: "with the maker's payment just seen", line: { type: "tx_seen", slot: "makerPayment" } },
  { who: "taker", moment: "with the secret just learned", line: { type: "secret_learned" } },
] as const;
