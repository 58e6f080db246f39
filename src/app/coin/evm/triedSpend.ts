import { type EvmAddress, ZERO_ADDRESS } from "../../../core/evm/address.ts";
import { gasBeside } from "../../../core/evm/dataCost.ts";
import { transferCall } from "../../../core/evm/erc20.ts";
import type { SwapCall } from "../../../core/evm/swapContract.ts";
import type { Result } from "../../../core/util/result.ts";
import type { CallRequest, ChainReadError } from "../../../ports/accountChain.ts";
import { fromContract } from "./dataCost.ts";
import type { EvmAccount } from "./evmAccount.ts";
import {
  asCall,
  type CallGas,
  CONTRACT_GAS,
  callGas,
  type DataGas,
  mostEstimate,
  payoutGas,
  type TxGas,
  txGas,
  withoutBeside,
} from "./gasFigures.ts";
import { payoutObstacle } from "./payoutObstacle.ts";

type Account = Pick<EvmAccount, "chain" | "address" | "platform">;

/** `gas`: what it needs beside its data, where that was found; it may be more than `most` where it is refused for that. */
export type TriedSpend = { readonly isRefused: boolean; readonly gas: CallGas | null };

/**
 * What a call needs without its data, where the chain counts data as gas (Arbitrum): what a version is signed with has that beside, and would have it twice. A
 * transfer of nothing to nobody with the same data tells what that needs, and no node is believed it: with what is left of the estimate as many nodes as must
 * agree carry the call out, in which a chain counts no data. Else the whole estimate counts.
 */
async function withoutData({ chain }: Pick<Account, "chain">, request: CallRequest, gas: TxGas, signal: AbortSignal): Promise<CallGas> {
  const alone = await chain.estimateGas({ ...request, to: ZERO_ADDRESS, value: 0n }, signal, gas);
  const beside = alone.ok ? gasBeside({ gas: alone.value }, request.data.length) : 0n;
  if (beside === 0n || beside >= gas) return asCall(gas);
  return (await chain.call(request, signal, gas - beside)).ok ? withoutBeside(gas, beside) : asCall(gas);
}

/**
 * The same, and no more than the most, but where the call is refused for that. Of what one node of two says alone, up to the most and data, nothing is: data is
 * paid for beside, and as many nodes as must agree say whether the call is carried out with the most.
 * @param most see `mostEstimate`
 */
async function neededGas(
  account: Pick<Account, "chain">,
  request: CallRequest,
  gas: TxGas,
  most: CallGas,
  data: DataGas,
  signal: AbortSignal,
): Promise<CallGas> {
  if (data === 0n) return asCall(gas);
  const found = await withoutData(account, request, gas, signal);
  if (found <= most || gas > mostEstimate(most, data)) return found;
  const tried = await account.chain.call(request, signal, most);
  return !tried.ok && tried.error.kind === "Reverted" ? found : most;
}

/**
 * What the transfer of a token needs by which a swap contract pays a claim or refund, and the contract beside. It is tried by itself: the whole claim would show
 * the secret to the nodes.
 * @param most it may need, without its data
 * @param beside 0: the chain counts none as gas
 */
export async function tryPayout(
  { chain, address }: Account,
  from: EvmAddress,
  token: EvmAddress,
  units: bigint,
  most: CallGas,
  beside: DataGas,
  signal: AbortSignal,
): Promise<Result<CallGas, ChainReadError>> {
  const request = fromContract(chain, { from, to: token, value: 0n, data: transferCall(address, units) });
  const mostTransfer = callGas(most - CONTRACT_GAS);
  const tried = await chain.estimateGas(request, signal, mostEstimate(mostTransfer, beside));
  if (!tried.ok) return tried;
  return { ok: true, value: payoutGas(await neededGas({ chain }, request, txGas(tried.value), mostTransfer, beside, signal)) };
}

/** What a swap contract pays a claim or refund: of which token, or the platform coin. */
export type Payout = { readonly amount: bigint; readonly token: EvmAddress };

/** Whether the transfer by which a swap contract pays a claim or refund fails where the claim has so much gas beside its data, as many nodes as must agree saying so. */
export async function failsWith(
  { chain, address }: Account,
  from: EvmAddress,
  { amount, token }: Payout,
  gas: CallGas,
  signal: AbortSignal,
): Promise<boolean> {
  // A contract leaves whom it pays plain coins the same whatever a claim has.
  if (token === ZERO_ADDRESS) return false;
  const request = fromContract(chain, { from, to: token, value: 0n, data: transferCall(address, amount) });
  const tried = await chain.call(request, signal, gas - CONTRACT_GAS);
  return !tried.ok && tried.error.kind === "Reverted";
}

/** What a claim needs of a payment that a contract was just said to hold, without its secret; null: nobody says. */
export async function tryClaim(
  account: Account,
  from: EvmAddress,
  { amount, token }: Extract<SwapCall, { readonly kind: "receiverSpend" }>,
  most: CallGas,
  beside: DataGas,
  signal: AbortSignal,
): Promise<TriedSpend | null> {
  if (token === ZERO_ADDRESS) {
    const obstacle = await payoutObstacle(account, from, amount, signal);
    return obstacle === null || obstacle.isRefused ? { isRefused: obstacle !== null, gas: null } : null;
  }
  const tried = await tryPayout(account, from, token, amount, most, beside, signal);
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
  most: CallGas,
  beside: DataGas,
  signal: AbortSignal,
): Promise<TriedSpend | null> {
  const request = { from: address, to, value: 0n, data };
  const whole = mostEstimate(most, beside);
  const tried = await chain.call(request, signal, whole);
  if (!tried.ok) return tried.error.kind === "Reverted" ? { isRefused: true, gas: null } : null;
  const needed = await chain.estimateGas(request, signal, whole);
  if (needed.ok) {
    // What data takes as gas only an estimate has in it. So much no version of it is signed with, and a block may not have so much either.
    if (needed.value > whole) return { isRefused: true, gas: null };
    const gas = await neededGas({ chain }, request, txGas(needed.value), most, beside, signal);
    // With the most, and what is asked for data beside, it has enough.
    return { isRefused: false, gas: gas < most ? gas : most };
  }
  // Besu, Erigon and older geths estimate in the block they are making: what their pools have is carried out there, and once more it would fail. In
  // which words they say so is each node's own.
  return { isRefused: false, gas: null };
}
