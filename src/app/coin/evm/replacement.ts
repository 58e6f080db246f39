import { type GasBid, replacementBid } from "../../../core/evm/gas.ts";
import type { EvmTx, SignedEvmTx } from "../../../core/evm/tx.ts";
import { equalBytes } from "../../../core/util/bytes.ts";
import { priceOf } from "./gasBid.ts";
import { bidOf } from "./outgoing.ts";

/** Whether two transactions do the same, whatever they bid. */
export const samePayment = (a: EvmTx, b: EvmTx): boolean => a.to === b.to && a.value === b.value && equalBytes(a.data, b.data);

/** Whether it does nothing but use its nonce: an empty transfer to the account itself. */
export const isFiller = ({ from, tx: { to, value, data } }: SignedEvmTx): boolean => to === from && value === 0n && data.length === 0;

/** Max and priority of a bid; a legacy price is both. */
const figures = (bid: GasBid): readonly [bigint, bigint] =>
  bid.kind === "legacy" ? [bid.gasPrice, bid.gasPrice] : [bid.maxFeePerGas, bid.maxPriorityFeePerGas];

export function isDearer(later: EvmTx, earlier: EvmTx): boolean {
  const [[maxA, tipA], [maxB, tipB]] = [figures(bidOf(later)), figures(bidOf(earlier))];
  return maxA > maxB && tipA > tipB;
}

/** No market at all: what is left of `replacementBid` is the least that nodes take. */
const NO_MARKET: GasBid = { kind: "legacy", gasPrice: 0n };

/**
 * What replaces `old`: the market's bid or the least raise nodes take, whichever is more, and `most` wei per gas where that
 * is less. Null: even the least raise is above `most`.
 */
export function raisedBid(old: GasBid, market: GasBid, most: bigint): GasBid | null {
  const wanted = replacementBid(old, market);
  if (priceOf(wanted) <= most) return wanted;
  const [leastMax, leastTip] = figures(replacementBid(old, NO_MARKET));
  if (leastMax > most) return null;
  if (wanted.kind === "legacy") return { kind: "legacy", gasPrice: most };
  const tip = wanted.maxPriorityFeePerGas < most ? wanted.maxPriorityFeePerGas : most;
  return { kind: "eip1559", maxFeePerGas: most, maxPriorityFeePerGas: tip > leastTip ? tip : leastTip };
}
