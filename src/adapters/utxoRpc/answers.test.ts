import { expect, test } from "vitest";
import { parseFeeRate, parseHeader, parseMempool, parseNotarized, parseRawBlock, parseUtxoScan } from "./answers.ts";

test("a fee rate is rounded up, and nothing, zero or less is no estimate", () => {
  expect(parseFeeRate({ feerate: "0.0000100001" }, 8)).toEqual({ ok: true, value: 1_001n });
  for (const none of [{ errors: [] }, { feerate: -1 }, { feerate: 0 }, -1])
    expect(parseFeeRate(none, 8)).toEqual({ ok: true, value: null });
  for (const nothing of [{ feerate: { valueOf: 1, toString: 1 } }, [{ valueOf: 1, toString: 1 }]])
    expect(parseFeeRate(nothing, 8)).toEqual({ ok: false, error: { detail: "not an amount" } });
});

test("heights and times outside their range are refused", () => {
  const good = { hash: "ab".repeat(32), height: 5, time: 1, previousblockhash: "cd".repeat(32) };
  expect(parseHeader(good).ok).toBe(true);
  for (const bad of [
    { height: -1 },
    { height: 1.5 },
    { height: 2 ** 40 },
    { time: 2 ** 33 },
    { hash: "AB" },
    { previousblockhash: undefined },
  ])
    expect(parseHeader({ ...good, ...bad }).ok).toBe(false);
  expect(parseNotarized({ notarized: "7" }).ok).toBe(false);
  const notarized = (hash: unknown): unknown => parseNotarized({ notarized: 7, notarizedhash: hash });
  const hash = "ab".repeat(32);
  expect([notarized(hash), notarized("00".repeat(32)), notarized(undefined)]).toEqual(
    [hash, null, null].map((known) => ({ ok: true, value: { height: 7, hash: known } })),
  );
});

test("lists and blobs beyond their limits are refused", () => {
  expect(parseMempool(Array.from({ length: 400_001 }, () => "ab".repeat(32))).ok).toBe(false);
  expect(parseRawBlock("00".repeat(35_000_001)).ok).toBe(false);
  expect(parseRawBlock("zz").ok).toBe(false);
});

test("a txid of an earlier answer is not looked at again; anything else is", () => {
  const known = "ab".repeat(32);
  const isKnown = (id: string): boolean => id === known;
  expect(parseMempool([known, "cd".repeat(32)], isKnown)).toEqual({ ok: true, value: [known, "cd".repeat(32)] });
  for (const bad of ["AB".repeat(32), "cd".repeat(31), 7, null, [known]]) expect(parseMempool([known, bad], isKnown).ok).toBe(false);
});

test("a scan that does not say at which block it was made is refused", () => {
  expect(parseUtxoScan(8)({ success: true, unspents: [], total_amount: 0 }).ok).toBe(false);
});
