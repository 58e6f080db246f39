import { expect, test } from "vitest";
import { endedAt, expectChange, match, mostForRefund, paid, swapStatus, wealthOf } from "../e2e/support/trade.ts";
import { isSkipped, skipReason } from "./support/programs.ts";
import { type RealChains, withRealChains } from "./support/realNetwork.ts";
import { BTC, LTC } from "./support/regtestChains.ts";

const BOTH = [LTC.coin, BTC.coin];
/**
 * The taker payment is locked for so long, the maker payment for twice as long. Short, because btcd's miner leaves out a
 * refund until the time of day has passed its lock, whatever the chain's median time says.
 */
const LOCK_SEC = 30;
const config = { swapnode: { profile_overrides: { payment_locktime_sec: LOCK_SEC } } };

/** Both chains leap over every lock of a swap that began just now. */
async function leapOverLocks({ ltc, btc }: RealChains): Promise<void> {
  const sec = Math.floor(Date.now() / 1_000) + 2 * LOCK_SEC + 1;
  await Promise.all([ltc.leapTo(sec), btc.leapTo(sec)]);
}

for (const [base, rel] of [
  [LTC.coin, BTC.coin],
  [BTC.coin, LTC.coin],
] as const) {
  const trade = { base, rel, price: "0.5", volume: "4", taken: "4", by: "buy" } as const;

  test.skipIf(isSkipped)(`a maker whose taker disappears for good gets its ${base} back${skipReason}`, async () => {
    await withRealChains({ config }, async ({ node, logs }, chains) => {
      const [maker, taker] = [node("maker"), node("taker")];
      const before = await wealthOf(maker, BOTH);
      const locked = logs.next("maker", { type: "tx_seen", slot: "makerPayment" });
      const paying = logs.next("maker", { type: "tx_attempted", slot: "makerPayment" }, () => taker.process.kill("SIGKILL"));
      const uuid = await match(maker, taker, trade);
      await paying;
      await locked;
      expect((await swapStatus(maker, uuid)).is_finished).toBe(false);
      await leapOverLocks(chains);
      expect(await endedAt(maker, uuid)).toMatchObject({ is_success: false, swapnode: { outcome: "refunded" } });
      const after = await wealthOf(maker, BOTH);
      expectChange("the maker", base, before, after, "0", mostForRefund(trade.taken));
      expectChange("the maker", rel, before, after, "0", "0");
    });
  });

  test.skipIf(isSkipped)(`a taker whose maker disappears for good gets its ${rel} back${skipReason}`, async () => {
    await withRealChains({ config }, async ({ node, logs, revive }, chains) => {
      const [maker, taker] = [node("maker"), node("taker")];
      const [makerBefore, takerBefore] = [await wealthOf(maker, BOTH), await wealthOf(taker, BOTH)];
      const locked = logs.next("taker", { type: "tx_seen", slot: "takerPayment" }, () => maker.process.kill("SIGKILL"));
      const uuid = await match(maker, taker, trade);
      await locked;
      await maker.process.exited;
      await leapOverLocks(chains);
      expect(await endedAt(taker, uuid)).toMatchObject({ is_success: false, swapnode: { outcome: "refunded" } });
      const takerAfter = await wealthOf(taker, BOTH);
      expectChange("the taker", base, takerBefore, takerAfter, "0", "0");
      // The dex fee, 1/777 of 2, is gone.
      expectChange("the taker", rel, takerBefore, takerAfter, "-0.00257400", mostForRefund(paid(trade)));
      if (base !== LTC.coin) return;
      // Returned too late, the maker must not go for a payment that is gone, and takes its own back.
      const returned = await revive("maker");
      expect(await endedAt(returned, uuid)).toMatchObject({ is_success: false, swapnode: { outcome: "refunded" } });
      expectChange("the maker", base, makerBefore, await wealthOf(returned, BOTH), "0", mostForRefund(trade.taken));
    });
  });
}
