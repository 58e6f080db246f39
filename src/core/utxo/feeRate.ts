/**
 * Miner fee rate, base units per 1000 bytes. `wholeKb` (`dingo_fee` of the coins file) charges every started kilobyte in
 * full; otherwise the fee is floor(perKb x size / 1000) (swap-protocol.md 4.2).
 */
export type FeeRate = { readonly perKb: bigint; readonly wholeKb: boolean };

/** A fee named by the user, base units, whatever the size. */
export type ExactFee = { readonly exact: bigint };

const KB = 1000n;

/** Fee of a transaction of `size` (virtual) bytes, base units. */
export function feeForSize(rate: FeeRate | ExactFee, size: number): bigint {
  if ("exact" in rate) return rate.exact;
  const bytes = BigInt(size);
  return rate.wholeKb ? rate.perKb * ((bytes + KB - 1n) / KB) : (rate.perKb * bytes) / KB;
}

/** Size KDF charges for every claim and refund, in bytes; the real ones are about 300 (swap-protocol.md 4.6). */
export const HTLC_SPEND_BYTES = 496;

/** Fee of a claim or refund: the same for both sides of a swap, because it is part of quoted trade fees. */
export function htlcSpendFee(rate: FeeRate): bigint {
  return feeForSize(rate, HTLC_SPEND_BYTES);
}
