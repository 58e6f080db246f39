import { expect, test } from "vitest";
import { ended, expectEndedWell, expectTraded, match, sidesOf } from "../e2e/support/trade.ts";
import { isSkipped, skipReason } from "./support/programs.ts";
import { withRealChains } from "./support/realNetwork.ts";
import { BTC, LTC } from "./support/regtestChains.ts";

const BOTH = [LTC.coin, BTC.coin];
/** Fees climb with the share of the window that is used: a short one shows in a minute what takes hours. */
const LOCK_SEC = 150;
const config = { swapnode: { profile_overrides: { payment_locktime_sec: LOCK_SEC } } };
/** Miners take nothing below fifty times what both nodes believe is the going rate. */
const SPIKE = ["-blockmintxfee=0.0005"];
const PAYS_MORE = "0.01";

for (const name of ["litecoind", "btcd"] as const) {
  for (const slot of ["makerPayment", "takerPayment"] as const) {
    test.skipIf(isSkipped)(
      `${name}: the block with the ${slot} is taken out of the chain, and the swap ends well${skipReason}`,
      async () => {
        await withRealChains({}, async ({ node, logs }, { ltc, btc }) => {
          const [struck, hit, other] = name === "litecoind" ? [ltc, LTC.coin, BTC.coin] : [btc, BTC.coin, LTC.coin];
          const [base, rel] = slot === "makerPayment" ? [hit, other] : [other, hit];
          const trade = { base, rel, price: "0.5", volume: "2", taken: "2", by: "buy" } as const;
          const [maker, taker] = [node("maker"), node("taker")];
          const before = await sidesOf(maker, taker, BOTH);
          const waits = slot === "makerPayment" ? "taker" : "maker";
          const confirmed = logs.next(waits, { event: "swap_event", type: "tx_confirmed", slot });
          const uuid = await match(maker, taker, trade);
          await struck.reorg(Number((await confirmed).height));
          await expectEndedWell({ maker, taker, trade, before, uuid });
        });
      },
    );
  }
}

test.skipIf(isSkipped)(
  `litecoind: fees leap to fifty times when the maker claims: its children have the claim mined, for Litecoin relays no replacement${skipReason}`,
  async () => {
    await withRealChains({ config }, async ({ node, logs }, { ltc }) => {
      const trade = { base: BTC.coin, rel: LTC.coin, price: "0.5", volume: "2", taken: "2", by: "buy" } as const;
      const [maker, taker] = [node("maker"), node("taker")];
      const before = await sidesOf(maker, taker, BOTH);
      const paid = logs.next("maker", { event: "swap_event", type: "tx_confirmed", slot: "takerPayment" });
      const uuid = await match(maker, taker, trade);
      await paid;
      await ltc.restart(SPIKE);
      const done = await ended(maker, taker, uuid, 2 * LOCK_SEC * 1_000);
      expect([done.maker.is_success, done.taker.is_success]).toEqual([true, true]);
      expect(logs.all("maker", { event: "swap_event", type: "tx_attempted", slot: "claimChild" }).length).toBe(1);
      expectTraded(trade, before, await sidesOf(maker, taker, BOTH), PAYS_MORE);
    });
  },
);

test.skipIf(isSkipped)(
  `litecoind: fees leap to fifty times before the maker pays: a child has the payment mined${skipReason}`,
  async () => {
    await withRealChains({ config }, async ({ node, logs }, { ltc }) => {
      const trade = { base: LTC.coin, rel: BTC.coin, price: "0.5", volume: "2", taken: "2", by: "buy" } as const;
      const [maker, taker] = [node("maker"), node("taker")];
      const before = await sidesOf(maker, taker, BOTH);
      await ltc.restart(SPIKE);
      const uuid = await match(maker, taker, trade);
      const done = await ended(maker, taker, uuid, 3 * LOCK_SEC * 1_000);
      expect([done.maker.is_success, done.taker.is_success]).toEqual([true, true]);
      expect(logs.all("maker", { event: "swap_event", type: "tx_attempted", slot: "paymentChild" }).length).toBe(1);
      expectTraded(trade, before, await sidesOf(maker, taker, BOTH), PAYS_MORE);
    });
  },
);
