import { blake2b } from "@noble/hashes/blake2.js";
import { ByteWriter } from "../utxo/byteWriter.ts";

/** One variant of Equihash (Zcash protocol specification 7.6.1): `n` bits, `k` rounds, and the first 8 bytes of the hash's personalization. */
export type EquihashParams = { readonly n: number; readonly k: number; readonly person: string };

/** Bits of one index, and bits that must collide in each round less one. */
const indexBits = ({ n, k }: EquihashParams): number => n / (k + 1) + 1;

/** The 2^k indices, packed big-endian without gaps; null when the length is another. */
function unpackIndices(solution: Uint8Array, params: EquihashParams): readonly number[] | null {
  const bits = indexBits(params);
  const count = 2 ** params.k;
  if (solution.length * 8 !== count * bits) return null;
  const indices: number[] = [];
  let held = 0;
  let value = 0;
  for (const byte of solution) {
    value = value * 256 + byte;
    held += 8;
    while (held >= bits) {
      held -= bits;
      const unit = 2 ** held;
      indices.push(Math.floor(value / unit));
      value %= unit;
    }
  }
  return indices;
}

/**
 * Strings of `n` bits that belong to the indices over one header, one after another. Each BLAKE2b output holds as many
 * as fit into 512 bits.
 */
function stringsOf(input: Uint8Array, indices: readonly number[], { n, k, person }: EquihashParams): Uint8Array {
  const perHash = Math.floor(512 / n);
  const bytes = n / 8;
  const ascii = Uint8Array.from(person, (c) => c.charCodeAt(0));
  const personalization = new ByteWriter(16).bytes(ascii).u32(n).u32(k).done();
  const base = blake2b.create({ dkLen: perHash * bytes, personalization }).update(input);
  const group = new Uint8Array(4);
  const view = new DataView(group.buffer);
  const strings = new Uint8Array(indices.length * bytes);
  for (const [i, index] of indices.entries()) {
    view.setUint32(0, Math.floor(index / perHash), true);
    const hash = base.clone().update(group).digest();
    const at = (index % perHash) * bytes;
    strings.set(hash.subarray(at, at + bytes), i * bytes);
  }
  return strings;
}

/** Whether the first `bits` bits of the string are zero. */
function beginsWithZeros(string: Uint8Array, bits: number): boolean {
  const whole = Math.floor(bits / 8);
  for (let i = 0; i < whole; i++) if (string[i] !== 0) return false;
  return bits % 8 === 0 || (string[whole] ?? 0) >> (8 - (bits % 8)) === 0;
}

/**
 * Whether the solution is one for these bytes: all indices different, in each round the left half begins with the
 * smaller index and both halves collide in the next bits, and all strings together give zero.
 *
 * @param input    the header up to and with its nonce
 * @param solution the packed indices; another length than the parameters ask for is no solution
 */
export function isEquihashSolution(input: Uint8Array, solution: Uint8Array, params: EquihashParams): boolean {
  const { n, k } = params;
  const indices = unpackIndices(solution, params);
  if (indices === null || new Set(indices).size !== indices.length) return false;
  const bytes = n / 8;
  const roundBits = indexBits(params) - 1;
  let row = stringsOf(input, indices, params);
  for (let round = 1; round <= k; round++) {
    // The last round collides in all that is left, which is twice as much.
    const zeros = round === k ? n : round * roundBits;
    const span = 2 ** (round - 1);
    const next = new Uint8Array(row.length / 2);
    for (let i = 0; i * 2 * span < indices.length; i++) {
      const [left = 0, right = 0] = [indices[2 * i * span], indices[(2 * i + 1) * span]];
      if (left >= right) return false;
      const mixed = next.subarray(i * bytes, (i + 1) * bytes);
      for (let b = 0; b < bytes; b++) mixed[b] = (row[2 * i * bytes + b] ?? 0) ^ (row[(2 * i + 1) * bytes + b] ?? 0);
      if (!beginsWithZeros(mixed, zeros)) return false;
    }
    row = next;
  }
  return true;
}
