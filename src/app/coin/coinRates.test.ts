import { expect, test } from "vitest";
import { coinNode } from "../../../test/fakes/coinNode.ts";
import { VirtualClock } from "../../adapters/virtualClock/virtualClock.ts";
import type { UtxoChain } from "../../ports/chain.ts";
import { CoinRates } from "./coinRates.ts";
import type { CoinSpec } from "./coinSpec.ts";

const HOUR_MS = 3_600_000;
const FALLBACK = 1_000n;

function begin(relayPerKb: bigint | null) {
  const clock = new VirtualClock();
  const backend: { says: bigint | null } = { says: null };
  const chain = { relayFeePerKb: () => relayPerKb, estimateFeePerKb: async () => backend.says } as unknown as UtxoChain;
  const spec = { kind: { feePolicy: { kind: "dynamic" }, relayPolicy: "replace", feeVolatilityPercent: 0 }, feeTargetBlocks: 2 };
  return { clock, backend, rates: new CoinRates(spec as unknown as CoinSpec, chain, clock) };
}

test("a rate that nobody names any more is paid for half an hour, and then no longer", async () => {
  const { clock, backend, rates } = begin(null);
  backend.says = 5_000_000n;
  await rates.open();
  backend.says = null;
  await clock.advance(HOUR_MS / 2);
  expect([rates.rate(null).perKb, rates.spendRate().perKb]).toEqual([5_000_000n, 5_000_000n]);
  await clock.advance(61_000);
  expect([rates.rate(null).perKb, rates.spendRate().perKb]).toEqual([FALLBACK, FALLBACK]);
  rates.close();
});

test.each<readonly [bigint | null, bigint, bigint]>([
  [null, 10_000_000n, 10_000_000n],
  [null, 10_000_001n, FALLBACK],
  [1_000n, 100_000_000_000n, FALLBACK],
  // A chain whose least rate is high.
  [50_000_000n, 90_000_000n, 90_000_000n],
])("a rate that no daemon takes for anything but a mistake is none: relayed %s, said %s", async (relayPerKb, said, expected) => {
  const { backend, rates } = begin(relayPerKb);
  backend.says = said;
  await rates.refresh();
  expect(rates.rate(null).perKb).toBe(expected);
});

test("a claim of a coin may cost what its daemons take for one transaction, where that is known", async () => {
  const entries = ["DOGE", "DOC"].map((coin) => ({ coin, mm2: 1, txfee: 1_000_000, protocol: { type: "UTXO" } }));
  const node = await coinNode(entries, "what a claim may cost");
  for (const { coin } of entries) expect((await node.flat("enable", { coin })).status).toBe(200);
  expect(node.coin("DOGE").spendRates().mostPerTx).toBe(100n * 10n ** 8n);
  expect(node.coin("DOC").spendRates().mostPerTx).toBeNull();
});
