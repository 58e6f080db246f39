import { expect, test } from "vitest";
import { ended, expectTraded, match, sidesOf } from "../e2e/support/trade.ts";
import { noAnvil, noAnvilReason } from "../support/anvil.ts";
import { ETH, TOKEN, UTXO, withAccountNetwork } from "./support/accountNetwork.ts";

const TRADE = { base: TOKEN, rel: UTXO, price: "0.2", volume: "20", taken: "20", by: "buy" } as const;
const ALL = [UTXO, ETH, TOKEN];

test.skipIf(noAnvil)(
  `with autostart_coins a maker of a token for a coin whose daemon wants a password is back by itself after kill -9, and finishes the swap${noAnvilReason}`,
  async () => {
    const config = { swapnode: { autostart_coins: true } };
    await withAccountNetwork({ config }, async ({ net, node, logs, kill }) => {
      const before = await sidesOf(node("maker"), node("taker"), ALL);
      const paid = logs.next("maker", { type: "tx_attempted", slot: "makerPayment" });
      const uuid = await match(node("maker"), node("taker"), TRADE);
      await paid;
      await kill("maker");
      // Nobody enables its coins.
      await net.restart("maker");
      const done = await ended(node("maker"), node("taker"), uuid);
      expect([done.maker.is_success, done.taker.is_success]).toEqual([true, true]);
      expectTraded(TRADE, before, await sidesOf(node("maker"), node("taker"), ALL), "0.01");
    });
  },
);
