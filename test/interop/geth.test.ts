import { expect, test } from "vitest";
import { endedAt, expectChange, expectEndedWell, match, sidesOf } from "../e2e/support/trade.ts";
import { ETH, TOKEN } from "./support/accountNetwork.ts";
import { withGethNetwork } from "./support/gethNetwork.ts";
import { ALL, expectSixTrades } from "./support/sixTrades.ts";

const BOTH_ON_GETH = { base: ETH, rel: TOKEN, price: "1.5", volume: "4", taken: "4", by: "buy" } as const;
const GAS = "0.1";
/** Wei: a swap pays up to fifty times what gas cost at its start, here half a gwei. */
const DEAR = "5000000000";
/** A taker's payment is locked for so long, a maker's for twice as long. */
const LOCK_SEC = 60;
const SHORT_LOCKS = { swapnode: { profile_overrides: { payment_locktime_sec: LOCK_SEC } } };
/** By when both locks are over, and what follows is in blocks. */
const REFUND_MS = 5 * LOCK_SEC * 1_000;
const event = (type: string, slot: string) => ({ event: "swap_event", type, slot });

test("geth: UTXO, ETH and ERC-20 swap for each other in all directions, all six swaps at once from one account", async () => {
  await withGethNetwork({}, async ({ node }) => {
    await expectSixTrades(node("maker"), node("taker"));
  });
});

test("geth is restarted amid a swap: nothing is lost", async () => {
  await withGethNetwork({}, async ({ node, logs }, geth) => {
    const [maker, taker] = [node("maker"), node("taker")];
    const before = await sidesOf(maker, taker, ALL);
    const paying = logs.next("taker", event("tx_attempted", "takerPayment"));
    const uuid = await match(maker, taker, BOTH_ON_GETH);
    await paying;
    await geth.restart();
    await expectEndedWell({ maker, taker, trade: BOTH_ON_GETH, before, uuid }, GAS);
  });
});

for (const slot of ["makerPayment", "takerPayment"] as const) {
  test(`geth: the block with the ${slot} is taken out of the chain, and the swap ends well`, async () => {
    await withGethNetwork({}, async ({ node, logs }, geth) => {
      const [maker, taker] = [node("maker"), node("taker")];
      const before = await sidesOf(maker, taker, ALL);
      const confirmed = logs.next(slot === "makerPayment" ? "taker" : "maker", event("tx_confirmed", slot));
      const uuid = await match(maker, taker, BOTH_ON_GETH);
      await geth.reorg(Number((await confirmed).height));
      await expectEndedWell({ maker, taker, trade: BOTH_ON_GETH, before, uuid }, GAS);
    });
  });
}

test("geth takes nothing below ten times the usual price when the maker claims: the claims are made dearer and mined", async () => {
  await withGethNetwork({}, async ({ node, logs }, geth) => {
    const [maker, taker] = [node("maker"), node("taker")];
    const before = await sidesOf(maker, taker, ALL);
    const signed = logs.next("maker", event("tx_signed", "takerPaymentSpend"));
    const uuid = await match(maker, taker, BOTH_ON_GETH);
    await signed;
    await geth.restart(["--miner.gasprice", DEAR]);
    await expectEndedWell({ maker, taker, trade: BOTH_ON_GETH, before, uuid }, GAS);
  });
});

test("geth: a taker whose maker disappears gets its payment back, and so does the maker when it returns too late", async () => {
  await withGethNetwork(SHORT_LOCKS, async ({ node, logs }) => {
    const [maker, taker] = [node("maker"), node("taker")];
    const before = await sidesOf(maker, taker, ALL);
    const locked = logs.next("taker", event("tx_seen", "takerPayment"), () => void maker.process.kill("SIGSTOP"));
    const uuid = await match(maker, taker, BOTH_ON_GETH);
    await locked;
    expect(await endedAt(taker, uuid, REFUND_MS)).toMatchObject({ is_success: false, swapnode: { outcome: "refunded" } });
    maker.process.kill("SIGCONT");
    expect(await endedAt(maker, uuid, REFUND_MS)).toMatchObject({ is_success: false, swapnode: { outcome: "refunded" } });
    const after = await sidesOf(maker, taker, ALL);
    expectChange("the maker", ETH, before.maker, after.maker, "0", GAS);
    // A 777th of 6 tokens is gone.
    expectChange("the taker", TOKEN, before.taker, after.taker, "0", "0.007723");
  });
});
