import { concatBytes, equalBytes, reversed } from "../util/bytes.ts";
import type { ByteReader } from "../utxo/byteReader.ts";
import { hash256 } from "../utxo/hash.ts";
import { parseTxAt, serializeTx } from "../utxo/txCodec.ts";

const HEADER_BYTES = 80;
/** Where the Merkle root stands in a header of 80 bytes. */
const ROOT_AT = 36;
/** Deepest tree of merge-mined chains (Namecoin, `CAuxPow::check`). */
const MAX_CHAIN_DEPTH = 30;
const MAX_BLOCK_DEPTH = 32;
/** Stands before the root of the merge-mined chains in the parent's coinbase script. */
const MAGIC = Uint8Array.from([0xfa, 0xbe, 0x6d, 0x6d]);
/** Without the magic the root must begin within so many bytes. */
const MAX_BARE_OFFSET = 20;

/** Hashes in hash order. */
type Branch = { readonly hashes: readonly Uint8Array[]; readonly index: number };

/** What shows that a block of a parent chain was mined for a block of this one. Hashes in hash order. */
export type ParentProof = {
  /** Script of the first input of the parent's first transaction. */
  readonly script: Uint8Array;
  /** Id of that transaction. */
  readonly coinbase: Uint8Array;
  /** From it to the parent's Merkle root. */
  readonly blockBranch: Branch;
  /** From this chain's block to the root in the script. */
  readonly chainBranch: Branch;
  /** The parent's header, 80 bytes. */
  readonly parent: Uint8Array;
};

function readBranch(r: ByteReader, maxDepth: number): Branch {
  const count = r.count(32);
  if (count > maxDepth) r.fail("branch too deep");
  const hashes: Uint8Array[] = [];
  for (let i = 0; i < count && r.problem === null; i++) hashes.push(r.slice(32).slice());
  return { hashes, index: r.u32() };
}

/** Reads the proof that follows a merge-mined header; a problem is left in the reader. */
export function readParentProof(r: ByteReader, bytes: Uint8Array): ParentProof | null {
  const tx = parseTxAt(bytes, r.offset, { kind: "bitcoin" });
  if (!tx.ok) {
    r.fail(tx.error.detail);
    return null;
  }
  r.offset = tx.value.end;
  const [first] = tx.value.tx.inputs;
  const script = (first?.scriptSig ?? new Uint8Array(0)).slice();
  const coinbase = hash256(serializeTx(tx.value.tx, { witness: false }));
  // The parent's hash, which follows from its header.
  r.slice(32);
  const blockBranch = readBranch(r, MAX_BLOCK_DEPTH);
  const chainBranch = readBranch(r, MAX_CHAIN_DEPTH);
  const parent = r.slice(HEADER_BYTES).slice();
  return r.problem === null ? { script, coinbase, blockBranch, chainBranch, parent } : null;
}

function rootOf(leaf: Uint8Array, { hashes, index }: Branch): Uint8Array {
  let node = leaf;
  let place = index;
  for (const other of hashes) {
    node = hash256(place % 2 === 0 ? concatBytes(node, other) : concatBytes(other, node));
    place = Math.floor(place / 2);
  }
  return node;
}

function indexOf(script: Uint8Array, part: Uint8Array, from = 0): number {
  for (let at = from; at + part.length <= script.length; at++) {
    if (equalBytes(script.subarray(at, at + part.length), part)) return at;
  }
  return -1;
}

/** Where the root stands in the script: right after the only magic, or near the beginning without one; -1: neither. */
function rootAt(script: Uint8Array, root: Uint8Array): number {
  const at = indexOf(script, root);
  const magic = indexOf(script, MAGIC);
  if (magic < 0) return at <= MAX_BARE_OFFSET ? at : -1;
  return indexOf(script, MAGIC, magic + 1) < 0 && at === magic + MAGIC.length ? at : -1;
}

/** The place a chain has in the tree of merge-mined chains, so that no miner can put two blocks of one chain into it. */
function placeOf(nonce: number, chainId: number, depth: number): number {
  const step = (n: number): number => (Math.imul(n, 1_103_515_245) + 12_345) >>> 0;
  return step((step(nonce) + chainId) >>> 0) % 2 ** depth;
}

const chainIdOf = (header: Uint8Array): number => (header[2] ?? 0) + 256 * (header[3] ?? 0);

/**
 * Whether the proof commits to this block, as the merge-mined chains ask it (Namecoin and Dogecoin, `CAuxPow::check`):
 * the block is in the tree whose root the parent's coinbase names, at its chain's place, and that coinbase is the first
 * transaction of the parent, which is of another chain. The parent's work is another question.
 *
 * @param raw     the block's own 80 bytes
 * @param chainId the chain's number among merge-mined chains
 */
export function commitsTo(raw: Uint8Array, proof: ParentProof, chainId: number): boolean {
  const { script, coinbase, blockBranch, chainBranch, parent } = proof;
  if (chainIdOf(raw) !== chainId || chainIdOf(parent) === chainId || blockBranch.index !== 0) return false;
  if (!equalBytes(rootOf(coinbase, blockBranch), parent.subarray(ROOT_AT, ROOT_AT + 32))) return false;
  const at = rootAt(script, reversed(rootOf(hash256(raw), chainBranch)));
  const tail = script.subarray(at + 32, at + 40);
  if (at < 0 || tail.length < 8) return false;
  const view = new DataView(tail.buffer, tail.byteOffset, 8);
  const depth = chainBranch.hashes.length;
  return view.getUint32(0, true) === 2 ** depth && chainBranch.index === placeOf(view.getUint32(4, true), chainId, depth);
}
