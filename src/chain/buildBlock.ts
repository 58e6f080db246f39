import { concatBytes } from "../core/util/bytes.ts";
import { ByteWriter } from "../core/utxo/byteWriter.ts";
import { pushBytes } from "../core/utxo/script.ts";
import type { TxOutput } from "../core/utxo/tx.ts";
import { draftTx } from "../core/utxo/txTemplate.ts";
import { type Block, createBlock, mineHeader, REGTEST_BITS } from "./block.ts";
import { type ChainParams, COIN } from "./chainParams.ts";
import type { BlockEntry } from "./chainState.ts";
import { type ChainTx, NULL_OUTPOINT, txToChainTx } from "./chainTx.ts";
import { coinbaseHeightScript, commitmentScript } from "./consensus/blockRules.ts";
import { merkleRoot } from "./merkle.ts";

/** Version bits with nothing signalled (BIP-9). */
const BLOCK_VERSION = 0x20000000;
/** A reward above this is paid in several outputs, so that a faucet of one huge coin can pay many people at once. */
const SPLIT_ABOVE = 10_000n * COIN;
const SPLIT_PARTS = 20n;

export type BlockPlan = {
  readonly previous: BlockEntry;
  readonly txs: readonly ChainTx[];
  /** Fees of `txs`, base units. */
  readonly fees: bigint;
  /** Script the coinbase pays to. */
  readonly payTo: Uint8Array;
  /** Unix seconds. */
  readonly time: number;
  /** Makes the coinbase unique, so that two branches never hold the same transaction. */
  readonly extraNonce: number;
};

function coinbaseTx(params: ChainParams, plan: BlockPlan, outputs: readonly TxOutput[], witness: readonly Uint8Array[]): ChainTx {
  const height = plan.previous.height + 1;
  const nonce = pushBytes(new ByteWriter(8).u64(BigInt(plan.extraNonce)).done());
  const scriptSig = concatBytes(coinbaseHeightScript(height), nonce);
  return txToChainTx(
    draftTx(params.template, { inputs: [{ ...NULL_OUTPOINT, scriptSig, sequence: 0xffffffff, witness }], outputs, lockTime: 0 }),
  );
}

function rewardOutputs(value: bigint, script: Uint8Array): TxOutput[] {
  if (value <= SPLIT_ABOVE) return [{ value, script }];
  const part = value / SPLIT_PARTS;
  const rest = Array.from({ length: Number(SPLIT_PARTS) - 1 }, () => ({ value: part, script }));
  return [{ value: value - part * (SPLIT_PARTS - 1n), script }, ...rest];
}

/** Makes and mines a block on `plan.previous`. The transactions are put in as they are: nothing is validated here. */
export function buildBlock(params: ChainParams, plan: BlockPlan): Block {
  const rewards = rewardOutputs(params.subsidy(plan.previous.height + 1) + plan.fees, plan.payTo);
  const segwit = params.kind === "segwit";
  const reserved = segwit ? new Uint8Array(32) : null;
  let coinbase = coinbaseTx(params, plan, rewards, reserved ? [reserved] : []);
  if (reserved) {
    const commitment = { value: 0n, script: commitmentScript(coinbase, plan.txs, reserved) };
    coinbase = coinbaseTx(params, plan, [...rewards, commitment], [reserved]);
  }
  const txs = [coinbase, ...plan.txs];
  const header = mineHeader({
    version: BLOCK_VERSION,
    previous: plan.previous.block.hash,
    merkleRoot: merkleRoot(txs.map((t) => t.txid)).root,
    time: plan.time,
    bits: REGTEST_BITS,
  });
  return createBlock(header, txs);
}
