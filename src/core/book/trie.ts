import { blake2b } from "@noble/hashes/blake2.js";
import { concatBytes, equalBytes, fromHex } from "../util/bytes.ts";

/** How a leaf stood in its branch when it was last hashed: the same for as long as its neighbours leave it at this depth. */
export type LeafMemo = { depth: number; ref: Uint8Array };
/** Key and value of one leaf; all keys of a trie have the same length and differ. `memo`: of this key and value alone; depth -1 before the first time. */
export type TrieEntry = readonly [key: Uint8Array, value: Uint8Array, memo?: LeafMemo];

/** Length of every hash of the order-book trie, bytes. */
const ROOT_BYTES = 8;
/** Root of a pair that never had an order: not a hash. */
export const NO_ROOT: Uint8Array = new Uint8Array(ROOT_BYTES);
/** Root of a pair whose orders are all gone: the hash of the empty node `00`. */
export const EMPTY_ROOT: Uint8Array = fromHex("94f6d9cdd1ea8248");

const LEAF = 0x40;
const BRANCH_WITHOUT_VALUE = 0x80;
/** Nibbles that fit in the first byte of a node header. */
const HEADER_NIBBLES = 63;

/** Blake2b with an 8-byte digest, which is a parameter of the hash and not a cut (RFC 7693). */
export const blake2b64 = (bytes: Uint8Array): Uint8Array => blake2b(bytes, { dkLen: ROOT_BYTES });

/** True for the two roots that say "no orders". */
export const saysNoOrders = (root: Uint8Array): boolean => equalBytes(root, NO_ROOT) || equalBytes(root, EMPTY_ROOT);

/**
 * Root of Substrate's state trie, layout V0, base 16, no extension nodes, over Blake2b-64 (reference p2p-wire.md
 * section 10). The order of `entries` does not matter.
 */
export function trieRoot(entries: readonly TrieEntry[]): Uint8Array {
  if (entries.length === 0) return EMPTY_ROOT;
  const leaves = entries.map(([key, value, memo = { depth: -1, ref: NO_ROOT }]): Leaf => ({ nibbles: toNibbles(key), value, memo }));
  return blake2b64(encodeNode(leaves, 0));
}

type Leaf = { readonly nibbles: Uint8Array; readonly value: Uint8Array; readonly memo: LeafMemo };

/** The node that holds all `leaves`, which agree in their first `depth` nibbles. */
function encodeNode(leaves: readonly Leaf[], depth: number): Uint8Array {
  const [first] = leaves;
  if (first === undefined) throw new RangeError("trie: node without leaves");
  if (leaves.length === 1) {
    const path = first.nibbles.subarray(depth);
    return concatBytes(header(LEAF, path), compact(first.value.length), first.value);
  }
  const fork = forkDepth(leaves, first, depth);
  const children: Leaf[][] = Array.from({ length: 16 }, () => []);
  for (const leaf of leaves) children[nibbleAt(leaf, fork)]?.push(leaf);
  let bitmap = 0;
  const refs: Uint8Array[] = [];
  children.forEach((below, nibble) => {
    if (below.length === 0) return;
    bitmap |= 1 << nibble;
    const ref = refOf(below, fork + 1);
    refs.push(compact(ref.length), ref);
  });
  const path = first.nibbles.subarray(depth, fork);
  return concatBytes(header(BRANCH_WITHOUT_VALUE, path), new Uint8Array([bitmap & 0xff, bitmap >> 8]), ...refs);
}

/** How a branch refers to the node that holds all `leaves`. */
function refOf(leaves: readonly Leaf[], depth: number): Uint8Array {
  const [first] = leaves;
  if (leaves.length === 1 && first?.memo.depth === depth) return first.memo.ref;
  const encoded = encodeNode(leaves, depth);
  const ref = encoded.length < ROOT_BYTES ? encoded : blake2b64(encoded);
  if (leaves.length === 1 && first) Object.assign(first.memo, { depth, ref });
  return ref;
}

/** First nibble at which the leaves differ. */
function forkDepth(leaves: readonly Leaf[], first: Leaf, depth: number): number {
  let fork = depth;
  while (leaves.every((leaf) => nibbleAt(leaf, fork) === nibbleAt(first, fork))) fork++;
  return fork;
}

function nibbleAt(leaf: Leaf, index: number): number {
  const nibble = leaf.nibbles[index];
  if (nibble === undefined) throw new RangeError("trie: equal keys or keys of different length");
  return nibble;
}

function toNibbles(key: Uint8Array): Uint8Array {
  const nibbles = new Uint8Array(key.length * 2);
  key.forEach((byte, i) => {
    nibbles[2 * i] = byte >> 4;
    nibbles[2 * i + 1] = byte & 0x0f;
  });
  return nibbles;
}

/** Node kind and count of nibbles, then the nibbles, two per byte; an odd count puts the first one alone in front. */
function header(kind: number, nibbles: Uint8Array): Uint8Array {
  const count = nibbles.length;
  const out: number[] = [kind | Math.min(count, HEADER_NIBBLES)];
  if (count >= HEADER_NIBBLES) {
    let rest = count - HEADER_NIBBLES;
    for (; rest >= 255; rest -= 255) out.push(255);
    out.push(rest);
  }
  let i = count % 2;
  if (i === 1) out.push(nibbles[0] ?? 0);
  for (; i < count; i += 2) out.push(((nibbles[i] ?? 0) << 4) | (nibbles[i + 1] ?? 0));
  return Uint8Array.from(out);
}

/** SCALE compact integer below 2^30. */
function compact(n: number): Uint8Array {
  if (n < 1 << 6) return new Uint8Array([n << 2]);
  if (n < 1 << 14) return new Uint8Array([((n << 2) | 1) & 0xff, n >> 6]);
  const word = ((n << 2) | 2) >>> 0;
  return new Uint8Array([word & 0xff, (word >>> 8) & 0xff, (word >>> 16) & 0xff, word >>> 24]);
}
