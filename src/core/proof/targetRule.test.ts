import fc from "fast-check";
import { expect, test } from "vitest";
import { bitsOfTarget, targetOfBits } from "./compactTarget.ts";
import type { TargetRule } from "./headerRules.ts";
import { isMark, nextPeriodBits, type TimeMark, targetFits } from "./targetRule.ts";

const DAY_SEC = 86_400;
const BITCOIN = { kind: "period", limitBits: 0x1d00ffff, spanSec: 14 * DAY_SEC, measuredFrom: 0 } as const;
const LITECOIN = { kind: "period", limitBits: 0x1e0fffff, spanSec: 3.5 * DAY_SEC, measuredFrom: 1 } as const;
const ASERT = { kind: "time", spacingSec: 600, halfLifeSec: 2 * DAY_SEC, sinceSec: 1_605_528_000 } as const;
const CASH = { kind: "smooth", limitBits: 0x1d00ffff, easing: ASERT } as const;
const DOGE = { kind: "smooth", limitBits: 0x1e0fffff, easing: { kind: "step", percent: 150 } } as const;

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

const NOW = 1_790_000_000;
/** ASERT's target for a block after one of a time, so many blocks above the anchor (BCH, "aserti3-2d"). */
function asert(anchor: bigint, heightsAbove: number, tookSec: number): bigint {
  const exponent = (BigInt(tookSec - 600 * (heightsAbove + 1)) * 65_536n) / BigInt(2 * DAY_SEC);
  const shifts = exponent >> 16n;
  const frac = exponent - (shifts << 16n);
  const factor = 65_536n + ((195_766_423_245_049n * frac + 971_821_376n * frac ** 2n + 5_127n * frac ** 3n + 2n ** 47n) >> 48n);
  return (shifts < 0n ? (anchor * factor) >> -shifts : (anchor * factor) << shifts) >> 16n || 1n;
}
/** DigiShield's target after a block that took so long. */
function digishield(last: bigint, tookSec: number): bigint {
  const modulated = 60 + Math.trunc((tookSec - 60) / 8);
  return (last * BigInt(Math.min(90, Math.max(45, modulated)))) / 60n;
}
const anyGap = fc.oneof(fc.integer({ min: -5_000, max: 9_000 }), fc.integer({ min: 0, max: 30 * DAY_SEC }));

test("whatever its blocks' times, no target that a chain gives itself is refused", () => {
  const most = (rule: TargetRule): bigint => targetOfBits(rule.limitBits) ?? 0n;
  const least = (a: bigint, b: bigint): bigint => (a < b ? a : b);
  fc.assert(
    fc.property(fc.array(anyGap, { minLength: 2, maxLength: 60 }), (gaps) => {
      const anchor = targetOfBits(0x18030000) ?? 0n;
      const [cash, doge] = [[{ bits: bitsOfTarget(anchor), timeSec: NOW }], [{ bits: bitsOfTarget(anchor), timeSec: NOW }]];
      for (const [i, gap] of gaps.entries()) {
        const timeSec = (cash.at(-1)?.timeSec ?? 0) + gap;
        const took = (cash.at(-1)?.timeSec ?? 0) - NOW + 600;
        const next = bitsOfTarget(least(asert(anchor, i, took), most(CASH)));
        // Four times the easiest of a hundred is the other rule: a month without a block is beyond it.
        const isEasier = (targetOfBits(next) ?? 0n) > 4n * (targetOfBits(cash.at(-1)?.bits ?? 0) ?? 0n);
        if (i > 0 && !isEasier) expect(targetFits(next, { height: 900_000 + i, headers: cash, marks: [] }, CASH)).toBe(true);
        cash.push({ bits: next, timeSec });
        const last = doge.at(-1) ?? { bits: 0, timeSec: 0 };
        const took60 = last.timeSec - (doge.at(-2)?.timeSec ?? last.timeSec - 60);
        const shield = bitsOfTarget(least(digishield(targetOfBits(last.bits) ?? 0n, took60), most(DOGE)));
        expect(targetFits(shield, { height: 5_000_000 + i, headers: doge, marks: [] }, DOGE)).toBe(true);
        doge.push({ bits: shield, timeSec });
      }
    }),
  );
});

test.each([
  ["two days for each doubling", CASH, 19],
  ["half as easy again with each block", DOGE, 2],
])("servers who all lie need miners for the blocks they make up: %s", (_what, rule, blocks) => {
  const real = targetOfBits(0x18030000) ?? 0n;
  const headers = Array.from({ length: 10 }, (_, i) => ({ bits: 0x18030000, timeSec: NOW + 60 * i }));
  // Work of twenty blocks as easy as they are let be, each as late as it may be, in hundredths of a real block's.
  let work = 0n;
  for (let i = 0; i < 20; i++) {
    const before = { height: 900_000 + i, headers, marks: [] };
    const last = headers.at(-1) ?? { bits: 0, timeSec: 0 };
    const target = targetOfBits(last.bits) ?? 0n;
    const easiest =
      [400n, 200n, 150n, 110n, 104n, 101n, 100n].find((p) => targetFits(bitsOfTarget((target * p) / 100n), before, rule)) ?? 0n;
    const bits = bitsOfTarget((target * easiest) / 100n);
    work += (100n * real) / (targetOfBits(bits) ?? 1n);
    headers.push({ bits, timeSec: last.timeSec + 400 });
  }
  expect(Number(work)).toBeGreaterThan(95 * blocks);
});

test("block times that go to and fro make made-up blocks no easier", () => {
  const headers = [0, 600].map((sec) => ({ bits: 0x18030000, timeSec: NOW + sec }));
  for (let i = 0; i < 50; i++) {
    const last = headers.at(-1) ?? { bits: 0, timeSec: 0 };
    const before = { height: 900_000 + i, headers, marks: [] };
    const target = targetOfBits(last.bits) ?? 0n;
    const easiest = [1_050n, 1_040n, 1_030n, 1_020n, 1_010n, 1_002n, 1_000n, 990n, 980n, 970n, 960n, 950n].find((p) =>
      targetFits(bitsOfTarget((target * p) / 1_000n), before, CASH),
    );
    headers.push({ bits: bitsOfTarget((target * (easiest ?? 900n)) / 1_000n), timeSec: NOW + (i % 2 === 0 ? 10_800 : 600) });
  }
  const [first, last] = [headers[0], headers.at(-1)].map((h) => targetOfBits(h?.bits ?? 0) ?? 0n);
  expect(Number(last) / Number(first)).toBeLessThan(1.06);
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
