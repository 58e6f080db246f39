import { expect, test } from "vitest";
import { ended, expectEndedWell, expectTraded, match, sidesOf } from "../e2e/support/trade.ts";
import { isSkipped, skipReason } from "./support/programs.ts";
import { withRealChains } from "./support/realNetwork.ts";
import { BTC, LTC, startLitecoin } from "./support/regtestChains.ts";

const BOTH = [LTC.coin, BTC.coin];
const TRADE = { base: LTC.coin, rel: BTC.coin, price: "0.5", volume: "2", taken: "2", by: "buy" } as const;
/** Longer than what is read block by block for an address without a birthday. */
const LONG_CHAIN = 2_100;

test.skipIf(isSkipped)(
  `a pruning litecoind with a long chain serves a swap: balances come from its set of unspent outputs${skipReason}`,
  async () => {
    const longLitecoin = async (blockTimeMs: number) => {
      const chain = await startLitecoin(blockTimeMs, ["-prune=1"]);
      await chain.mine(LONG_CHAIN);
      return chain;
    };
    await withRealChains({ startLitecoin: longLitecoin }, async ({ node, revive }, { ltc }) => {
      expect(await ltc.daemon.call("getblockchaininfo")).toMatchObject({ pruned: true });
      // A node that lost its data finds its coins again.
      const before = await sidesOf(node("maker"), node("taker"), BOTH);
      await node("maker").process.stop();
      const maker = await revive("maker");
      expect(await sidesOf(maker, node("taker"), BOTH)).toEqual(before);
      const uuid = await match(maker, node("taker"), TRADE);
      const done = await ended(maker, node("taker"), uuid);
      expect([done.maker.is_success, done.taker.is_success]).toEqual([true, true]);
      expectTraded(TRADE, before, await sidesOf(maker, node("taker"), BOTH));
    });
  },
);

test.skipIf(isSkipped)(`litecoind restarted in the middle of a swap: nothing is lost${skipReason}`, async () => {
  await withRealChains({}, async ({ node, logs }, { ltc }) => {
    const [maker, taker] = [node("maker"), node("taker")];
    const before = await sidesOf(maker, taker, BOTH);
    const locked = logs.next("maker", { type: "tx_attempted", slot: "makerPayment" });
    const uuid = await match(maker, taker, TRADE);
    await locked;
    await ltc.restart();
    await expectEndedWell({ maker, taker, trade: TRADE, before, uuid });
  });
});
