import { concatBytes, parseHex, reversed, toHex } from "../util/bytes.ts";
import { err, ok, type Result } from "../util/result.ts";
import { hash256 } from "../utxo/hash.ts";

/** Deepest tree accepted: 2^32 transactions are more than any block holds. */
const MAX_DEPTH = 32;
const HASH_BYTES = 32;
/** Bytes of a node's two children, and so of a transaction that could pass for a node. */
const NODE_BYTES = 2 * HASH_BYTES;

/** Why a Merkle branch proves nothing. */
export type MerkleFault =
  | { readonly kind: "BadBranch"; readonly detail: string }
  /**
   * A node of the tree, or the transaction itself, can be read as both (CVE-2017-12842). `root`: where the branch leads, display order.
   * Where that is the block's root, a server may have told the truth.
   */
  | { readonly kind: "NodeIsTx"; readonly root: string }
  /** The branch leads to another root, display order. */
  | { readonly kind: "OtherRoot"; readonly root: string };

const bad = (detail: string): Result<never, MerkleFault> => err({ kind: "BadBranch", detail });

function parseHash(text: string): Uint8Array | null {
  if (text.length !== 2 * HASH_BYTES) return null;
  const bytes = parseHex(text);
  return bytes.ok ? reversed(bytes.value) : null;
}

/**
 * Whether the 64 bytes of a node are a transaction with one input and one output, of Bitcoin's format: version 4, count 1,
 * outpoint 36, script with its length, sequence 4, count 1, value 8, script with its length, lock time 4. Such a block
 * could prove a transaction that was never in it: the node is mined as a transaction, and its right half is a made-up
 * one's id. One in 2^30 honest nodes looks like it by chance, and the next server's branch does too; so nothing is
 * lost but a proof.
 */
function isTx(node: Uint8Array): boolean {
  const first = node[41] ?? 0xff;
  const spare = NODE_BYTES - 60 - first;
  return node[4] === 1 && spare >= 0 && node[46 + first] === 1 && node[55 + first] === spare;
}

/**
 * Root of the tree in which a transaction stands at `pos` with these neighbours.
 *
 * @param txid   display order
 * @param branch its neighbours from the leaf up, display order, at most 32 (Electrum's `merkle`)
 * @param pos    place in the block, from 0; must fit the branch's depth
 * @returns display order
 */
export function rootOf(txid: string, branch: readonly string[], pos: number): Result<string, MerkleFault> {
  if (branch.length > MAX_DEPTH) return bad("branch too deep");
  if (!Number.isSafeInteger(pos) || pos < 0 || pos >= 2 ** branch.length) return bad("position outside the tree");
  let node = parseHash(txid);
  if (!node) return bad("not a transaction id");
  let place = pos;
  let holdsTx = false;
  for (const text of branch) {
    const other = parseHash(text);
    if (!other) return bad("not a hash");
    const both: Uint8Array = place % 2 === 0 ? concatBytes(node, other) : concatBytes(other, node);
    holdsTx ||= isTx(both);
    node = hash256(both);
    place = Math.floor(place / 2);
  }
  const root = toHex(reversed(node));
  return holdsTx ? err({ kind: "NodeIsTx", root }) : ok(root);
}

/** A claim that a transaction is in a block. */
export type Inclusion = {
  /** Display order; the caller has worked it out from the transaction's bytes. */
  readonly txid: string;
  /** Bytes of the transaction without witnesses: what the id is the hash of. */
  readonly strippedBytes: number;
  readonly branch: readonly string[];
  readonly pos: number;
};

/**
 * Checks the claim against the Merkle root of a header (display order). A transaction of 64 bytes is refused: it may be
 * a node of the tree whose halves were chosen to look like one (CVE-2017-12842); no wallet makes them.
 */
export function checkInclusion(claim: Inclusion, merkleRoot: string): Result<null, MerkleFault> {
  const climbed = rootOf(claim.txid, claim.branch, claim.pos);
  let root: string;
  if (climbed.ok) root = climbed.value;
  else if (climbed.error.kind === "NodeIsTx") root = climbed.error.root;
  else return climbed;
  if (root !== merkleRoot) return err({ kind: "OtherRoot", root });
  return climbed.ok && claim.strippedBytes !== NODE_BYTES ? ok(null) : err({ kind: "NodeIsTx", root });
}
