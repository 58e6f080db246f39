import { expect, test } from "vitest";
import { fromUnits } from "../../core/money/rational.ts";
import { buildErrorToFunds, type RateRule, stageRate } from "./coinFees.ts";

const fixed = (perKb: bigint, wholeKb = false): RateRule => ({
  feePolicy: { kind: "fixed", rate: { perKb, wholeKb } },
  feeVolatilityPercent: 0.5,
});
const dynamic: RateRule = { feePolicy: { kind: "dynamic" }, feeVolatilityPercent: 0.5 };

test("a fixed rate has no margin at any stage and keeps its rounding rule", () => {
  for (const stage of ["start", "order", "preimage", null] as const) {
    expect(stageRate(fixed(1_000n, true), 5_000n, null, stage)).toEqual({ perKb: 1_000n, wholeKb: true });
  }
});

test.each([
  ["start", 100_500n],
  ["order", 101_000n],
  ["preimage", 101_250n],
  [null, 100_000n],
] as const)("a dynamic rate at stage %s is raised by the volatility as KDF raises it", (stage, perKb) => {
  expect(stageRate(dynamic, 100_000n, null, stage).perKb).toBe(perKb);
});

test("the margin is rounded to the nearest unit", () => {
  // 0.5 % of 1500 is 7.5
  expect(stageRate(dynamic, 1_500n, null, "start").perKb).toBe(1_508n);
  expect(stageRate(dynamic, 1_499n, null, "start").perKb).toBe(1_506n);
});

test.each([null, 0n, 999n, 1_000n])("without a useful estimate (%s) the fallback of 1000 counts", (estimate) => {
  expect(stageRate(dynamic, estimate, null, null).perKb).toBe(1_000n);
});

test("no rate is below what the backend relays: a payment nobody relays is a payment nobody sees", () => {
  expect(stageRate(fixed(500n), null, 1_200n, "start").perKb).toBe(1_200n);
  expect(stageRate(dynamic, 1_100n, 5_000n, "order").perKb).toBe(5_000n);
  expect(stageRate(dynamic, 9_000n, 5_000n, null).perKb).toBe(9_000n);
});

test("what cannot be built is said in whole coins: available and required, or the volume and its least", () => {
  const notEnough = buildErrorToFunds("AAA", 8, 90n, { kind: "NotEnough", available: 50n, required: 100n });
  expect(notEnough).toMatchObject({
    kind: "NotSufficientBalance",
    coin: "AAA",
    available: fromUnits(50n, 8),
    required: fromUnits(100n, 8),
  });
  // An empty wallet needs the outputs; what the fee would be nobody knows.
  expect(buildErrorToFunds("AAA", 8, 90n, { kind: "NotEnough", available: 0n, required: 100n })).toMatchObject({
    required: fromUnits(90n, 8),
  });
  expect(buildErrorToFunds("AAA", 8, 90n, { kind: "TooManyInputs", available: 60n, required: 100n })).toMatchObject({
    kind: "NotSufficientBalance",
    available: fromUnits(60n, 8),
  });
  expect(buildErrorToFunds("AAA", 8, 90n, { kind: "OutputBelowDust", value: 5n, dust: 10n })).toEqual({
    kind: "VolumeTooLow",
    coin: "AAA",
    volume: fromUnits(5n, 8),
    threshold: fromUnits(10n, 8),
  });
});
