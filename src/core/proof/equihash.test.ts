import { blake2b } from "@noble/hashes/blake2.js";
import { expect, test } from "vitest";
import { isEquihashSolution } from "./equihash.ts";

const PARAMS = { n: 96, k: 5, person: "ZcashPoW" };
const INPUT = new Uint8Array([...new TextEncoder().encode("block header"), ...new Uint8Array(32)]);
/** A solution for (96, 5) that Zcash's own tests have. */
const SOLUTION = [
  ...[976, 126621, 100174, 123328, 38477, 105390, 38834, 90500, 6411, 116489, 51107, 129167, 25557, 92292, 38525, 56514],
  ...[1110, 98024, 15426, 74455, 3185, 84007, 24328, 36473, 17427, 129451, 27556, 119967, 31704, 62448, 110460, 117894],
];

function pack(indices: readonly number[], indexBits = 17): Uint8Array {
  let bits = indices.map((i) => i.toString(2).padStart(indexBits, "0")).join("");
  const bytes: number[] = [];
  for (; bits.length > 0; bits = bits.slice(8)) bytes.push(Number.parseInt(bits.slice(0, 8), 2));
  return Uint8Array.from(bytes);
}
const isSolution = (indices: readonly number[], input = INPUT): boolean => isEquihashSolution(input, pack(indices), PARAMS);

/** The solution with what stands in the two places of `span` indices exchanged. */
function swapped(at: number, span: number): readonly number[] {
  const out = [...SOLUTION];
  const left = out.slice(at, at + span);
  const right = out.slice(at + span, at + 2 * span);
  out.splice(at, 2 * span, ...right, ...left);
  return out;
}

test("a known solution is one, for its input and its personalization only", () => {
  expect(isSolution(SOLUTION)).toBe(true);
  expect(isSolution(SOLUTION, INPUT.with(0, 1))).toBe(false);
  expect(isEquihashSolution(INPUT, pack(SOLUTION), { ...PARAMS, person: "BitcoinZ" })).toBe(false);
});

test("halves in the wrong order are refused in every round: otherwise one solution is thousands", () => {
  for (const span of [1, 2, 4, 8, 16]) {
    for (let at = 0; at < 32; at += 2 * span) expect(isSolution(swapped(at, span))).toBe(false);
  }
});

test("an index twice is refused: two equal halves would give zero for nothing", () => {
  const half = SOLUTION.slice(0, 16);
  expect(isSolution([...half, ...half])).toBe(false);
  const [first = 0] = SOLUTION;
  expect(isSolution(new Array<number>(32).fill(first))).toBe(false);
  // In order within each pair, and all strings together give zero.
  expect(isSolution([976, 126621, 976, 126621, ...SOLUTION.slice(4)])).toBe(false);
});

test("strings that do not collide are refused, whichever index was changed", () => {
  for (const [i, index] of SOLUTION.entries()) expect(isSolution(SOLUTION.with(i, index ^ 1))).toBe(false);
  expect(isSolution([...SOLUTION].sort((a, b) => a - b))).toBe(false);
});

test("a solution of another length is none", () => {
  const packed = pack(SOLUTION);
  for (const bytes of [packed.subarray(0, 67), new Uint8Array([...packed, 0]), new Uint8Array(0)]) {
    expect(isEquihashSolution(INPUT, bytes, PARAMS)).toBe(false);
  }
});

/** Parameters so small that every tree can be looked at: 128 strings of 24 bits, of which eight make a solution. */
const SMALL = { n: 24, k: 3, person: "ZcashPoW" };
const ROUND_BITS = 6;

type Node = { readonly indices: readonly number[]; readonly mixed: number };

/** The strings of all indices, worked out apart from the code under test. */
function leaves(input: Uint8Array): readonly Node[] {
  const personalization = Uint8Array.from([...new TextEncoder().encode(SMALL.person), 24, 0, 0, 0, 3, 0, 0, 0]);
  return Array.from({ length: 128 }, (_, index) => {
    const hash = blake2b(Uint8Array.from([...input, Math.floor(index / 21), 0, 0, 0]), { dkLen: 63, personalization });
    const at = (index % 21) * 3;
    return { indices: [index], mixed: ((hash[at] ?? 0) << 16) | ((hash[at + 1] ?? 0) << 8) | (hash[at + 2] ?? 0) };
  });
}
/** All pairs in order whose first bits collide; an index may stand in both. */
function pairs(row: readonly Node[], round: number): readonly Node[] {
  return row.flatMap((left) =>
    row.flatMap((right) => {
      const mixed = left.mixed ^ right.mixed;
      if ((left.indices[0] ?? 0) >= (right.indices[0] ?? 0) || mixed >> (24 - round * ROUND_BITS) !== 0) return [];
      return [{ indices: [...left.indices, ...right.indices], mixed }];
    }),
  );
}

test("of all trees whose halves collide, those are solutions that give zero and have no index twice", () => {
  const seen = { solutions: 0, notZero: 0, twice: 0 };
  for (let n = 0; n < 30; n++) {
    const input = Uint8Array.of(n);
    for (const { indices, mixed } of pairs(pairs(pairs(leaves(input), 1), 2), 3)) {
      const isTwice = new Set(indices).size < indices.length;
      if (mixed === 0) seen[isTwice ? "twice" : "solutions"]++;
      else seen.notZero++;
      expect(isEquihashSolution(input, pack(indices, 7), SMALL), indices.join()).toBe(mixed === 0 && !isTwice);
    }
  }
  expect(seen).toEqual({ solutions: 43, notZero: 3_488, twice: 8 });
});
