import { expect, test } from "vitest";
import { bitsOfTarget, targetOfBits } from "./compactTarget.ts";
import type { TargetRule } from "./headerRules.ts";
import { isMark, nextPeriodBits, type TimeMark, targetFits } from "./targetRule.ts";

const DAY_SEC = 86_400;
const BITCOIN = { kind: "period", limitBits: 0x1d00ffff, spanSec: 14 * DAY_SEC, measuredFrom: 0 } as const;
const LITECOIN = { kind: "period", limitBits: 0x1e0fffff, spanSec: 3.5 * DAY_SEC, measuredFrom: 1 } as const;
const CASH = { kind: "smooth", limitBits: 0x1d00ffff } as const;

// Times and targets of the chains' own blocks, as their daemons' unit tests have them.
test.each([
  ["Bitcoin 32256", BITCOIN, 0x1d00ffff, 1_261_130_161, 1_262_152_739, 0x1d00d86a],
  ["Bitcoin 2016, at the limit", BITCOIN, 0x1d00ffff, 1_231_006_505, 1_233_061_996, 0x1d00ffff],
  ["Bitcoin 68544, four times as hard", BITCOIN, 0x1c05a3f4, 1_279_008_237, 1_279_297_671, 0x1c0168fd],
  ["Bitcoin, four times as easy", BITCOIN, 0x1c387f6f, 1_263_163_443, 1_269_211_443, 0x1d00e1fd],
  ["Litecoin 280224", LITECOIN, 0x1c0ac141, 1_358_118_740, 1_358_378_777, 0x1c093f8d],
])("%s: the target after a period", (_name, rule, bits, fromSec, toSec, next) => {
  expect(nextPeriodBits(bits, toSec - fromSec, rule)).toBe(next);
});

const at = (height: number, bits: number, timeSec: number, marks: readonly TimeMark[] = []) => ({
  height,
  headers: [{ bits, timeSec }],
  marks,
});

test("within a period every header has the same target", () => {
  for (const height of [2_015, 2_016, 4_000]) {
    expect(targetFits(0x1c0ac141, at(height, 0x1c0ac141, 1), BITCOIN)).toBe(true);
  }
  expect(targetFits(0x1c0ac140, at(2_016, 0x1c0ac141, 1), BITCOIN)).toBe(false);
  expect(targetFits(0x1c0ac142, at(4_000, 0x1c0ac141, 1), BITCOIN)).toBe(false);
});

test("at a period's end the target is exactly what the marked time gives, to the last bit", () => {
  const end = at(32_255, 0x1d00ffff, 1_262_152_739, [{ height: 30_240, timeSec: 1_261_130_161 }]);
  expect(targetFits(0x1d00d86a, end, BITCOIN)).toBe(true);
  for (const bits of [0x1d00d869, 0x1d00d86b, 0x1d00ffff]) expect(targetFits(bits, end, BITCOIN)).toBe(false);
  const lite = at(280_223, 0x1c0ac141, 1_358_378_777, [{ height: 278_207, timeSec: 1_358_118_740 }]);
  expect([targetFits(0x1c093f8d, lite, LITECOIN), targetFits(0x1c0ac141, lite, LITECOIN)]).toEqual([true, false]);
});

test("at a period's end without its mark the target moves by a factor of four at most, either way", () => {
  const end = at(32_255, 0x1c05a3f4, 1_262_152_739, [{ height: 28_224, timeSec: 1 }]);
  const target = targetOfBits(0x1c05a3f4) ?? 0n;
  expect(targetFits(0x1c0168fd, end, BITCOIN)).toBe(true);
  expect(targetFits(bitsOfTarget(target / 4n - (target >> 12n)), end, BITCOIN)).toBe(false);
  expect(targetFits(bitsOfTarget(target * 4n), end, BITCOIN)).toBe(true);
  expect(targetFits(bitsOfTarget(target * 4n + (target >> 10n)), end, BITCOIN)).toBe(false);
});

test("marks are the headers that periods are measured from", () => {
  const marks = (rule: TargetRule | null) => [0, 1, 2_015, 2_016, 4_031, 4_032].filter((h) => isMark(h, rule));
  expect(marks(BITCOIN)).toEqual([0, 2_016, 4_032]);
  expect(marks(LITECOIN)).toEqual([0, 2_015, 4_031]);
  expect(marks(CASH)).toEqual([]);
  expect(marks(null)).toEqual([]);
});

test("where targets move smoothly, none is above four times the easiest of the last hundred", () => {
  const easy = { bits: 0x1c0fffff, timeSec: 1 };
  const hard = { bits: 0x1b0fffff, timeSec: 1 };
  const after = (...headers: readonly (typeof easy)[]) => ({ height: 700_000, headers, marks: [] });
  expect(targetFits(0x1c3ffffc, after(easy, hard, hard), CASH)).toBe(true);
  expect(targetFits(0x1c3ffffd, after(easy, hard, hard), CASH)).toBe(false);
  const hundred = new Array<typeof easy>(100).fill(hard);
  expect(targetFits(0x1b3ffffc, after(easy, ...hundred), CASH)).toBe(true);
  expect(targetFits(0x1b3ffffd, after(easy, ...hundred), CASH)).toBe(false);
  expect(targetFits(0x170fffff, after(easy), CASH)).toBe(true);
});

test("no target is above the chain's limit, and none means nothing", () => {
  for (const rule of [BITCOIN, CASH]) {
    expect(targetFits(0x1d00ffff, null, rule)).toBe(true);
    expect(targetFits(0x1d010000, null, rule)).toBe(false);
    expect(targetFits(0, null, rule)).toBe(false);
    expect(targetFits(0x1d010000, at(2_016, 0x1d010000, 1), rule)).toBe(false);
  }
  expect(targetFits(0, null, null)).toBe(true);
});
