import { test } from "vitest";
import { noAnvil, noAnvilReason } from "../support/anvil.ts";
import { withAccountNetwork } from "./support/accountNetwork.ts";
import { expectSixTrades } from "./support/sixTrades.ts";

test.skipIf(noAnvil)(
  `UTXO, ETH and ERC-20 swap for each other in all directions, all six swaps at once from one account${noAnvilReason}`,
  async () => {
    await withAccountNetwork({}, async ({ node }) => {
      await expectSixTrades(node("maker"), node("taker"));
    });
  },
);
