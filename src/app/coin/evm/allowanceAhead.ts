import type { EvmAddress } from "../../../core/evm/address.ts";
import { parseErc20Call } from "../../../core/evm/erc20.ts";
import { parseSwapCall } from "../../../core/evm/swapContract.ts";
import type { EvmTx, SignedEvmTx } from "../../../core/evm/tx.ts";

/** Whose allowance: what a swap contract may take of a token. */
export type TokenAndContract = { readonly token: EvmAddress; readonly contract: EvmAddress };

/** The amount a transaction approves; null: it approves nothing here. */
function approves({ token, contract }: TokenAndContract, tx: EvmTx): bigint | null {
  if (tx.to !== token) return null;
  const call = parseErc20Call(tx.data);
  return call.ok && call.value.kind === "approve" && call.value.spender === contract ? call.value.amount : null;
}

/** What a transaction uses up by a payment. */
function pays({ token, contract }: TokenAndContract, tx: EvmTx): bigint {
  if (tx.to !== contract) return 0n;
  const call = parseSwapCall(tx.data);
  return call.ok && call.value.kind === "erc20Payment" && call.value.token === token ? call.value.amount : 0n;
}

function byNonce(waiting: readonly SignedEvmTx[]): readonly (readonly EvmTx[])[] {
  const groups = new Map<bigint, EvmTx[]>();
  for (const { tx } of waiting) groups.set(tx.nonce, [...(groups.get(tx.nonce) ?? []), tx]);
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, txs]) => txs);
}

/**
 * The least that is left of an allowance at any time while waiting transactions of the account are mined, in the order of
 * their nonces: an approval may fail, so it never counts for more than was there before it. Below 0: a payment fails.
 */
export function leastLeft(allowance: bigint, pair: TokenAndContract, waiting: readonly SignedEvmTx[]): bigint {
  const after = (left: bigint, tx: EvmTx): bigint => {
    const approved = approves(pair, tx);
    return approved !== null && approved < left ? approved : left - pays(pair, tx);
  };
  return byNonce(waiting).reduce((left, txs) => txs.map((tx) => after(left, tx)).reduce((a, b) => (a < b ? a : b)), allowance);
}

/** What waiting payments with a nonce above `nonce` use up; -1 for all of them. */
export function paidAfter(nonce: bigint, pair: TokenAndContract, waiting: readonly SignedEvmTx[]): bigint {
  const later = byNonce(waiting.filter(({ tx }) => tx.nonce > nonce));
  return later.reduce((sum, txs) => sum + txs.map((tx) => pays(pair, tx)).reduce((a, b) => (a > b ? a : b)), 0n);
}

/** A waiting approval; null: there is none. */
export const approvalAmong = (pair: TokenAndContract, waiting: readonly SignedEvmTx[]): SignedEvmTx | null =>
  waiting.find(({ tx }) => approves(pair, tx) !== null) ?? null;
