import { expect, test } from "vitest";
import { HOUR_MS } from "../../sim/world/simWorld.ts";
import type { Role } from "../../src/core/swap/events.ts";
import { expectNobodyLost, isOver, leftovers, purses, txidOf } from "./audit.ts";
import { buy, COINS, match, offer, type TradingWorld, tradingWorld } from "./trade.ts";

const SEED = 20_240_003;
const MINUTE_MS = 60_000;
const LIMIT_MS = 8 * HOUR_MS;
const TIMEOUT_MS = 60_000;
/** More broadcasts than a side makes in a swap. */
const MAX_BROADCASTS = 6;

const outcomes = ({ maker, taker }: TradingWorld, uuid: string): readonly (string | null)[] => [maker.outcome(uuid), taker.outcome(uuid)];

test.each<[Role]>([["maker"], ["taker"]])(
  "a reply lost after an accepted broadcast, for each transaction of the %s: the swap succeeds",
  async (who) => {
    const t = await tradingWorld({ seed: SEED });
    const { world } = t;
    for (let n = 0; n < MAX_BROADCASTS; n++) {
      const before = purses(t);
      let left = n;
      t[who].onBroadcast = (ticker, when) => {
        if (when === "before" && left-- === 0) void t[who].daemonFault(ticker, { kind: "lost_reply" });
      };
      const uuid = await match(t, "4", "0.5");
      await world.runUntil("the swap ends", () => isOver(t, uuid), LIMIT_MS);
      expect(outcomes(t, uuid), `broadcast ${n}`).toEqual(["success", "success"]);
      expectNobodyLost(t, uuid, before);
      for (const coin of COINS) await t[who].daemonFault(coin, { kind: "clear" });
    }
    await world.close();
  },
  TIMEOUT_MS,
);

test.each<[Role]>([["maker"], ["taker"]])(
  "every mempool forgets a transaction of the %s right after it was accepted, for each of them: it is sent again and the swap succeeds",
  async (who) => {
    const t = await tradingWorld({ seed: SEED });
    const { world } = t;
    for (let n = 0; n < MAX_BROADCASTS; n++) {
      const before = purses(t);
      let left = n;
      t[who].onBroadcast = (ticker, when) => {
        if (when === "after" && left-- === 0) world.clock.after(1, () => void t[who].daemonFault(ticker, { kind: "forget" }));
      };
      const uuid = await match(t, "4", "0.5");
      await world.runUntil("the swap ends", () => isOver(t, uuid), LIMIT_MS);
      expect(outcomes(t, uuid), `broadcast ${n}`).toEqual(["success", "success"]);
      expectNobodyLost(t, uuid, before);
    }
    await world.close();
  },
  TIMEOUT_MS,
);

test.each([
  { title: "goes back to the mempool", forget: false },
  { title: "is forgotten by everybody", forget: true },
])(
  "a reorg takes the maker payment out of its block before the taker pays and it $title: the taker waits and the swap succeeds",
  async ({ forget }) => {
    // Two confirmations: the taker is still waiting when the first one is undone.
    const t = await tradingWorld({ seed: SEED, confirmations: 2 });
    const { world, maker, taker } = t;
    const before = purses(t);
    const uuid = await match(t, "4", "0.5");
    await world.runUntil("the maker payment is in a block", () =>
      taker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "makerPayment" && e.block !== null),
    );
    const payment = txidOf(maker, uuid, "makerPayment") ?? "";
    world.chain("DOC").reorg(1, forget ? [payment] : []);
    await world.runUntil("both see it", () =>
      [maker, taker].every((n) =>
        n.has(uuid, (e) => e.type === "tx_withdrawn" || (e.type === "tx_seen" && e.slot === "makerPayment" && e.block === null)),
      ),
    );
    expect(taker.has(uuid, (e) => e.type === "tx_signed" && e.slot === "takerPayment")).toBe(false);
    await world.runUntil("the swap ends", () => isOver(t, uuid), LIMIT_MS);
    expect(outcomes(t, uuid)).toEqual(["success", "success"]);
    expectNobodyLost(t, uuid, before);
    await world.close();
  },
);

test("a reorg in the very moment the taker finds the maker payment deep enough: it pays only when the payment stands in a block again", async () => {
  const t = await tradingWorld({ seed: SEED });
  const { world, maker, taker } = t;
  const before = purses(t);
  const doc = world.chain("DOC");
  const stands: boolean[] = [];
  let undone = false;
  taker.onEvent = (event) => {
    const payment = taker.swaps.size > 0 ? txidOf(maker, [...taker.swaps.keys()][0] ?? "", "makerPayment") : undefined;
    if (payment === undefined) return;
    if (event.type === "tx_attempted" && event.slot === "takerPayment")
      stands.push(doc.chain.state.coins.get(`${payment}:0`) !== undefined);
    if (event.type !== "tx_confirmed" || event.slot !== "makerPayment" || undone) return;
    undone = true;
    doc.reorg(1, [payment]);
  };
  const uuid = await match(t, "4", "0.5");
  await world.runUntil("the swap ends", () => isOver(t, uuid), LIMIT_MS);
  expect(undone).toBe(true);
  expect(stands).toEqual([true]);
  expect(outcomes(t, uuid)).toEqual(["success", "success"]);
  expectNobodyLost(t, uuid, before);
  await world.close();
});

test(
  "a reorg of depth 1 at any moment of a swap, on either chain: the swap succeeds",
  async () => {
    const t = await tradingWorld({ seed: SEED });
    const { world, maker } = t;
    for (const ticker of COINS) {
      for (let n = 0; n < 17; n++) {
        const before = purses(t);
        let left = n;
        maker.onEvent = () => {
          // Not inside the node's own step: the block comes when it comes.
          if (left-- === 0) world.clock.after(1, () => world.chain(ticker).reorg(1));
        };
        const uuid = await match(t, "4", "0.5");
        await world.runUntil("the swap ends", () => isOver(t, uuid), LIMIT_MS);
        expect(outcomes(t, uuid), `${ticker}, after event ${n}`).toEqual(["success", "success"]);
        await world.advance(15 * MINUTE_MS);
        expectNobodyLost(t, uuid, before);
      }
    }
    expect(leftovers(t)).toEqual([]);
    await world.close();
  },
  TIMEOUT_MS,
);

test.each([1, 2, 3, 4, 5, 6, 7, 8])(
  "one gossip message in five lost on each hop, seed %i: a taker that asks again trades in the end, nobody loses",
  async (seed) => {
    const t = await tradingWorld({ seed });
    const { world, maker, taker } = t;
    world.messageLoss = 0.2;
    world.net.setAll({ jitterMs: 200, duplicate: 0.05 });
    let ended = "";
    // The four messages of a match cross two hops each, and two of them are sent only once.
    for (let tries = 0; tries < 15 && ended !== "success success"; tries++) {
      const before = purses(t);
      await offer(world, maker, "4", "0.5");
      const uuid = await buy(world, taker, "4", "0.5");
      await world.advance(MINUTE_MS);
      for (const node of [maker, taker]) await world.settle(node.node.orders.cancelAllOrders({ type: "All" }));
      await world.runUntil("the swap ends", () => isOver(t, uuid), LIMIT_MS);
      expectNobodyLost(t, uuid, before);
      ended = outcomes(t, uuid).join(" ");
      // Without the word "connected" the taker starts nothing, and the maker gives up with nothing sent.
      expect(["success success", "failed ", " "]).toContain(ended);
    }
    expect(ended).toBe("success success");
    await world.close();
  },
  TIMEOUT_MS,
);

test.each([
  ["maker 30 s ahead of the taker", 15_000, -15_000],
  ["taker 30 s ahead of the maker", -15_000, 15_000],
])(
  "clocks apart, the %s: a swap succeeds, and one the taker leaves is refunded",
  async (_title, makerSkewMs, takerSkewMs) => {
    const t = await tradingWorld({ seed: SEED, pollMs: 15_000, makerSkewMs, takerSkewMs });
    const { world, maker, taker } = t;
    const before = purses(t);
    const first = await match(t, "4", "0.5");
    await world.runUntil("the swap ends", () => isOver(t, first), LIMIT_MS);
    expect(outcomes(t, first)).toEqual(["success", "success"]);
    expectNobodyLost(t, first, before);
    const between = purses(t);
    const second = await match(t, "4", "0.5");
    await world.runUntil("the taker pays", () => taker.has(second, (e) => e.type === "tx_seen" && e.slot === "takerPayment"));
    maker.crash();
    await world.runUntil("the taker ends", () => taker.outcome(second) !== null, LIMIT_MS);
    await maker.start(COINS);
    await world.runUntil("the maker ends", () => isOver(t, second), LIMIT_MS);
    expect(outcomes(t, second)).toEqual(["refunded", "refunded"]);
    expectNobodyLost(t, second, between);
    await world.close();
  },
  TIMEOUT_MS,
);

test("the taker's line dead for ten minutes in the middle of a swap: the swap succeeds", async () => {
  const t = await tradingWorld({ seed: SEED });
  const { world, maker, taker } = t;
  const before = purses(t);
  const uuid = await match(t, "4", "0.5");
  await world.runUntil("the maker pays", () => maker.has(uuid, (e) => e.type === "tx_seen" && e.slot === "makerPayment"));
  world.net.cut(taker.p2p.peerId, world.node("relay").p2p.peerId);
  await world.advance(10 * MINUTE_MS);
  world.net.heal();
  await world.runUntil("the swap ends", () => isOver(t, uuid), LIMIT_MS);
  expect(outcomes(t, uuid)).toEqual(["success", "success"]);
  expectNobodyLost(t, uuid, before);
  await world.close();
});
