import { describe, expect, test } from "vitest";
import type { Role } from "../../src/core/swap/events.ts";
import { SwapWorld } from "../fakes/swapWorld.ts";

/** Events either side stores in a good swap. */
const MOST_EVENTS = 16;

/** One swap in which the answer to the `n`-th append of a side is lost. @returns whether there was such an append */
async function swapWithFault(role: Role, n: number): Promise<boolean> {
  const world = await SwapWorld.open();
  let left = n;
  world.side(role).refuse = (e) => (e.type !== "started" && left-- === 0 ? "lost" : null);
  const uuid = await world.start();
  expect(await world.finish(uuid), `${role}, event ${n}\n${world.report()}`).toEqual({ maker: "success", taker: "success" });
  for (const side of [world.maker, world.taker]) {
    const log = await side.events(uuid);
    expect(log.filter((e) => e.event.type === "finished")).toHaveLength(1);
    for (const ticker of ["AAA", "BBB"] as const) expect(side.coin(ticker).ledger.held()).toBe(0n);
  }
  await world.close();
  return left < 0;
}

for (const role of ["maker", "taker"] as const) {
  describe(`the ${role}'s disk`, () => {
    test("stores any one event and loses the answer: the event counts and is not stored twice", async () => {
      let reached = 0;
      for (let n = 0; n < MOST_EVENTS; n++) if (await swapWithFault(role, n)) reached = n;
      expect(reached).toBeGreaterThan(8);
    });
  });
}
