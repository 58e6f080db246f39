import { concatBytes, equalBytes, fromHex, reversed } from "../core/util/bytes.ts";
import { hash256 } from "../core/utxo/hash.ts";

/**
 * Merkle root over transaction ids (display order in, hash order out). An odd level repeats its last hash, so two
 * equal hashes in a pair mean the list can be shortened without changing the root (CVE-2012-2459): `mutated`.
 */
export function merkleRoot(ids: readonly string[]): { readonly root: Uint8Array; readonly mutated: boolean } {
  let level = ids.map((id) => reversed(fromHex(id)));
  let mutated = false;
  while (level.length > 1) {
    const next: Uint8Array[] = [];
    for (let i = 0; i < level.length; i += 2) {
      const left = level[i];
      const right = level[i + 1];
      if (!left) break;
      if (right && equalBytes(left, right)) mutated = true;
      next.push(hash256(concatBytes(left, right ?? left)));
    }
    level = next;
  }
  return { root: level[0] ?? new Uint8Array(32), mutated };
}
