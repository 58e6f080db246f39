import { concatBytes, fromHex, reversed, toHex } from "../../core/util/bytes.ts";
import { hash256 } from "../../core/utxo/hash.ts";

/** Hashes beside the way from one leaf to the root, from the bottom up; all in display order. */
export type MerkleProof = { readonly branch: readonly string[]; readonly root: string };

/** Proof for the leaf at `position` (0 to ids.length - 1) of a Bitcoin Merkle tree: an odd level repeats its last hash. */
export function merkleProof(ids: readonly string[], position: number): MerkleProof {
  let level = ids.map((id) => reversed(fromHex(id)));
  const branch: string[] = [];
  for (let at = position; level.length > 1; at >>= 1) {
    const beside = level[at ^ 1] ?? level[at];
    if (!beside) throw new Error(`no leaf ${position} among ${ids.length}`);
    branch.push(toHex(reversed(beside)));
    const next: Uint8Array[] = [];
    for (let i = 0; i < level.length; i += 2) {
      const left = level[i] ?? new Uint8Array(32);
      next.push(hash256(concatBytes(left, level[i + 1] ?? left)));
    }
    level = next;
  }
  return { branch, root: toHex(reversed(level[0] ?? new Uint8Array(32))) };
}
