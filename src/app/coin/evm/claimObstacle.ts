import type { SignedEvmTx } from "../../../core/evm/tx.ts";
import { whyInNoBlock } from "./blockGas.ts";
import { accountState, type EvmAccount, gasPricesOf } from "./evmAccount.ts";
import { isBelowBlock } from "./gasBid.ts";
import { MOST_UNKNOWN } from "./heldNonces.ts";
import { bidOf } from "./outgoing.ts";

/** Whether a block is known to have another transaction with the nonce of one that never left: before nodes have told the account's nonce, none is. */
export const hasLostNonce = ({ chain, address }: Pick<EvmAccount, "chain" | "address">, { tx, txid }: SignedEvmTx): boolean =>
  tx.nonce < (chain.account(address)?.nonce ?? 0n) && chain.tx(txid)?.block == null;

/**
 * Why a claim of this account would not be mined soon, one sentence; null: nothing is in its way. Blocks take an account's transactions
 * in the order of their nonces, so whatever is stuck before the claim holds it up, and who has read its secret in a pool meanwhile wins.
 * Every nonce before it must be of a transaction of ours that nodes have, at a price that the next block takes. One node that shows it is
 * enough: the count of all pools is the least of several, and some nodes do not count pools at all. Of an account with code the claim must be
 * the first that waits: geth takes one at a time. Nor may another wallet with this key have the nonce it was signed with: it would be
 * refused, having shown its secret.
 * @param claim null: not signed yet
 * @param fee wei it may cost, for its data too
 */
export function claimObstacle(
  account: Pick<EvmAccount, "chain" | "address" | "nonces" | "platform"> & { readonly payouts: Pick<EvmAccount["payouts"], "hasCode"> },
  claim: SignedEvmTx | null,
  fee: bigint,
): string | null {
  const { nonces, platform, payouts } = account;
  const { nonce: first, pendingNonce, balance } = accountState(account);
  const prices = gasPricesOf(account);
  const own = claim?.tx.nonce ?? nonces.next() ?? first;
  const waiting = nonces.waiting().map(({ signed }) => signed);
  const byNonce = new Map<bigint, SignedEvmTx[]>();
  for (const signed of waiting) byNonce.set(signed.tx.nonce, [...(byNonce.get(signed.tx.nonce) ?? []), signed]);
  // What is said to have its own one may keep it out: that is filled first (`NonceKeeper`).
  const unknown = claim === null ? nonces.unknown() : [];
  const isContested = unknown.length <= MOST_UNKNOWN && unknown.includes(own);
  if (claim !== null && !nonces.isOut(claim.txid)) {
    if (hasLostNonce(account, claim)) return `a block has another transaction of the ${platform} account with the claim's nonce ${own}`;
    if (own < pendingNonce && nonces.unknown().length < MOST_UNKNOWN)
      return `the ${platform} nodes have another transaction of the account with the claim's nonce ${own}, and would refuse the claim`;
  }
  for (let nonce = first; isContested ? nonce <= own : nonce < own; nonce++) {
    const here = byNonce.get(nonce) ?? [];
    if (here.length === 0)
      return `nonce ${nonce} of the ${platform} account is used by nothing this node knows, and the claim would wait for it`;
    if (here.every(({ txid }) => nonces.isGivenUp(txid)))
      return `nonce ${nonce} of the ${platform} account is of a transaction that no swap needs and no node has, and the claim would wait for it`;
    // Refused behind it by every such pool, and read by whoever runs them.
    if (payouts.hasCode && nonce < own)
      return `${here.at(-1)?.txid} waits for its block, and nodes take one waiting transaction at a time of an account with code (EIP-7702)`;
    if (nonce >= pendingNonce && !here.some(({ txid }) => nonces.isOut(txid)))
      return `no ${platform} node has ${here.at(-1)?.txid}, and the claim would wait behind it`;
    if (here.every(({ tx }) => whyInNoBlock(account.chain, tx) !== null))
      return `${here.at(-1)?.txid} is in no block of ${platform} with the gas that it has, and the claim would wait behind it`;
    if (here.every(({ tx, txid }) => isBelowBlock(bidOf(tx), prices) || nonces.isGivenUp(txid)))
      return `${here.at(-1)?.txid} waits at a price below what ${platform} asks, and the claim would wait behind it`;
  }
  const left = balance - nonces.outgoing().wei - (claim === null ? fee : 0n);
  return left < 0n ? `the ${platform} account lacks ${-left} wei for the claim's fee` : null;
}

/** What of the account waits for a block and nothing here knows of, one sentence; null: nothing does. */
export function unexplainedNonce({
  nonces,
  chain,
  address,
  platform,
}: Pick<EvmAccount, "chain" | "address" | "nonces" | "platform">): string | null {
  if (!chain.account(address)) return `the ${platform} nodes have not told the account's nonce yet`;
  const [nonce] = nonces.unknown();
  return nonce === undefined
    ? null
    : `the ${platform} nodes have a transaction of this account with nonce ${nonce}, which nothing here sent`;
}
