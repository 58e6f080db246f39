import { expect, test } from "vitest";
import { ended, match, sidesOf } from "../e2e/support/trade.ts";
import { noAnvil, noAnvilReason } from "../support/anvil.ts";
import { withAccountNetwork } from "./support/accountNetwork.ts";
import { ALL, expectAllTraded, TRADES } from "./support/sixTrades.ts";

test.skipIf(noAnvil)(
  `UTXO, ETH and ERC-20 swap for each other in all directions, all six swaps at once from one account${noAnvilReason}`,
  async () => {
    await withAccountNetwork({}, async ({ node }) => {
      const [maker, taker] = [node("maker"), node("taker")];
      const before = await sidesOf(maker, taker, ALL);
      const uuids: string[] = [];
      for (const trade of TRADES) uuids.push(await match(maker, taker, trade));
      for (const [i, uuid] of uuids.entries()) {
        const done = await ended(maker, taker, uuid);
        expect([done.maker.is_success, done.taker.is_success], `${TRADES[i]?.base} for ${TRADES[i]?.rel}`).toEqual([true, true]);
      }
      expectAllTraded(before, await sidesOf(maker, taker, ALL));
    });
  },
);
