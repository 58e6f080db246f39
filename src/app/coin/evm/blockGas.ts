import { intrinsicGas } from "../../../core/evm/gas.ts";
import type { EvmTx } from "../../../core/evm/tx.ts";
import type { EvmAccount } from "./evmAccount.ts";

type Chain = Pick<EvmAccount["chain"], "status">;

/** Whether nodes refuse so much gas for good, because no block has it. Before the first look, and where headers have 0 there, nothing is known. */
export function isAboveBlock(chain: Chain, gas: bigint): boolean {
  const most = chain.status().tip?.gasLimit ?? 0n;
  return most > 0n && gas > most;
}

/** As much of it as a block has: what is asked for beyond that may be a lie, and a transaction with it is in no block. */
export function fitBlock(chain: Chain, gas: bigint): bigint {
  return isAboveBlock(chain, gas) ? (chain.status().tip?.gasLimit ?? gas) : gas;
}

/** With so much over a price it can be raised once, by an eighth at least. */
const RAISE_DIVISOR = 4n;

/**
 * As much of `wanted` as `wei` pay for at this price, and once it is raised: what is not needed is not paid, but nodes refuse what an account could
 * not pay for.
 * @param least with less it would be in no block
 */
export function fitAccount(wei: bigint, price: bigint, { wanted, least }: { readonly wanted: bigint; readonly least: bigint }): bigint {
  const paid = wei / (price + price / RAISE_DIVISOR + 1n);
  if (wanted <= paid) return wanted;
  return paid > least ? paid : least;
}

/**
 * Why a transaction with so much gas is in no block, whatever it pays; null: it may be. One node that takes it all the same, and is believed to
 * pass it on, would have everything later of its account wait behind it.
 */
export function whyInNoBlock(chain: Chain, { gasLimit, data }: Pick<EvmTx, "gasLimit" | "data">): string | null {
  const least = intrinsicGas(data);
  if (gasLimit < least) return `a transaction like this needs ${least} gas at least, and this one would have ${gasLimit}`;
  return isAboveBlock(chain, gasLimit) ? `${gasLimit} gas are more than a block has` : null;
}
