import { expect, test } from "vitest";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import { expectNobodyLost, isOver, purses } from "./audit.ts";
import { match, offer, tradingWorld } from "./trade.ts";

const MINUTE_MS = 60_000;

test("after a restart a swap and an order name the coins they need, wait for both, and go on by themselves when both are there", async () => {
  const t = await tradingWorld({ seed: 515 });
  const { world, maker, taker } = t;
  const before = purses(t);
  const uuid = await match(t, "4", "0.5");
  const other = await offer(world, maker, "7", "0.8");
  await world.runUntil("the maker pays", () => maker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "makerPayment"));
  maker.crash();
  const known = maker.events(uuid).length;

  await maker.start();
  expect([...maker.node.swaps.kickStartCoins()].sort()).toEqual(["DOC", "MARTY"]);
  expect([...maker.node.orders.coinsNeededForKickStart()].sort()).toEqual(["DOC", "MARTY"]);
  expect(maker.node.swaps.activeUuids()).toEqual([uuid]);
  const enable = async (coin: string): Promise<void> => {
    const request = {
      coin,
      mm2: true,
      requiredConfirmations: undefined,
      requiresNotarization: undefined,
      daemon: undefined,
      birthdayHeight: undefined,
    };
    const done = await world.settle(maker.node.coins.enable(request, new AbortController().signal));
    expect(done.ok).toBe(true);
  };
  await enable("DOC");
  // A swap that waits for its other coin uses this one as much as a running swap.
  const disabled = await world.settle(maker.node.coins.disable("DOC", false));
  expect(disabled).toMatchObject({ ok: false, error: { kind: "CoinInUse", activeSwaps: [uuid] } });
  await world.advance(10 * MINUTE_MS);
  expect(maker.events(uuid)).toHaveLength(known);
  expect(maker.node.orders.ownOrders.orders()).toEqual([]);

  await enable("MARTY");
  await world.runUntil("the swap ends for both", () => isOver(t, uuid), HOUR_MS);
  expect([maker.outcome(uuid), taker.outcome(uuid)]).toEqual(["success", "success"]);
  expect(maker.node.orders.ownOrders.orders()).toMatchObject([{ uuid: other }]);
  // Said once at the start; enabling does not shorten it (as in KDF).
  expect([...maker.node.swaps.kickStartCoins()].sort()).toEqual(["DOC", "MARTY"]);
  expectNobodyLost(t, uuid, before);
  await world.close();
});

test("a swap whose record cannot be read keeps neither its node from starting nor another swap from going on", async () => {
  const t = await tradingWorld({ seed: 516 });
  const { world, maker, taker } = t;
  const [unread, whole] = [await match(t, "4", "0.5"), await match(t, "3", "0.4")];
  const isPaid = (uuid: string): boolean => maker.has(uuid, (e) => e.type === "tx_attempted" && e.slot === "makerPayment");
  await world.runUntil("the maker pays both", () => isPaid(unread) && isPaid(whole), HOUR_MS);
  maker.crash();
  const { length } = maker.events(unread);
  await maker.swapStore.append(unread, length + 1, { v: 1, atMs: 0, event: { type: "payment_gone" } }, []);
  await maker.start(["DOC", "MARTY"]);
  await world.runUntil("the other swap ends for both", () => isOver(t, whole), HOUR_MS);
  expect([maker.outcome(whole), taker.outcome(whole)]).toEqual(["success", "success"]);
  expect(maker.node.swaps.activeUuids()).toEqual([unread]);
  await world.close();
});
