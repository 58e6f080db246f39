import { sha256 } from "@noble/hashes/sha2.js";
import { concatBytes, equalBytes } from "../../core/util/bytes.ts";
import { pushMinimal } from "../../core/utxo/script.ts";
import { encodeScriptNum } from "../../core/utxo/scriptNum.ts";
import { hasWitness } from "../../core/utxo/txCodec.ts";
import { type Block, blockSizes, MAX_BLOCK_BASE_BYTES, MAX_BLOCK_WEIGHT, meetsTarget, REGTEST_BITS } from "../block.ts";
import type { ChainParams } from "../chainParams.ts";
import { type ChainTx, isCoinbase } from "../chainTx.ts";
import { merkleRoot } from "../merkle.ts";
import { countSigOps } from "../script/scriptCode.ts";
import { checkTransaction, hasAged, isExpired, isFinal } from "./txRules.ts";

/** Signature operations a block may hold; a legacy one counts 4 (BIP-141). */
export const MAX_BLOCK_SIGOPS_COST = 80_000;
/** A block may be at most this far ahead of the clock, seconds. */
const MAX_FUTURE_SEC = 7_200;
/** BIP-65 is the last upgrade that asked for a version number. */
const MIN_BLOCK_VERSION = 4;
/** OP_RETURN, push of 36, and the four bytes that mark a witness commitment (BIP-141). */
const COMMITMENT_HEAD = Uint8Array.of(0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed);
const ZERO_TXID = "00".repeat(32);

/** What a block is checked against: the block before it. */
export type BlockContext = {
  readonly height: number;
  /** Median time past of the block before. */
  readonly medianTime: number;
  readonly nowSec: number;
};

/** BIP-34: what the coinbase script of `height` must begin with. */
export const coinbaseHeightScript = (height: number): Uint8Array => pushMinimal(encodeScriptNum(BigInt(height)));

/** Index of the coinbase output with the witness commitment, the last that has the mark; -1 without one. */
function commitmentIndex(coinbase: ChainTx): number {
  return coinbase.tx.outputs.findLastIndex(
    (o) => o.script.length >= 38 && equalBytes(o.script.subarray(0, COMMITMENT_HEAD.length), COMMITMENT_HEAD),
  );
}

/** Commitment over the witness ids of all transactions but the coinbase, whose place holds zeros (BIP-141). */
function witnessCommitment(txs: readonly ChainTx[], reserved: Uint8Array): Uint8Array {
  const { root } = merkleRoot(txs.map((t, i) => (i === 0 ? ZERO_TXID : t.wtxid)));
  return sha256(sha256(concatBytes(root, reserved)));
}

/** Output script of the commitment for a block whose transactions after the coinbase are `txs`. */
export function commitmentScript(coinbase: ChainTx, txs: readonly ChainTx[], reserved: Uint8Array): Uint8Array {
  return concatBytes(COMMITMENT_HEAD, witnessCommitment([coinbase, ...txs], reserved));
}

function checkWitness(block: Block, coinbase: ChainTx): string | null {
  const at = commitmentIndex(coinbase);
  if (at < 0) return block.txs.some((t) => hasWitness(t.tx)) ? "unexpected-witness" : null;
  const witness = coinbase.tx.inputs[0]?.witness ?? [];
  const [reserved] = witness;
  if (witness.length !== 1 || reserved?.length !== 32) return "bad-witness-nonce-size";
  const found = coinbase.tx.outputs[at]?.script.subarray(6, 38) ?? new Uint8Array(0);
  return equalBytes(found, witnessCommitment(block.txs, reserved)) ? null : "bad-witness-merkle-match";
}

export function legacySigOps({ tx }: ChainTx): number {
  const inputs = tx.inputs.reduce((n, i) => n + countSigOps(i.scriptSig, false), 0);
  return tx.outputs.reduce((n, o) => n + countSigOps(o.script, false), inputs);
}

function checkHeader({ header, hash }: Block, context: BlockContext): string | null {
  if (!meetsTarget(hash, header.bits)) return "high-hash";
  if (header.bits !== REGTEST_BITS) return "bad-diffbits";
  if (header.time <= context.medianTime) return "time-too-old";
  if (header.time > context.nowSec + MAX_FUTURE_SEC) return "time-too-new";
  // Read as a signed number, so the top bit makes it old.
  return (header.version | 0) < MIN_BLOCK_VERSION ? `bad-version(0x${header.version.toString(16).padStart(8, "0")})` : null;
}

/** Everything about a block that does not need the coins it spends. Null: fine. */
export function checkBlock(block: Block, params: ChainParams, context: BlockContext): string | null {
  const problem = checkHeader(block, context);
  if (problem) return problem;
  const { root, mutated } = merkleRoot(block.txs.map((t) => t.txid));
  if (!equalBytes(root, block.header.merkleRoot)) return "bad-txnmrklroot";
  if (mutated) return "bad-txns-duplicate";
  const sizes = blockSizes(block);
  if (block.txs.length === 0 || sizes.strippedSize > MAX_BLOCK_BASE_BYTES) return "bad-blk-length";
  const [coinbase] = block.txs;
  if (!coinbase || !isCoinbase(coinbase.tx)) return "bad-cb-missing";
  if (block.txs.slice(1).some((t) => isCoinbase(t.tx))) return "bad-cb-multiple";
  for (const tx of block.txs) {
    const bad = checkTransaction(tx, params);
    if (bad) return bad;
  }
  if (block.txs.reduce((n, t) => n + legacySigOps(t), 0) * 4 > MAX_BLOCK_SIGOPS_COST) return "bad-blk-sigops";
  for (const { tx } of block.txs) {
    if (!isFinal(tx, context.height, context.medianTime)) return "bad-txns-nonfinal";
    if (isExpired(tx, context.height)) return "tx-overwinter-expired";
    if (hasAged(tx, params, block.header.time)) return "komodo-interest-invalid";
  }
  const start = coinbaseHeightScript(context.height);
  const scriptSig = coinbase.tx.inputs[0]?.scriptSig ?? new Uint8Array(0);
  if (!equalBytes(scriptSig.subarray(0, start.length), start)) return "bad-cb-height";
  const badWitness = params.kind === "segwit" ? checkWitness(block, coinbase) : checkNoWitness(block);
  if (badWitness) return badWitness;
  return sizes.weight > MAX_BLOCK_WEIGHT ? "bad-blk-weight" : null;
}

const checkNoWitness = (block: Block): string | null => (block.txs.some((t) => hasWitness(t.tx)) ? "unexpected-witness" : null);
