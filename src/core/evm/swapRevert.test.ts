import { readFileSync } from "node:fs";
import { keccak_256 } from "@noble/hashes/sha3.js";
import { expect, test } from "vitest";
import { swapRevertReason } from "./swapRevert.ts";

type Item = { readonly type: string; readonly name?: string; readonly inputs?: readonly unknown[] };

test("every error of the swap contract has its sentence, which begins with its name", () => {
  const file = new URL("../../../contracts/build/SwapnodeSwap.json", import.meta.url);
  const { abi } = JSON.parse(readFileSync(file, "utf8")) as { readonly abi: readonly Item[] };
  const errors = abi.filter(({ type }) => type === "error");
  expect(errors).toHaveLength(10);
  for (const { name = "", inputs } of errors) {
    expect(inputs).toEqual([]);
    const selector = keccak_256(Buffer.from(`${name}()`)).slice(0, 4);
    expect(swapRevertReason(selector)).toMatch(new RegExp(`^${name}, `));
  }
});

test("other answers have none: nothing, another error, a known one with more behind it", () => {
  expect(swapRevertReason(null)).toBeNull();
  expect(swapRevertReason(new Uint8Array(0))).toBeNull();
  expect(swapRevertReason(Uint8Array.of(8, 0xc3, 0x79, 0xa0))).toBeNull();
  expect(swapRevertReason(Uint8Array.of(0x56, 0x19, 0x38, 0x2c, 0))).toBeNull();
});
