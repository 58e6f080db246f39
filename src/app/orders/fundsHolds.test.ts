import { expect, test } from "vitest";
import { FakeTradingCoin } from "../../../test/fakes/fakeTradingCoin.ts";
import { rational } from "../../core/money/rational.ts";
import { FundsHolds } from "./fundsHolds.ts";

test("what is held counts in base units: odd fractions of many takers neither add up to more nor to long numbers", () => {
  const holds = new FundsHolds(() => undefined);
  const other = new FakeTradingCoin("BBB");
  for (let i = 0; i < 20; i++) {
    // A coin each: the double would add its locks up exactly, which is what must not happen here.
    const coin = new FakeTradingCoin("AAA");
    expect(
      holds.take(`t${i}`, { coin, other, amounts: [{ n: 1n, d: (1n << 500n) + BigInt(2 * i + 1) }, rational(1n, 3n)] }, `s${i % 2}`).ok,
    ).toBe(true);
  }
  expect(holds.heldOf("AAA")).toEqual(rational(20n * 33_333_333n, 100_000_000n));
  expect(holds.heldOf("BBB")).toEqual(rational(0n));
});
