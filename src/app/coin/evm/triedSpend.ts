import { type EvmAddress, ZERO_ADDRESS } from "../../../core/evm/address.ts";
import { transferCall } from "../../../core/evm/erc20.ts";
import type { SwapCall } from "../../../core/evm/swapContract.ts";
import type { Result } from "../../../core/util/result.ts";
import type { ChainReadError } from "../../../ports/accountChain.ts";
import type { EvmAccount } from "./evmAccount.ts";
import { payoutObstacle } from "./payoutObstacle.ts";

/** What a swap contract does for a claim beside the transfer, and the call itself: half of it as measured. */
export const CONTRACT_GAS = 60_000n;

type Account = Pick<EvmAccount, "chain" | "address" | "platform">;

/** `gas`: what it needs, where that was found; it may be more than `most`. */
export type TriedSpend = { readonly isRefused: boolean; readonly gas: bigint | null };

/** What the transfer of a token needs by which a swap contract pays a claim or refund. It is tried by itself: the whole claim would show the secret to the nodes. */
export async function tryPayout(
  { chain, address }: Account,
  from: EvmAddress,
  token: EvmAddress,
  units: bigint,
  most: bigint,
  signal: AbortSignal,
): Promise<Result<bigint, ChainReadError>> {
  const request = { from, to: token, value: 0n, data: transferCall(address, units) };
  const tried = await chain.estimateGas(request, signal, most - CONTRACT_GAS);
  return tried.ok ? { ok: true, value: tried.value + CONTRACT_GAS } : tried;
}

/** The same of a claim of a payment that a contract was just said to hold, without its secret; null: nobody says. */
export async function tryClaim(
  account: Account,
  from: EvmAddress,
  { amount, token }: Extract<SwapCall, { readonly kind: "receiverSpend" }>,
  most: bigint,
  signal: AbortSignal,
): Promise<TriedSpend | null> {
  if (token === ZERO_ADDRESS) {
    const obstacle = await payoutObstacle(account, from, amount, signal);
    return obstacle === null || obstacle.isRefused ? { isRefused: obstacle !== null, gas: null } : null;
  }
  const tried = await tryPayout(account, from, token, amount, most, signal);
  if (tried.ok) return { isRefused: tried.value > most, gas: tried.value };
  return tried.error.kind === "Reverted" ? { isRefused: true, gas: null } : null;
}

/**
 * The same of one that left, as it is: that shows nothing new. It is called with all the gas that any version of it gets, for what it was signed with no
 * call asks: of one that is not carried out so, as many nodes say that as must agree.
 */
export async function trySpend(
  { chain, address }: Account,
  to: EvmAddress,
  data: Uint8Array,
  most: bigint,
  signal: AbortSignal,
): Promise<TriedSpend | null> {
  const request = { from: address, to, value: 0n, data };
  const tried = await chain.call(request, signal, most);
  if (!tried.ok) return tried.error.kind === "Reverted" ? { isRefused: true, gas: null } : null;
  const needed = await chain.estimateGas(request, signal, most);
  // What data takes as gas only an estimate has in it. So much no version of it is signed with, and a block may not have so much either.
  if (needed.ok) return { isRefused: needed.value > most, gas: needed.value };
  // Besu, Erigon and older geths estimate in the block they are making: what their pools have is carried out there, and once more it would fail. In
  // which words they say so is each node's own.
  return { isRefused: false, gas: null };
}
