import { expect, test } from "vitest";
import { merkleProof } from "../../chain/electrum/merkleProof.ts";
import { laterLeaf } from "./laterLeaf.ts";

const ids = (count: number): readonly string[] => Array.from({ length: count }, (_, i) => (i + 1).toString(16).padStart(64, "0"));

test("from the first transaction on, branches lead to the last one in few steps, however many there are", () => {
  for (const count of [1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 33, 100, 127, 129]) {
    const all = ids(count);
    const steps: number[] = [];
    for (let pos: number | null = 0; pos !== null; pos = laterLeaf(all[pos] ?? "", merkleProof(all, pos).branch, pos)) steps.push(pos);
    expect(steps.at(-1), `of ${count}`).toBe(count - 1);
    expect(steps.length).toBeLessThanOrEqual(1 + Math.ceil(Math.log2(count)));
  }
});
