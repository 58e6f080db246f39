import * as fc from "fast-check";
import { expect, test } from "vitest";
import {
  effectiveGasPrice,
  type GasBid,
  greatestFee,
  highestBaseFee,
  nextBaseFee,
  replacementBid,
  STAGE_MARGINS,
  withMargin,
} from "../../src/core/evm/gas.ts";
import { KDF_GAS_LIMITS, parseGasLimits } from "../../src/core/evm/gasLimits.ts";

test("the next base fee follows EIP-1559: full, half full, empty and one gas off the target", () => {
  const after = (gasUsed: bigint, baseFee = 1_000_000_000n): bigint => nextBaseFee({ baseFee, gasUsed, gasLimit: 30_000_000n });
  expect(after(30_000_000n)).toBe(1_125_000_000n);
  expect(after(15_000_000n)).toBe(1_000_000_000n);
  expect(after(0n)).toBe(875_000_000n);
  expect(after(15_000_001n)).toBe(1_000_000_008n);
  expect(after(15_000_001n, 7n)).toBe(8n);
  expect(after(0n, 7n)).toBe(7n);
  expect(nextBaseFee({ baseFee: 7n, gasUsed: 0n, gasLimit: 0n })).toBe(7n);
});

test("no sequence of full blocks goes above the highest base fee reckoned for it", () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 1n, max: 10n ** 12n }), fc.integer({ min: 0, max: 20 }), (start, blocks) => {
      let fee = start;
      for (let i = 0; i < blocks; i++) fee = nextBaseFee({ baseFee: fee, gasUsed: 30_000_000n, gasLimit: 30_000_000n });
      expect(highestBaseFee(start, blocks)).toBeGreaterThanOrEqual(fee);
    }),
  );
});

test("a bid pays the base fee and its tip, capped, and nothing in a block that is dearer than it", () => {
  const bid: GasBid = { kind: "eip1559", maxFeePerGas: 100n, maxPriorityFeePerGas: 10n };
  expect(effectiveGasPrice(bid, 50n)).toBe(60n);
  expect(effectiveGasPrice(bid, 95n)).toBe(100n);
  expect(effectiveGasPrice(bid, 101n)).toBeNull();
  expect(effectiveGasPrice({ kind: "legacy", gasPrice: 70n }, 50n)).toBe(70n);
  expect(effectiveGasPrice({ kind: "legacy", gasPrice: 49n }, 50n)).toBeNull();
  expect(greatestFee(bid, 21_000n)).toBe(2_100_000n);
  expect(greatestFee({ kind: "legacy", gasPrice: 7n }, 10n)).toBe(70n);
});

test("a replacement is at least a tenth dearer in every figure, whatever the market says", () => {
  const price = fc.bigInt({ min: 0n, max: 10n ** 12n });
  const bid: fc.Arbitrary<GasBid> = fc.oneof(
    price.map((gasPrice) => ({ kind: "legacy" as const, gasPrice })),
    fc.tuple(price, price).map(([a, b]) => ({
      kind: "eip1559" as const,
      maxFeePerGas: a > b ? a : b,
      maxPriorityFeePerGas: a > b ? b : a,
    })),
  );
  const figures = (b: GasBid): [bigint, bigint] =>
    b.kind === "legacy" ? [b.gasPrice, b.gasPrice] : [b.maxFeePerGas, b.maxPriorityFeePerGas];
  fc.assert(
    fc.property(bid, bid, (old, market) => {
      const next = figures(replacementBid(old, market));
      for (const [i, figure] of figures(old).entries()) expect((next[i] ?? 0n) * 10n).toBeGreaterThanOrEqual(figure * 11n + 1n);
      expect(next[0]).toBeGreaterThanOrEqual(figures(market)[0]);
      expect(next[1]).toBeLessThanOrEqual(next[0]);
    }),
  );
});

test("margins round up", () => {
  expect(withMargin(100n, STAGE_MARGINS.preimage)).toBe(107n);
  expect(withMargin(1n, STAGE_MARGINS.start)).toBe(2n);
  expect(withMargin(0n, STAGE_MARGINS.order)).toBe(0n);
});

test("a coin entry overrides single limits; nonsense in it is refused", () => {
  expect(parseGasLimits(undefined)).toBe(KDF_GAS_LIMITS);
  expect(parseGasLimits({ erc20_payment: 110_000, eth_payment: null })).toEqual({ ...KDF_GAS_LIMITS, tokenPayment: 110_000n });
  for (const bad of [[], "x", { eth_payment: "1" }, { eth_payment: 20_999 }, { eth_payment: 1e10 }, { eth_payment: 50_000.5 }])
    expect(parseGasLimits(bad)).toBeNull();
});
