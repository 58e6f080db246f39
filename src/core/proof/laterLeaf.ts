import { concatBytes, parseHex, reversed } from "../util/bytes.ts";
import { hash256 } from "../utxo/hash.ts";

/**
 * What the branch of a transaction proves of those behind it: a tree with nothing to the right of a node has the node itself there
 * (Bitcoin's way with odd numbers), so a neighbour on the right that differs stands over further transactions. Beginning at 0 and going
 * from each to the one that is told, whoever asks comes to the last transaction of a block without having to believe anybody.
 *
 * @param txid   display order
 * @param branch one that was checked against the block's header (`checkInclusion`)
 * @param pos    of the transaction in the block, the one that was told before or 0
 * @returns a position in the block behind it, the farthest one that is proven; null: it is the last
 */
export function laterLeaf(txid: string, branch: readonly string[], pos: number): number | null {
  let node = nodeOf(txid);
  let later: number | null = null;
  for (const [level, text] of branch.entries()) {
    const other = nodeOf(text);
    const place = Math.floor(pos / 2 ** level);
    if (place % 2 === 0 && !node.every((byte, i) => byte === other[i])) later = (place + 1) * 2 ** level;
    node = hash256(place % 2 === 0 ? concatBytes(node, other) : concatBytes(other, node));
  }
  return later;
}

function nodeOf(text: string): Uint8Array {
  const bytes = parseHex(text);
  if (!bytes.ok) throw new Error("not a hash");
  return reversed(bytes.value);
}
