import type { GasPolicy } from "../../../core/evm/evmKind.ts";
import { type GasBid, type GasPrices, highestBaseFee, STAGE_MARGINS, withMargin } from "../../../core/evm/gas.ts";

/** Blocks for which a bid stays valid while every one of them is full. */
const BASE_FEE_BLOCKS = 6;
const EIP1559_TX_TYPE = 2;

export type BidRule = { readonly policy: GasPolicy; readonly maxTxType: number };

/**
 * What a transaction sent now offers. EIP-1559 where the coin's rule asks for it and the chain has it; else one price,
 * raised by the margin of a swap's start (swap-protocol.md 5.4) and not below the base fee of the next block.
 */
export function marketBid(prices: GasPrices, rule: BidRule): GasBid {
  const { nextBaseFee, priority, legacy } = prices;
  if (rule.policy !== "legacy" && rule.maxTxType >= EIP1559_TX_TYPE && nextBaseFee !== null && priority !== null) {
    const maxPriorityFeePerGas = priority[rule.policy];
    return { kind: "eip1559", maxFeePerGas: highestBaseFee(nextBaseFee, BASE_FEE_BLOCKS) + maxPriorityFeePerGas, maxPriorityFeePerGas };
  }
  const raised = withMargin(legacy, STAGE_MARGINS.start);
  const least = nextBaseFee === null ? 0n : highestBaseFee(nextBaseFee, 1);
  return { kind: "legacy", gasPrice: raised > least ? raised : least };
}

/** The price of one unit of gas at most: what fees are reckoned with. */
export const priceOf = (bid: GasBid): bigint => (bid.kind === "legacy" ? bid.gasPrice : bid.maxFeePerGas);
