import { outPointKey, txToChainTx } from "../../src/chain/chainTx.ts";
import { hasAged } from "../../src/chain/consensus/txRules.ts";
import { parseEvmTx } from "../../src/core/evm/parseTx.ts";
import { parseSwapCall } from "../../src/core/evm/swapContract.ts";
import type { SignedEvmTx } from "../../src/core/evm/tx.ts";
import { fromHex, toHex } from "../../src/core/util/bytes.ts";
import { parseTx } from "../../src/core/utxo/txCodec.ts";
import type { PaymentKey } from "../../src/ports/accountChain.ts";
import type { SimEvmChain } from "../world/evm/simEvmChain.ts";
import type { SimChain } from "../world/simChain.ts";

/** What the rules ask a chain itself, past every node's view of it. */
export type ChainFacts = {
  readonly kind: "utxo" | "account";
  /** Blocks over a transaction, its own included; 0: in none, or one that failed there. */
  depth(txid: string): number;
  /** Whether a payment is in its contract. */
  isLocked(txid: string): boolean;
  /** Whether a payment is made of coins that its block has made: nobody may spend it for long. */
  isNew(txid: string): boolean;
  /** Time that locks are compared with, unix seconds. */
  nowSec(): number;
  /** Time of a block; null: there is none. */
  timeSecAt(height: number): number | null;
  /** Seconds until a refund may be in a block; not above 0: now. */
  refundEarlySec(raw: string): number;
  /** `spends`: what no two transactions spend, outputs or the nonce of an account. Null: no transaction of this chain. */
  read(raw: string): { readonly txid: string; readonly spends: readonly string[] } | null;
  /** The block a transaction is in, whether or not it failed there. */
  blockOf(txid: string): { readonly height: number; readonly timeSec: number } | null;
  /** Whether a block or the mempool has a transaction. */
  has(txid: string): boolean;
  /** Whether a transaction is in no block, and too old for any. */
  isTooOld(raw: string): boolean;
};

export function utxoFacts({ ticker, chain }: SimChain): ChainFacts {
  const { state, params } = chain;
  const txOf = (raw: string) => parseTx(fromHex(raw), params.template.format);
  return {
    kind: "utxo",
    depth(txid) {
      const entry = state.blockOfTx(txid);
      return entry ? state.tip.height - entry.height + 1 : 0;
    },
    isLocked: (txid) => state.coins.get(`${txid}:0`) !== undefined,
    isNew: (txid) => state.coins.get(`${txid}:0`)?.coinbase === true,
    nowSec: () => state.tip.medianTime,
    timeSecAt: (height) => state.at(height)?.block.header.time ?? null,
    refundEarlySec(raw) {
      const tx = txOf(raw);
      return tx.ok ? tx.value.lockTime - state.tip.medianTime : 0;
    },
    read(raw) {
      const tx = txOf(raw);
      return tx.ok ? { txid: txToChainTx(tx.value).txid, spends: tx.value.inputs.map((input) => `${ticker} ${outPointKey(input)}`) } : null;
    },
    blockOf(txid) {
      const entry = state.blockOfTx(txid);
      return entry ? { height: entry.height, timeSec: entry.block.header.time } : null;
    },
    has: (txid) => state.blockOfTx(txid) !== undefined || chain.mempool.graph.get(txid) !== undefined,
    isTooOld(raw) {
      const tx = txOf(raw);
      return tx.ok && hasAged(tx.value, params, state.tip.medianTime) && state.blockOfTx(txToChainTx(tx.value).txid) === undefined;
    },
  };
}

/** The payment a transaction of an account chain makes, claims or refunds; null: none. */
export function paymentKeyOf({ tx }: SignedEvmTx): PaymentKey | null {
  const call = parseSwapCall(tx.data);
  return call.ok && tx.to !== null ? { contract: tx.to, id: toHex(call.value.id) } : null;
}

/** Whether a transaction of an account chain moves nothing and uses up a nonce. */
export function isFiller(raw: string): boolean {
  const parsed = parseEvmTx(fromHex(raw));
  if (!parsed.ok) return false;
  const { tx, from } = parsed.value;
  return tx.to === from && tx.value === 0n && tx.data.length === 0;
}

export function accountFacts(chain: SimEvmChain): ChainFacts {
  const record = (signed: SignedEvmTx | undefined) => {
    const key = signed && paymentKeyOf(signed);
    return key ? chain.payment(key.contract, key.id) : null;
  };
  return {
    kind: "account",
    depth(txid) {
      const found = chain.find(txid);
      return found?.block && found.receipt?.succeeded ? chain.tip.height - found.block.height + 1 : 0;
    },
    isLocked(txid) {
      const found = chain.find(txid);
      return found?.receipt?.succeeded === true && record(found.signed)?.state === "sent";
    },
    isNew: () => false,
    nowSec: () => chain.tip.timeSec,
    timeSecAt: (height) => chain.at(height)?.timeSec ?? null,
    refundEarlySec(raw) {
      const parsed = parseEvmTx(fromHex(raw));
      const lock = parsed.ok ? record(parsed.value)?.lockTime : undefined;
      return lock === undefined ? 0 : Number(lock) - chain.tip.timeSec;
    },
    read(raw) {
      const parsed = parseEvmTx(fromHex(raw));
      if (!parsed.ok) return null;
      const { txid, tx, from } = parsed.value;
      return { txid, spends: [`${chain.ticker} nonce ${tx.nonce} of ${from}`] };
    },
    blockOf(txid) {
      const block = chain.find(txid)?.block;
      return block ? { height: block.height, timeSec: block.timeSec } : null;
    },
    has: (txid) => chain.find(txid) !== undefined,
    isTooOld: () => false,
  };
}
