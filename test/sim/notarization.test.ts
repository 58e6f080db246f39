import { expect, test } from "vitest";
import type { SimNode } from "../../sim/world/simNode.ts";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import { swapStatus } from "../../src/core/swap/swapStatus.ts";
import { expectNobodyLost, isOver, purses } from "./audit.ts";
import { match, type TradingWorld, tradingWorld } from "./trade.ts";

const SEED = 4_242;
const MINUTE_MS = 60_000;
const BASE_LOCK_SEC = 7_800;

const termsOf = (node: SimNode, uuid: string) => {
  const [first] = node.events(uuid);
  if (first?.type !== "started") throw new Error("the swap did not start");
  return first.terms;
};
const confirmed = (node: SimNode, uuid: string, slot: string): boolean =>
  node.has(uuid, (e) => e.type === "tx_confirmed" && e.slot === slot);
const claimed = (node: SimNode, uuid: string): boolean => node.has(uuid, (e) => e.type === "tx_seen" && e.slot === "takerPaymentSpend");
const requireNotarization = (t: TradingWorld, who: "maker" | "taker", coin: string): void =>
  t[who].node.coins.utxo(coin)?.setRequiresNotarization(true);
/** Notaries confirm the chain up to its tip. */
const notarize = (t: TradingWorld, coin: string): Promise<unknown> => t.world.node("relay").daemon(coin).call("chain_notarize");

test("a taker that requires it pays only after the maker payment is notarized, however deep that is", async () => {
  const t = await tradingWorld({ seed: SEED });
  const { world, maker, taker } = t;
  const before = purses(t);
  requireNotarization(t, "taker", "DOC");
  const uuid = await match(t, "4", "0.5");
  // Both came to the same, longer lock by themselves; the maker, who does not ask for it, need not wait for its own payment.
  expect([maker, taker].map((n) => termsOf(n, uuid).lockDurationSec)).toEqual([4 * BASE_LOCK_SEC, 4 * BASE_LOCK_SEC]);
  expect([termsOf(maker, uuid).makerNota, termsOf(taker, uuid).makerNota]).toEqual([false, true]);

  await world.runUntil("the maker payment is in a block", () =>
    taker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "makerPayment" && e.block !== null),
  );
  await world.advance(40 * MINUTE_MS);
  expect(confirmed(maker, uuid, "makerPayment")).toBe(true);
  expect(confirmed(taker, uuid, "makerPayment")).toBe(false);
  expect(taker.has(uuid, (e) => e.type === "tx_signed" && e.slot === "takerPayment")).toBe(false);
  // Another chain's notaries do not count.
  await notarize(t, "MARTY");
  await world.advance(2 * MINUTE_MS);
  expect(confirmed(taker, uuid, "makerPayment")).toBe(false);

  await notarize(t, "DOC");
  await world.runUntil("the taker pays", () => taker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "takerPayment"), 2 * MINUTE_MS);
  await world.runUntil("the swap ends for both", () => isOver(t, uuid), HOUR_MS);
  expect([maker.outcome(uuid), taker.outcome(uuid)]).toEqual(["success", "success"]);
  expect(swapStatus(taker.swaps.get(uuid) ?? []).events).toEqual(
    expect.arrayContaining([
      {
        timestamp: expect.any(Number),
        event: { type: "Started", data: expect.objectContaining({ maker_payment_requires_nota: true, lock_duration: 4 * BASE_LOCK_SEC }) },
      },
    ]),
  );
  expectNobodyLost(t, uuid, before);
  await world.close();
});

test("a maker that requires it claims, and so gives its secret away, only after the taker payment is notarized", async () => {
  const t = await tradingWorld({ seed: SEED });
  const { world, maker, taker } = t;
  const before = purses(t);
  requireNotarization(t, "maker", "MARTY");
  const uuid = await match(t, "4", "0.5");
  expect([maker, taker].map((n) => termsOf(n, uuid).lockDurationSec)).toEqual([4 * BASE_LOCK_SEC, 4 * BASE_LOCK_SEC]);
  await world.runUntil("the taker pays", () => taker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "takerPayment"));
  await world.advance(40 * MINUTE_MS);
  expect(claimed(taker, uuid)).toBe(false);
  expect(maker.has(uuid, (e) => e.type === "tx_signed" && e.slot === "takerPaymentSpend")).toBe(false);
  await notarize(t, "MARTY");
  await world.runUntil("the swap ends for both", () => isOver(t, uuid), HOUR_MS);
  expect([maker.outcome(uuid), taker.outcome(uuid)]).toEqual(["success", "success"]);
  expectNobodyLost(t, uuid, before);
  await world.close();
});

test("a payment that is never notarized is refunded, on both chains", async () => {
  // A shorter lock than usual, to be quick; a notarization, counted as an hour, and a slow block to claim in still fit its windows.
  const t = await tradingWorld({ seed: SEED, pollMs: 60_000, blockTimeMs: 5 * MINUTE_MS, profile: { paymentLocktimeSec: 3_600 } });
  const { world, maker, taker } = t;
  const before = purses(t);
  requireNotarization(t, "maker", "MARTY");
  const uuid = await match(t, "4", "0.5");
  await world.runUntil("the swap ends for both", () => isOver(t, uuid), 20 * HOUR_MS);
  expect([maker.outcome(uuid), taker.outcome(uuid)]).toEqual(["refunded", "refunded"]);
  expectNobodyLost(t, uuid, before);
  await world.close();
});

test("for the coin it sends each side waits for the fewer of both wishes, for the coin it gets for its own", async () => {
  const t = await tradingWorld({ seed: SEED });
  const { world, maker, taker } = t;
  const before = purses(t);
  const wish = (node: SimNode, coin: string, confirmations: number): void =>
    node.node.coins.utxo(coin)?.setRequiredConfirmations(confirmations);
  wish(maker, "DOC", 2);
  wish(maker, "MARTY", 5);
  wish(taker, "DOC", 4);
  wish(taker, "MARTY", 1);
  const uuid = await match(t, "4", "0.5");
  const confs = (node: SimNode) => [termsOf(node, uuid).makerConfs, termsOf(node, uuid).takerConfs];
  expect([confs(maker), confs(taker)]).toEqual([
    [2, 5],
    [4, 1],
  ]);
  await world.runUntil("the swap ends for both", () => isOver(t, uuid), HOUR_MS);
  /** Blocks over a transaction, itself included, when this side stored that it is deep enough. */
  const depthAtConfirmation = (node: SimNode, slot: string): number => {
    const stored = (node.swaps.get(uuid) ?? []).find(({ event: e }) => e.type === "tx_confirmed" && e.slot === slot);
    if (stored?.event.type !== "tx_confirmed" || !stored.event.block) throw new Error(`${slot} was not confirmed`);
    const { state } = world.chain(slot === "makerPayment" ? "DOC" : "MARTY").chain;
    let tip = stored.event.block.height;
    while ((state.at(tip + 1)?.block.header.time ?? Number.POSITIVE_INFINITY) * 1_000 <= stored.atMs) tip++;
    return tip - stored.event.block.height + 1;
  };
  expect(depthAtConfirmation(maker, "makerPayment")).toBe(2);
  expect(depthAtConfirmation(taker, "makerPayment")).toBe(4);
  expect(depthAtConfirmation(taker, "takerPayment")).toBe(1);
  expect(depthAtConfirmation(maker, "takerPayment")).toBe(5);
  expectNobodyLost(t, uuid, before);
  await world.close();
});
