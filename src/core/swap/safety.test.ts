import fc from "fast-check";
import { expect, test } from "vitest";
import { gte, lt, lte, rational, sub } from "../money/rational.ts";
import { findProfile, PROFILES } from "../network/networkProfile.ts";
import { blocksWithin, lockGapSec, revealMarginSec, valueCap, valueConfirmations } from "./safety.ts";

const RULES = findProfile("spec")?.safety ?? PROFILES[0]?.safety;
if (!RULES) throw new Error("no rules");

const SEED = 20_261_121;
const amounts = fc.bigInt({ min: 1n, max: 10n ** 16n });
const rewards = fc.bigInt({ min: 10_000n, max: 10n ** 16n });

test("whoever undoes a payment gives up at least its value in block rewards, and one block less would not do", () => {
  fc.assert(
    fc.property(amounts, rewards, fc.integer({ min: 1, max: 20 }), (value, reward, factor) => {
      const n = valueConfirmations(rational(value), rational(reward), factor);
      expect(BigInt(n) * reward).toBeGreaterThanOrEqual(value * BigInt(factor));
      if (n > 1) expect(BigInt(n - 1) * reward).toBeLessThan(value * BigInt(factor));
    }),
    { seed: SEED },
  );
});

test("the cap of a number of confirmations is the greatest amount that asks for no more", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1_000 }), amounts, fc.integer({ min: 1, max: 20 }), (n, reward, factor) => {
      const cap = valueCap(n, rational(reward), factor);
      expect(valueConfirmations(cap, rational(reward), factor)).toBe(n);
      const more = { n: cap.n * 10n ** 20n + 1n, d: cap.d * 10n ** 20n };
      expect(valueConfirmations(more, rational(reward), factor)).toBe(n + 1);
    }),
    { seed: SEED },
  );
  expect(lte(valueCap(0, rational(50n), 1), rational(0n))).toBe(true);
});

test("an amount beyond counting asks for more confirmations than any window holds, not for fewer", () => {
  expect(valueConfirmations(rational(10n ** 40n), rational(1n), 1)).toBe(Number.MAX_SAFE_INTEGER);
  expect(valueConfirmations(rational(1n, 10n ** 30n), rational(50n), 1)).toBe(1);
});

/** Chance that fewer than n blocks come within so many average block times (Poisson). */
function fewerThan(n: number, averages: number): number {
  let [term, sum] = [Math.exp(-averages), 0];
  for (let k = 0; k < n; k++) {
    sum += term;
    term *= averages / (k + 1);
  }
  return sum;
}

test("as many confirmations fit into a window as come in it all but once in twenty: no more, and not fewer", () => {
  for (const averages of [3, 5.2, 10.4, 20.8, 52, 100, 208]) {
    const fits = blocksWithin(averages * 60, 180);
    expect(fewerThan(fits, averages), `${fits} in ${averages}`).toBeLessThan(0.055);
    expect(fewerThan(fits + 1, averages), `${fits + 1} in ${averages}`).toBeGreaterThan(0.04);
  }
});

test("one block fits exactly when a slow one does, and none into nothing", () => {
  expect([blocksWithin(450, 450), blocksWithin(449, 450), blocksWithin(0, 450), blocksWithin(-5, 450)]).toEqual([1, 0, 0, 0]);
});

test("the margins on Bitcoin, Litecoin and a chain of one-minute blocks are those the document states", () => {
  expect([1_800, 450, 180].map((slow) => revealMarginSec(RULES, slow))).toEqual([1_920, 570, 300]);
  // Six average blocks of lag, a slow one for the refund, a slow one for the claim, and the grace.
  expect(lockGapSec(RULES, 1_800, 1_800)).toBe(3_600 + 1_800 + 1_800 + 120);
  expect(lockGapSec(RULES, 450, 180)).toBe(900 + 450 + 180 + 120);
});

test("the fee ceiling is the greatest power of two at which the least trade of a coin with a fixed fee still pays its claim", () => {
  // The least volume is ten spend fees; a contract of it pays up to `factor` of them and must leave something.
  const least = rational(10n);
  const left = sub(least, rational(BigInt(RULES.feeCeilingFactor)));
  expect(gte(left, rational(1n))).toBe(true);
  expect(lt(sub(least, rational(BigInt(2 * RULES.feeCeilingFactor))), rational(1n))).toBe(true);
});
