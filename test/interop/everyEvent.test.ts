import { test } from "vitest";
import { killAtEachEvent } from "./support/everyKill.ts";
import { isSkipped, skipReason } from "./support/programs.ts";
import { withRealChains } from "./support/realNetwork.ts";
import { BTC, LTC } from "./support/regtestChains.ts";

const TRADE = { base: LTC.coin, rel: BTC.coin, price: "0.5", volume: "0.2", taken: "0.2", by: "buy" } as const;

for (const who of ["maker", "taker"] as const) {
  test.skipIf(isSkipped)(
    `litecoind and btcd: a ${who} killed at each event it stores finishes every swap after it is started again${skipReason}`,
    () => withRealChains({}, (network) => killAtEachEvent(network, { who, trade: TRADE, coins: [LTC.coin, BTC.coin] })),
    1_200_000,
  );
}
