import { expect, test } from "vitest";
import { bookPair } from "../fakes/bookPair.ts";
import { offer, tradingWorld } from "./trade.ts";

const SEED = 20_240_004;
/** Silence after which the network drops a maker's orders. */
const ORDER_LIFE_MS = 90_000;
/** Between two keep-alives of a maker. */
const KEEP_ALIVE_MS = 30_000;

test("a node that joins late sees the whole book", async () => {
  const t = await tradingWorld({ seed: SEED });
  const { world, maker } = t;
  const uuids = [await offer(world, maker, "4", "0.5"), await offer(world, maker, "5", "0.6"), await offer(world, maker, "6", "0.4")];
  await world.advance(10 * 60_000);
  const late = world.addNode("late");
  await late.start();
  await world.runUntil("it has a relay", () => late.p2p.relays().length > 0);
  const { asks } = await world.settle(bookPair(late.node, "DOC", "MARTY"));
  // Cheapest first.
  expect(asks.map((a) => a.item.uuid)).toEqual([uuids[2], uuids[0], uuids[1]]);
  await world.close();
});

test("the orders of a maker that went silent die within 90 s, for the relay and for everybody", async () => {
  const t = await tradingWorld({ seed: SEED });
  const { world, maker, taker } = t;
  const uuid = await offer(world, maker, "4", "0.5");
  const asks = async (): Promise<readonly string[]> =>
    (await world.settle(bookPair(taker.node, "DOC", "MARTY"))).asks.map((a) => a.item.uuid);
  await world.advance(5 * 60_000);
  expect(await asks()).toEqual([uuid]);
  maker.crash();
  await world.advance(ORDER_LIFE_MS - KEEP_ALIVE_MS - 1_000);
  expect(await asks()).toEqual([uuid]);
  await world.advance(KEEP_ALIVE_MS + 1_000);
  expect(await asks()).toEqual([]);
  const late = world.addNode("late");
  await late.start();
  await world.runUntil("it has a relay", () => late.p2p.relays().length > 0);
  expect((await world.settle(bookPair(late.node, "DOC", "MARTY"))).asks).toEqual([]);
  await world.close();
});

test("a maker that comes back after a crash has its order on the book again, and it trades", async () => {
  const t = await tradingWorld({ seed: SEED });
  const { world, maker, taker } = t;
  const uuid = await offer(world, maker, "4", "0.5");
  maker.crash();
  await world.advance(10 * 60_000);
  await maker.start(["DOC", "MARTY"]);
  await world.runUntil("it has a relay", () => maker.p2p.relays().length > 0);
  await world.advance(2 * KEEP_ALIVE_MS);
  const { asks } = await world.settle(bookPair(taker.node, "DOC", "MARTY"));
  expect(asks.map((a) => a.item.uuid)).toEqual([uuid]);
  await world.close();
});
