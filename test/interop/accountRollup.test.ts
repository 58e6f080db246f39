import { expect, test } from "vitest";
import { ended, match, sidesOf, type Trade } from "../e2e/support/trade.ts";
import { noAnvil, noAnvilReason } from "../support/anvil.ts";
import { ETH, TOKEN, UTXO, withAccountNetwork } from "./support/accountNetwork.ts";

/** So dear that the data of a transaction costs far more than its gas. */
const L1_BASE_FEE = 2_000n * 10n ** 9n;
const TRADES: readonly Trade[] = [
  { base: UTXO, rel: ETH, price: "0.5", volume: "2", taken: "2", by: "buy" },
  { base: ETH, rel: TOKEN, price: "1.5", volume: "4", taken: "4", by: "buy" },
];

test.skipIf(noAnvil)(`swaps on a chain that really takes a fee for data from the balance end well${noAnvilReason}`, async () => {
  await withAccountNetwork({ l1BaseFee: L1_BASE_FEE }, async ({ node }) => {
    const [maker, taker] = [node("maker"), node("taker")];
    const before = await sidesOf(maker, taker, [UTXO, ETH, TOKEN]);
    for (const trade of TRADES) {
      const done = await ended(maker, taker, await match(maker, taker, trade));
      expect([done.maker.is_success, done.taker.is_success], `${trade.base} for ${trade.rel}`).toEqual([true, true]);
    }
    const after = await sidesOf(maker, taker, [UTXO, ETH, TOKEN]);
    expect(after.taker.get(ETH)).not.toEqual(before.taker.get(ETH));
  });
});
