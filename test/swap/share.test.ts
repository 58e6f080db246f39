import { afterEach, expect, test } from "vitest";
import { SwapWorld } from "../fakes/swapWorld.ts";

let world: SwapWorld;
afterEach(() => world.close());

test("a swap counts against its taker's share until its fee is there, as a handshake does", async () => {
  world = await SwapWorld.open();
  const stop = world.lose(world.maker, (m) => m.type === "TakerFee");
  const uuid = await world.start();
  const peer = (await world.maker.state(uuid)).terms.counterparty;
  const { runner } = world.maker;
  expect([runner.unpaidUnits("AAA"), runner.unpaidUnits("AAA", peer), runner.unpaidUnits("AAA", "02"), runner.unpaidUnits("BBB")]).toEqual([
    200_000_000n,
    200_000_000n,
    0n,
    0n,
  ]);
  stop();
  await world.until("the fee is there", async () => (await world.maker.state(uuid)).received.fee !== undefined);
  expect(runner.unpaidUnits("AAA")).toBe(0n);
});
