import { test } from "vitest";
import { expectTradedWell } from "../e2e/support/trade.ts";
import { isSkipped, skipReason } from "./support/programs.ts";
import { withRealChains } from "./support/realNetwork.ts";
import { BTC, LTC } from "./support/regtestChains.ts";

const BOTH = [LTC.coin, BTC.coin];

test.skipIf(isSkipped)(`litecoind and btcd: swaps complete in both directions, by buy and by sell${skipReason}`, async () => {
  await withRealChains({}, async ({ node }) => {
    const [maker, taker] = [node("maker"), node("taker")];
    const steps = [
      { maker, taker, trade: { base: LTC.coin, rel: BTC.coin, price: "0.5", volume: "4", taken: "3", by: "buy" } },
      { maker: taker, taker: maker, trade: { base: LTC.coin, rel: BTC.coin, price: "0.25", volume: "2", taken: "2", by: "sell" } },
      { maker, taker, trade: { base: BTC.coin, rel: LTC.coin, price: "4", volume: "1", taken: "0.5", by: "sell" } },
      { maker: taker, taker: maker, trade: { base: BTC.coin, rel: LTC.coin, price: "3", volume: "0.3", taken: "0.3", by: "buy" } },
    ] as const;
    for (const { maker: m, taker: t, trade } of steps) await expectTradedWell(m, t, trade, BOTH);
  });
});
