import type { GasPolicy, GasRules } from "../../../core/evm/evmKind.ts";
import { effectiveGasPrice, type GasBid, type GasPrices, highestBaseFee, STAGE_MARGINS, withMargin } from "../../../core/evm/gas.ts";

/** Blocks for which a bid stays valid while every one of them is full. */
export const BASE_FEE_BLOCKS = 6;
const EIP1559_TX_TYPE = 2;
/** Greatest type of transaction sent where the coins file names none (rpc.md 2.6): the one before EIP-1559's is not used. */
const DEFAULT_TX_TYPE = EIP1559_TX_TYPE;
/**
 * Most that is paid for a unit of gas, wei, unless somebody names a price: 0.21 coins for a plain transfer. Nodes say what gas
 * costs, and one that lies must not make a transaction burn the balance. No chain of the coins file ever asked as much.
 */
export const MOST_PRICE = 10_000n * 10n ** 9n;

/**
 * Most wei a node takes for one transaction: geth refuses more over RPC (`rpc.txfeecap`, one coin by default), to save people from
 * mistakes.
 */
export const MOST_PER_TX = 10n ** 18n;

export type BidRule = { readonly policy: GasPolicy; readonly maxTxType: number };

/** A coin's rule: its entry's, else its platform coin's. */
export const bidRuleOf = (platform: GasRules, own: GasRules = platform): BidRule => ({
  policy: own.policy ?? platform.policy ?? "legacy",
  maxTxType: own.maxTxType ?? platform.maxTxType ?? DEFAULT_TX_TYPE,
});

/**
 * What a transaction sent now offers. EIP-1559 where the coin's rule asks for it and the chain has it; else one price,
 * raised by the margin of a swap's start (swap-protocol.md 5.4) and not below any base fee of the next two blocks.
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

/** Whether a block of now would not take a bid. */
export function isBelowBlock(bid: GasBid, { nextBaseFee, legacy }: GasPrices): boolean {
  return nextBaseFee === null ? priceOf(bid) < legacy : effectiveGasPrice(bid, nextBaseFee) === null;
}

/** Whether a bid pays less in the next block than half of what was mined of late did. */
export function isBelowMarket(bid: GasBid, { legacy, nextBaseFee, priority }: GasPrices): boolean {
  if (nextBaseFee === null || priority === null) return priceOf(bid) < legacy;
  const paid = effectiveGasPrice(bid, nextBaseFee);
  return paid === null || paid - nextBaseFee < priority.medium;
}
