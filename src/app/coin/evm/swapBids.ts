import type { GasBid } from "../../../core/evm/gas.ts";
import { max } from "../../../core/util/bigints.ts";
import { priceOf } from "./gasBid.ts";

/**
 * Of a payment or dex fee, which is never replaced: its id is a message to the other side. With EIP-1559 the limit is raised to the
 * ceiling, and what is not needed is not paid. The tip, and a legacy price, are paid whole, and on a quiet chain they are what the
 * next market consists of: raised here, they would grow with every swap.
 * @param ceiling wei per gas the fee was reserved at; where the market is above it, the market counts
 */
export function lastingBid(market: GasBid, ceiling: bigint): GasBid {
  return market.kind === "legacy" ? market : { ...market, maxFeePerGas: max(ceiling, market.maxFeePerGas) };
}

/**
 * A bid of this price per gas at most, wei. With EIP-1559 the tip rises with it above the market's: what competes for a block is the tip. Below
 * it the tip stays whole as far as the price goes: nodes of some chains take nothing with less of one (Polygon: 25 gwei), however much is left for it.
 */
export function bidAt(price: bigint, market: GasBid): GasBid {
  if (market.kind === "legacy") return { kind: "legacy", gasPrice: price };
  const going = priceOf(market);
  const raised = going === 0n ? price : (market.maxPriorityFeePerGas * price) / going;
  const tip = max(raised, market.maxPriorityFeePerGas);
  return { kind: "eip1559", maxFeePerGas: price, maxPriorityFeePerGas: tip < price ? tip : price };
}
