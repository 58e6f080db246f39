import { reversed, toHex } from "../core/util/bytes.ts";
import type { Result } from "../core/util/result.ts";
import { hash256 } from "../core/utxo/hash.ts";
import type { OutPoint, Tx } from "../core/utxo/tx.ts";
import { type BadTx, hasWitness, parseTxAt, serializeTx, type TxFormat } from "../core/utxo/txCodec.ts";

/** A transaction with what is asked of it again and again. */
export type ChainTx = {
  readonly tx: Tx;
  readonly raw: Uint8Array;
  /** Display order. */
  readonly txid: string;
  /** Hash over the witness too (BIP-141); equals `txid` without one. */
  readonly wtxid: string;
  /** Bytes without the witness, and BIP-141 weight. */
  readonly strippedSize: number;
  readonly weight: number;
  /** Weight / 4, rounded up. */
  readonly vsize: number;
};

const display = (hash: Uint8Array): string => toHex(reversed(hash));

export function txToChainTx(tx: Tx, raw: Uint8Array = serializeTx(tx)): ChainTx {
  const witness = hasWitness(tx);
  const stripped = witness ? serializeTx(tx, { witness: false }) : raw;
  const txid = display(hash256(stripped));
  const weight = 3 * stripped.length + raw.length;
  return {
    tx,
    raw,
    txid,
    wtxid: witness ? display(hash256(raw)) : txid,
    strippedSize: stripped.length,
    weight,
    vsize: Math.ceil(weight / 4),
  };
}

/** Reads a transaction at `offset`. The bytes are copied, so a long block does not stay in memory for one of them. */
export function parseChainTxAt(bytes: Uint8Array, offset: number, format: TxFormat): Result<{ tx: ChainTx; end: number }, BadTx> {
  const parsed = parseTxAt(bytes, offset, format);
  if (!parsed.ok) return parsed;
  const raw = bytes.slice(offset, parsed.value.end);
  return { ok: true, value: { tx: txToChainTx(parsed.value.tx, raw), end: parsed.value.end } };
}

/** Key of an output in maps. */
export const outPointKey = ({ txid, vout }: OutPoint): string => `${txid}:${vout}`;

const NULL_TXID = "00".repeat(32);
export const NULL_OUTPOINT: OutPoint = { txid: NULL_TXID, vout: 0xffffffff };

export const isNullOutPoint = (o: OutPoint): boolean => o.vout === 0xffffffff && o.txid === NULL_TXID;

export function isCoinbase(tx: Tx): boolean {
  const [first] = tx.inputs;
  return tx.inputs.length === 1 && first !== undefined && isNullOutPoint(first);
}
