import { expect, test } from "vitest";
import { servedFees } from "./servedFees.ts";
import type { FeePolicy } from "./utxoKind.ts";

const fixed = (perKb: bigint): FeePolicy => ({ kind: "fixed", rate: { perKb, wholeKb: false } });

test.each<readonly [string, FeePolicy, bigint, bigint]>([
  ["Bitcoin, by estimates", { kind: "dynamic" }, 1_500_000n, 1_500_000n],
  ["Litecoin, 1000 units", fixed(1_000n), 1_500_000n, 100_000n],
  ["Zcash, 50,000", fixed(50_000n), 1_500_000n, 500_000n],
  ["Dogecoin, 0.01 coins", fixed(1_000_000n), 10_000_000n, 10_000_000n],
  ["RUNES, 0.4 coins", fixed(40_000_000n), 400_000_000n, 400_000_000n],
])("what servers are believed of fees goes by the coins file: %s", (_, policy, mostPerKb, mostRelayPerKb) => {
  expect(servedFees(policy)).toEqual({ mostPerKb, mostRelayPerKb });
});
