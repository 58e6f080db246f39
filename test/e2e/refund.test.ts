import { expect, test } from "vitest";
import type { Devnet } from "../../src/devnet/devnet.ts";
import { topologyOf, withNetwork } from "./support/network.ts";
import { endedAt, expectChange, match, mostForRefund, paid, swapStatus, wealthOf } from "./support/trade.ts";

const BOTH = ["DOC", "MARTY"];
/** The taker payment is locked for so long, the maker payment for twice as long. Both sides must agree on it. */
const LOCK_SEC = 60;
const funded = (name: string) => ({
  name,
  enable: BOTH,
  fund: { DOC: "100", MARTY: "100" },
  config: { swapnode: { profile_overrides: { payment_locktime_sec: LOCK_SEC } } },
});
const PAIR = topologyOf({ block_time_s: 0.5, nodes: [{ name: "seed", seed: true }, funded("maker"), funded("taker")] });
const TRADE = { base: "DOC", rel: "MARTY", price: "0.5", volume: "10", taken: "4", by: "buy" } as const;
/** Blocks that make up a median time. */
const MEDIAN_BLOCKS = 11;

/** Both chains leap over every lock of this swap, so that nobody has to wait for it. */
async function leapOverLocks(net: Devnet): Promise<void> {
  for (const { daemon } of net.chains.values()) {
    await daemon.call("chain_addTime", [2 * LOCK_SEC + 1]);
    await daemon.call("chain_mine", [MEDIAN_BLOCKS]);
  }
}

const typesOf = (status: { readonly events: readonly { readonly event: { readonly type: string } }[] }): string[] =>
  status.events.map((e) => e.event.type);

test("a maker whose taker disappears for good gets its payment back", async () => {
  await withNetwork(PAIR, async ({ net, node, logs }) => {
    const [maker, taker] = [node("maker"), node("taker")];
    const before = await wealthOf(maker, BOTH);
    const locked = logs.next("maker", { type: "tx_seen", slot: "makerPayment" });
    const paying = logs.next("maker", { type: "tx_attempted", slot: "makerPayment" }, () => taker.process.kill("SIGKILL"));
    const uuid = await match(maker, taker, TRADE);
    await paying;
    await locked;
    // Not before its time: the payment stays locked.
    expect((await swapStatus(maker, uuid)).is_finished).toBe(false);
    await leapOverLocks(net);
    const status = await endedAt(maker, uuid);
    expect(status).toMatchObject({ is_success: false, swapnode: { outcome: "refunded" } });
    expect(typesOf(status)).toEqual(
      expect.arrayContaining(["MakerPaymentWaitRefundStarted", "MakerPaymentRefunded", "MakerPaymentRefundFinished", "Finished"]),
    );
    const after = await wealthOf(maker, BOTH);
    expectChange("the maker", "DOC", before, after, "0", mostForRefund(TRADE.taken));
    expectChange("the maker", "MARTY", before, after, "0", "0");
  });
});

test("a taker whose maker disappears for good gets its payment back, and so does the maker when it returns too late", async () => {
  await withNetwork(PAIR, async ({ net, node, logs, revive }) => {
    const [maker, taker] = [node("maker"), node("taker")];
    const [makerBefore, takerBefore] = [await wealthOf(maker, BOTH), await wealthOf(taker, BOTH)];
    const locked = logs.next("taker", { type: "tx_seen", slot: "takerPayment" }, () => maker.process.kill("SIGKILL"));
    const uuid = await match(maker, taker, TRADE);
    await locked;
    await maker.process.exited;
    await leapOverLocks(net);
    const status = await endedAt(taker, uuid);
    expect(status).toMatchObject({ is_success: false, swapnode: { outcome: "refunded" } });
    expect(typesOf(status)).toEqual(
      expect.arrayContaining(["TakerPaymentWaitRefundStarted", "TakerPaymentRefunded", "TakerPaymentRefundFinished", "Finished"]),
    );
    const takerAfter = await wealthOf(taker, BOTH);
    expectChange("the taker", "DOC", takerBefore, takerAfter, "0", "0");
    // The dex fee, 1/777 of 2 MARTY, is gone.
    expectChange("the taker", "MARTY", takerBefore, takerAfter, "-0.00257400", mostForRefund(paid(TRADE)));

    const returned = await revive("maker");
    const makers = await endedAt(returned, uuid);
    expect(makers).toMatchObject({ is_success: false, swapnode: { outcome: "refunded" } });
    const makerAfter = await wealthOf(returned, BOTH);
    expectChange("the maker", "DOC", makerBefore, makerAfter, "0", mostForRefund(TRADE.taken));
    expectChange("the maker", "MARTY", makerBefore, makerAfter, "0", "0");
  });
});
