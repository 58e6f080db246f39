import fc from "fast-check";
import { expect, test } from "vitest";
import { resendPauseSec } from "./resendPause.ts";

const SEED = 20_261_122;

/** When a message goes out within a wait, seconds after its begin, if nobody answers. */
function triesIn(firstSec: number, waitSec: number): readonly number[] {
  const at: number[] = [0];
  for (let now = 0, n = 0; ; n++) {
    now += resendPauseSec(firstSec, n, waitSec - now);
    if (now > waitSec) return at;
    at.push(now);
  }
}

test("of KDF's 690 s a message uses all: doubled pauses first, and more and more tries towards the end", () => {
  expect(triesIn(15, 690).map(Math.round)).toEqual([0, 15, 45, 105, 225, 341, 428, 494, 543, 580, 607, 628, 643, 658, 673, 688]);
});

test("a wait that is over, or is hours long, is spoken into every four minutes", () => {
  expect([0, 1, 2, 3, 4, 5, 60].map((n) => resendPauseSec(15, n, -1))).toEqual([15, 30, 60, 120, 240, 240, 240]);
  expect(resendPauseSec(15, 30, 7_000)).toBe(240);
});

test("whatever the interval and the wait, no pause is shorter than the one or longer than a quarter of what is left", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 900 }),
      fc.nat(2_000),
      fc.integer({ min: -10_000, max: 100_000 }),
      (firstSec, repeated, leftSec) => {
        const pause = resendPauseSec(firstSec, repeated, leftSec);
        expect(pause).toBeGreaterThanOrEqual(firstSec);
        expect(pause).toBeLessThanOrEqual(Math.max(firstSec, 240, 0));
        if (leftSec > 0) expect(pause).toBeLessThanOrEqual(Math.max(firstSec, leftSec / 4));
      },
    ),
    { seed: SEED },
  );
});

test("every wait of the swap gets at least ten tries, and one within the last two intervals", () => {
  for (const waitSec of [180, 690, 4_770]) {
    const tries = triesIn(15, waitSec);
    expect(tries.length).toBeGreaterThanOrEqual(9);
    expect(waitSec - (tries.at(-1) ?? 0)).toBeLessThanOrEqual(30);
  }
});
