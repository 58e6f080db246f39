import { expect, test } from "vitest";
import { parseAmount, parseFeeRate, parseHeader, parseMempool, parseNotarized, parseRawBlock, parseUtxoScan } from "./answers.ts";

test.each<[unknown, bigint | null]>([
  [0.1, 10_000_000n],
  [1e-8, 1n],
  [20_999_999.9769, 2_099_999_997_690_000n],
  ["0.00000001", 1n],
  ["92233720368.54775807", 9_223_372_036_854_775_807n],
  ["92233720368.54775808", null],
  ["1e-8", 1n],
  ["1.5e-7", 15n],
  ["0.123456789", null],
  [90_071_992.54740994, null],
  [Number.NaN, null],
  [-1, null],
  ["-1", null],
  ["1e99", null],
  ["0x10", null],
  [{}, null],
])("the amount %s is read exactly or not at all", (value, expected) => {
  const parsed = parseAmount(value, 8, "exact");
  expect(parsed.ok ? parsed.value : null).toBe(expected);
});

test("a fee rate is rounded up, and nothing, zero or less is no estimate", () => {
  expect(parseFeeRate({ feerate: "0.0000100001" }, 8)).toEqual({ ok: true, value: 1_001n });
  for (const none of [{ errors: [] }, { feerate: -1 }, { feerate: 0 }, -1])
    expect(parseFeeRate(none, 8)).toEqual({ ok: true, value: null });
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
});

test("lists and blobs beyond their limits are refused", () => {
  expect(parseMempool(Array.from({ length: 400_001 }, () => "ab".repeat(32))).ok).toBe(false);
  expect(parseRawBlock("00".repeat(32_000_001)).ok).toBe(false);
  expect(parseRawBlock("zz").ok).toBe(false);
});

test("a scan that does not say at which block it was made is refused", () => {
  expect(parseUtxoScan(8)({ success: true, unspents: [], total_amount: 0 }).ok).toBe(false);
});
