import { sha256 } from "@noble/hashes/sha2.js";
import { expect, test } from "vitest";
import { SaidBefore } from "./saidBefore.ts";

const KEY = Uint8Array.from({ length: 33 }, (_, n) => n);
const digest = (n: number): Uint8Array => sha256(Uint8Array.of(n >> 16, n >> 8, n));

test("what was said is known as its key's for one generation at least, and no longer than two", () => {
  const said = new SaidBefore(1_000);
  const add = (from: number, to: number): void => {
    for (let n = from; n < to; n++) said.add(KEY, digest(n));
  };
  const known = (from: number, to: number): number =>
    Array.from({ length: to - from }, (_, n) => said.has(KEY, digest(from + n))).filter(Boolean).length;
  add(0, 500);
  expect([known(0, 500), known(500, 1_000)]).toEqual([500, 0]);
  expect(said.has(sha256(KEY), digest(1))).toBe(false);
  add(500, 1_500);
  expect(known(0, 1_500)).toBe(1_500);
  add(1_500, 2_001);
  expect([known(0, 1_000), known(1_000, 2_001)]).toEqual([0, 1_001]);
});

test("of what was not said one in fifty is taken for said at most, however much was", () => {
  const said = new SaidBefore();
  for (let n = 0; n < 200_000; n++) said.add(KEY, digest(n));
  const wrong = Array.from({ length: 5_000 }, (_, n) => said.has(KEY, digest(1_000_000 + n))).filter(Boolean).length;
  expect(wrong).toBeLessThan(100);
});
