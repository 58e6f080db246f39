import { expect, test } from "vitest";
import { bidAt, lastingBid } from "./swapBids.ts";

test("a payment's limit lasts to the ceiling, and what is paid whole is the market's: on a quiet chain the next market is made of it", () => {
  const market = { kind: "eip1559", maxFeePerGas: 30n, maxPriorityFeePerGas: 2n } as const;
  expect(lastingBid(market, 240n)).toEqual({ kind: "eip1559", maxFeePerGas: 240n, maxPriorityFeePerGas: 2n });
  expect(lastingBid(market, 10n)).toEqual(market);
  expect(lastingBid({ kind: "legacy", gasPrice: 30n }, 240n)).toEqual({ kind: "legacy", gasPrice: 30n });
});

test("a bid of a price above the market's raises the tip with the limit, one below leaves it whole as far as it goes", () => {
  const market = { kind: "eip1559", maxFeePerGas: 100n, maxPriorityFeePerGas: 10n } as const;
  expect(bidAt(300n, market)).toEqual({ kind: "eip1559", maxFeePerGas: 300n, maxPriorityFeePerGas: 30n });
  expect(bidAt(50n, market)).toEqual({ kind: "eip1559", maxFeePerGas: 50n, maxPriorityFeePerGas: 10n });
  expect(bidAt(7n, market)).toEqual({ kind: "eip1559", maxFeePerGas: 7n, maxPriorityFeePerGas: 7n });
  expect(bidAt(7n, { kind: "eip1559", maxFeePerGas: 0n, maxPriorityFeePerGas: 0n })).toEqual({
    kind: "eip1559",
    maxFeePerGas: 7n,
    maxPriorityFeePerGas: 7n,
  });
  expect(bidAt(50n, { kind: "legacy", gasPrice: 100n })).toEqual({ kind: "legacy", gasPrice: 50n });
});
