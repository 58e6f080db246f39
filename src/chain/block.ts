import { concatBytes, reversed, toHex } from "../core/util/bytes.ts";
import { err, ok, type Result } from "../core/util/result.ts";
import { ByteReader } from "../core/utxo/byteReader.ts";
import { ByteWriter } from "../core/utxo/byteWriter.ts";
import { hash256 } from "../core/utxo/hash.ts";
import type { TxFormat } from "../core/utxo/txCodec.ts";
import { type ChainTx, parseChainTxAt } from "./chainTx.ts";

/**
 * Bitcoin's 80-byte header. KMD-family chains are served with it too: a real Komodo header is Zcash's (with a Sapling
 * root and an Equihash solution), which no client of a daemon's JSON has to read.
 */
export type BlockHeader = {
  /** u32 */
  readonly version: number;
  /** Display order. */
  readonly previous: string;
  /** Hash order, 32 bytes. */
  readonly merkleRoot: Uint8Array;
  /** Unix seconds, u32. */
  readonly time: number;
  /** Compact target. */
  readonly bits: number;
  readonly nonce: number;
};

export type Block = { readonly header: BlockHeader; readonly hash: string; readonly txs: readonly ChainTx[] };

export type BadBlock = { readonly kind: "BadBlock"; readonly detail: string };

const HEADER_BYTES = 80;
/** Largest block read or made, weight units, and its limit without witnesses (BIP-141). */
export const MAX_BLOCK_WEIGHT = 4_000_000;
export const MAX_BLOCK_BASE_BYTES = 1_000_000;
/** The easiest target there is on regtest: every second hash fits. */
export const REGTEST_BITS = 0x207fffff;

export function serializeHeader(h: BlockHeader): Uint8Array {
  const w = new ByteWriter(HEADER_BYTES).u32(h.version).bytes(hashToWire(h.previous)).bytes(h.merkleRoot);
  return w.u32(h.time).u32(h.bits).u32(h.nonce).done();
}

function hashToWire(hash: string): Uint8Array {
  const out = new Uint8Array(32);
  for (let i = 0; i < 32; i++) out[31 - i] = Number.parseInt(hash.slice(2 * i, 2 * i + 2), 16);
  return out;
}

const headerHash = (h: BlockHeader): string => toHex(reversed(hash256(serializeHeader(h))));

/** Target of compact `bits`; 0 when negative or too large to mean anything. */
export function bitsToTarget(bits: number): bigint {
  const exponent = bits >>> 24;
  const mantissa = BigInt(bits & 0x7fffff);
  if (bits & 0x800000 || exponent > 34) return 0n;
  return exponent <= 3 ? mantissa >> BigInt(8 * (3 - exponent)) : mantissa << BigInt(8 * (exponent - 3));
}

/** Expected hashes to find such a block: 2^256 / (target + 1). */
export const workOf = (bits: number): bigint => (1n << 256n) / (bitsToTarget(bits) + 1n);

export const meetsTarget = (hash: string, bits: number): boolean => BigInt(`0x${hash}`) <= bitsToTarget(bits);

/** Searches the nonce; about two tries at regtest's target. */
export function mineHeader(draft: Omit<BlockHeader, "nonce">): BlockHeader {
  for (let nonce = 0; nonce <= 0xffffffff; nonce++) {
    const header = { ...draft, nonce };
    if (meetsTarget(headerHash(header), header.bits)) return header;
  }
  throw new Error("no nonce meets the target");
}

export function serializeBlock(block: Block): Uint8Array {
  const count = new ByteWriter(5).compactSize(block.txs.length).done();
  return concatBytes(serializeHeader(block.header), count, ...block.txs.map((t) => t.raw));
}

export function createBlock(header: BlockHeader, txs: readonly ChainTx[]): Block {
  return { header, hash: headerHash(header), txs };
}

/** Reads a whole block; trailing bytes are refused. Size is bounded by the caller's limit on the input. */
export function parseBlock(bytes: Uint8Array, format: TxFormat): Result<Block, BadBlock> {
  const r = new ByteReader(bytes);
  const version = r.u32();
  const previous = toHex(reversed(r.slice(32)));
  const merkleRoot = r.slice(32).slice();
  const header = { version, previous, merkleRoot, time: r.u32(), bits: r.u32(), nonce: r.u32() };
  const count = r.count(10);
  if (r.problem !== null) return err({ kind: "BadBlock", detail: r.problem });
  const txs: ChainTx[] = [];
  let at = r.offset;
  for (let i = 0; i < count; i++) {
    const parsed = parseChainTxAt(bytes, at, format);
    if (!parsed.ok) return err({ kind: "BadBlock", detail: parsed.error.detail });
    txs.push(parsed.value.tx);
    at = parsed.value.end;
  }
  if (at !== bytes.length) return err({ kind: "BadBlock", detail: "data after the block" });
  return ok(createBlock(header, txs));
}

/** Full size and size without witnesses, bytes; weight as BIP-141 defines it. */
export function blockSizes(block: Block): { readonly size: number; readonly strippedSize: number; readonly weight: number } {
  const overhead = HEADER_BYTES + new ByteWriter(5).compactSize(block.txs.length).done().length;
  const size = block.txs.reduce((n, t) => n + t.raw.length, overhead);
  const strippedSize = block.txs.reduce((n, t) => n + t.strippedSize, overhead);
  return { size, strippedSize, weight: 3 * strippedSize + size };
}
