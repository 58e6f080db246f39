import { expect, test } from "vitest";
import type { SimNode } from "../../sim/world/simNode.ts";
import { HOUR_MS, type SimWorld } from "../../sim/world/simWorld.ts";
import { expectNobodyLost, isOver, leftovers, purses } from "./audit.ts";
import { buy, match, offer, type TradingWorld, tradingWorld } from "./trade.ts";

const SEED = 4_711;
const MINUTE_MS = 60_000;

/** Orders as a node's book lists them. */
const sees = (node: SimNode): readonly string[] => node.node.book.entries("DOC", "MARTY").map(({ item }) => item.uuid);
const breakLine = (world: SimWorld, node: SimNode): void => world.net.breakConnection(node.p2p.peerId, world.node("relay").p2p.peerId);

/** Breaks the line of one side right after its n-th message of the handshake, or right before. */
async function handshakeWithBreak(
  who: "maker" | "taker",
  n: number,
  when: "before" | "after",
): Promise<TradingWorld & { readonly uuid: string; readonly wasBroken: () => boolean }> {
  const t = await tradingWorld({ seed: SEED, pollMs: 15_000 });
  const { world, maker, taker } = t;
  await offer(world, maker, "4", "0.5");
  await world.advance(5_000);
  let sent = 0;
  let broken = false;
  world.trace.tap = {
    ...world.trace.tap,
    frame: (from, _to, frame) => {
      if (from !== who || frame[0] !== 0x12 || ++sent !== n) return;
      broken = true;
      if (when === "before") breakLine(world, t[who]);
      else world.clock.after(15, () => breakLine(world, t[who]));
    },
  };
  const uuid = await buy(world, taker, "4", "0.5");
  return { ...t, uuid, wasBroken: () => broken };
}

test.each([
  ["taker", 1],
  ["taker", 2],
  ["taker", 3],
  ["maker", 1],
  ["maker", 2],
  ["maker", 3],
  ["maker", 4],
] as const)(
  "the line of the %s breaks at its message %i after the request: both swap or neither, and nothing stays held",
  async (who, n) => {
    for (const when of ["before", "after"] as const) {
      const t = await handshakeWithBreak(who, n, when);
      const { world, maker, taker, uuid } = t;
      const before = purses(t);
      // The taker's order lives 30 s, its last word about a match a minute.
      await world.advance(3 * MINUTE_MS);
      await world.runUntil("the swap ends for both", () => isOver(t, uuid), 10 * HOUR_MS);
      expect(t.wasBroken(), when).toBe(true);
      const stored = [maker, taker].map((node) => node.swaps.has(uuid));
      // A maker alone waits for a word that never comes and gives up; a taker alone would pay its fee for nothing.
      expect(stored, when).not.toEqual([false, true]);
      if (stored[0] && stored[1]) expect([maker.outcome(uuid), taker.outcome(uuid)], when).toEqual(["success", "success"]);
      expectNobodyLost(t, uuid, before);
      await world.advance(2 * MINUTE_MS);
      expect(leftovers(t), when).toEqual([]);
      await world.close();
    }
  },
);

test("a swap whose relay dies for good goes on through the other one", async () => {
  const t = await tradingWorld(
    { seed: SEED },
    (world) => {
      world.addNode("second", { isRelay: true, listen: "/memory/second" });
    },
    ["/memory/relay", "/memory/second"],
  );
  const { world, maker, taker } = t;
  await world.node("second").start();
  await world.runUntil("both have two relays", () => [maker, taker].every((node) => node.p2p.relays().length === 2), 5 * MINUTE_MS);
  const before = purses(t);
  const uuid = await match(t, "4", "0.5");
  world.node("relay").crash();
  await world.runUntil("the swap ends for both", () => isOver(t, uuid), HOUR_MS);
  expect([maker.outcome(uuid), taker.outcome(uuid)]).toEqual(["success", "success"]);
  expectNobodyLost(t, uuid, before);
  // And a new one can begin.
  await match(t, "1", "0.5");
  await world.close();
});

test("all relays die and one comes back without memory: within two minutes everybody sees the book again, and it trades", async () => {
  const t = await tradingWorld({ seed: SEED });
  const { world, maker, taker } = t;
  const uuid = await offer(world, maker, "4", "0.5");
  await world.settle(taker.node.book.subscribePair("DOC", "MARTY"));
  await world.advance(31_000);
  expect([sees(world.node("relay")), sees(taker)]).toEqual([[uuid], [uuid]]);
  world.node("relay").crash();
  // Long enough for everything to be forgotten.
  await world.advance(10 * MINUTE_MS);
  expect([maker.p2p.relays(), sees(taker), sees(maker)]).toEqual([[], [], [uuid]]);
  await world.node("relay").start();
  await world.advance(2 * MINUTE_MS);
  expect([sees(world.node("relay")), sees(taker)]).toEqual([[uuid], [uuid]]);
  await match(t, "1", "0.5");
  await world.close();
});
