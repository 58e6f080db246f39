import { max } from "../util/bigints.ts";
import { assertNever } from "../util/result.ts";

/** EIP-1559: a block may hold twice its target, and the base fee moves by an eighth at most. */
const ELASTICITY = 2n;
const MAX_CHANGE_DENOMINATOR = 8n;

/** What gas costs now, wei per gas. */
export type GasPrices = {
  /** What the nodes propose for a transaction with one price (`eth_gasPrice`). */
  readonly legacy: bigint;
  /** Of the block after the tip; null before EIP-1559. */
  readonly nextBaseFee: bigint | null;
  /** What recent blocks paid beside the base fee: the 25th, 50th and 75th percentile. Null before EIP-1559. */
  readonly priority: { readonly low: bigint; readonly medium: bigint; readonly high: bigint } | null;
};

/** Base fee of the block after one with these figures (EIP-1559). */
export function nextBaseFee(parent: { readonly baseFee: bigint; readonly gasUsed: bigint; readonly gasLimit: bigint }): bigint {
  const { baseFee, gasUsed, gasLimit } = parent;
  const target = gasLimit / ELASTICITY;
  if (target === 0n || gasUsed === target) return baseFee;
  const distance = gasUsed > target ? gasUsed - target : target - gasUsed;
  const change = (baseFee * distance) / target / MAX_CHANGE_DENOMINATOR;
  if (gasUsed < target) return baseFee - change;
  return baseFee + (change > 0n ? change : 1n);
}

/** Greatest base fee `blocks` blocks after one whose base fee is `baseFee`; rounded up at each block. */
export function highestBaseFee(baseFee: bigint, blocks: number): bigint {
  let fee = baseFee;
  for (let i = 0; i < blocks; i++) fee += fee / MAX_CHANGE_DENOMINATOR + 1n;
  return fee;
}

/** How a transaction bids. Wei per gas. */
export type GasBid =
  | { readonly kind: "legacy"; readonly gasPrice: bigint }
  | { readonly kind: "eip1559"; readonly maxFeePerGas: bigint; readonly maxPriorityFeePerGas: bigint };

/** What a bid pays per gas in a block of this base fee (EIP-1559); null when it is too low for that block. */
export function effectiveGasPrice(bid: GasBid, baseFee: bigint): bigint | null {
  if (bid.kind === "legacy") return bid.gasPrice < baseFee ? null : bid.gasPrice;
  if (bid.maxFeePerGas < baseFee) return null;
  const full = baseFee + bid.maxPriorityFeePerGas;
  return full < bid.maxFeePerGas ? full : bid.maxFeePerGas;
}

/** The most a bid can cost with this gas limit, wei: what must be there before it is sent. */
export function greatestFee(bid: GasBid, gasLimit: bigint): bigint {
  return gasLimit * (bid.kind === "legacy" ? bid.gasPrice : bid.maxFeePerGas);
}

/** `price` raised by so many hundredths, rounded up. KDF's margins of estimates: see `STAGE_MARGINS`. */
export function withMargin(price: bigint, percent: bigint): bigint {
  return (price * (100n + percent) + 99n) / 100n;
}

/** Hundredths an estimate is raised by (swap-protocol.md 5.4): at the start of a swap, when an order is placed, in a preimage. */
export const STAGE_MARGINS = { start: 3n, order: 5n, preimage: 7n } as const;

/** Nodes take a replacement at the same nonce only for at least a tenth more in both figures; this is an eighth. */
const REPLACEMENT_DIVISOR = 8n;
const raised = (price: bigint): bigint => price + price / REPLACEMENT_DIVISOR + 1n;

/** The least bid that replaces another one at the same nonce, and not below what the market asks. */
export function replacementBid(old: GasBid, market: GasBid): GasBid {
  switch (old.kind) {
    case "legacy":
      return market.kind === "legacy"
        ? { kind: "legacy", gasPrice: max(raised(old.gasPrice), market.gasPrice) }
        : {
            kind: "eip1559",
            maxFeePerGas: max(raised(old.gasPrice), market.maxFeePerGas),
            // A legacy price counts as both figures.
            maxPriorityFeePerGas: max(raised(old.gasPrice), market.maxPriorityFeePerGas),
          };
    case "eip1559": {
      const now = market.kind === "legacy" ? { maxFeePerGas: market.gasPrice, maxPriorityFeePerGas: market.gasPrice } : market;
      const maxFeePerGas = max(raised(old.maxFeePerGas), now.maxFeePerGas);
      const priority = max(raised(old.maxPriorityFeePerGas), now.maxPriorityFeePerGas);
      return { kind: "eip1559", maxFeePerGas, maxPriorityFeePerGas: priority > maxFeePerGas ? maxFeePerGas : priority };
    }
    default:
      return assertNever(old);
  }
}

/**
 * Wei per gas beside the base fee below which nodes take no transaction. Polygon's have 25 gwei there (PIP-35); its blocks hold
 * some with less, of whoever made the block, so what was paid of late and what nodes propose may lie below.
 */
const LEAST_TIPS: ReadonlyMap<bigint, bigint> = new Map([
  [137n, 25n * 10n ** 9n],
  [80_002n, 25n * 10n ** 9n],
]);
export const leastTip = (chainId: bigint): bigint => LEAST_TIPS.get(chainId) ?? 0n;

const BASE_GAS = 21_000n;
/** EIP-2028: gas of one byte of a call, and of one that is zero. */
const BYTE_GAS = { zero: 4n, other: 16n } as const;

/** What every chain takes for a transaction before its call is carried out: no block has one with less. */
export function intrinsicGas(data: Uint8Array): bigint {
  return data.reduce((gas, byte) => gas + (byte === 0 ? BYTE_GAS.zero : BYTE_GAS.other), BASE_GAS);
}
