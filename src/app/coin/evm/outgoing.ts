import type { EvmAddress } from "../../../core/evm/address.ts";
import { parseErc20Call } from "../../../core/evm/erc20.ts";
import { type GasBid, greatestFee } from "../../../core/evm/gas.ts";
import { parseSwapCall } from "../../../core/evm/swapContract.ts";
import type { EvmTx } from "../../../core/evm/tx.ts";

/** What transactions that are in no block yet may still take of an account, at most. Base units. */
export type Outgoing = { readonly wei: bigint; token(contract: EvmAddress): bigint };

/** How a transaction of any type bids. */
export const bidOf = (tx: EvmTx): GasBid =>
  tx.type === "eip1559"
    ? { kind: "eip1559", maxFeePerGas: tx.maxFeePerGas, maxPriorityFeePerGas: tx.maxPriorityFeePerGas }
    : { kind: "legacy", gasPrice: tx.gasPrice };

/** The most wei a transaction takes: its value and its greatest fee, without what a chain takes beside gas. */
export const greatestCost = (tx: EvmTx): bigint => tx.value + greatestFee(bidOf(tx), tx.gasLimit);

/** Of a nonce with several transactions, at most one of which can be mined, the dearest counts. */
function sumOfDearest(txs: readonly EvmTx[], cost: (tx: EvmTx) => bigint): bigint {
  const byNonce = new Map<bigint, bigint>();
  for (const tx of txs) {
    const found = cost(tx);
    if (found > (byNonce.get(tx.nonce) ?? 0n)) byNonce.set(tx.nonce, found);
  }
  return [...byNonce.values()].reduce((sum, n) => sum + n, 0n);
}

/** Of a token a transaction takes from its sender: by a transfer, or by a payment into a swap contract. */
export function tokenAmount(tx: EvmTx, contract: EvmAddress): bigint {
  if (tx.to === contract) {
    const call = parseErc20Call(tx.data);
    return call.ok && call.value.kind === "transfer" ? call.value.amount : 0n;
  }
  const call = parseSwapCall(tx.data);
  return call.ok && call.value.kind === "erc20Payment" && call.value.token === contract ? call.value.amount : 0n;
}

/** @param beside wei each of them may take beside its gas (`dataBound`) */
export const outgoingOf = (waiting: readonly EvmTx[], beside: bigint): Outgoing => ({
  wei: sumOfDearest(waiting, (tx) => greatestCost(tx) + beside),
  token: (contract) => sumOfDearest(waiting, (tx) => tokenAmount(tx, contract)),
});
