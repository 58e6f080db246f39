import { afterEach, describe, expect, test } from "vitest";
import type { Role } from "../../src/core/swap/events.ts";
import { SwapWorld } from "../fakes/swapWorld.ts";

let world: SwapWorld;
afterEach(() => world.close());

/** Events either side stores in a good swap. */
const MOST_EVENTS = 22;

/** One swap in which the `n`-th append of a side fails. @returns whether there was such an append */
async function swapWithFault(role: Role, n: number, fault: "full" | "lost"): Promise<boolean> {
  world = await SwapWorld.open();
  let left = n;
  let times = fault === "full" ? 3 : 1;
  world.side(role).refuse = (e) => {
    if (e.type === "started" || left-- > 0 || times-- <= 0) return null;
    left = 0;
    return fault;
  };
  const uuid = await world.start();
  expect(await world.finish(uuid), `${role}, event ${n}\n${world.report()}`).toEqual({ maker: "success", taker: "success" });
  for (const side of [world.maker, world.taker]) {
    const log = await side.events(uuid);
    expect(log.filter((e) => e.event.type === "finished")).toHaveLength(1);
    for (const ticker of ["AAA", "BBB"] as const) expect(side.coin(ticker).ledger.held()).toBe(0n);
  }
  return times <= (fault === "full" ? 2 : 0);
}

for (const role of ["maker", "taker"] as const) {
  describe(`the ${role}'s disk`, () => {
    test("is full three times at any one event: the swap goes on when there is room again, and nothing stays reserved", async () => {
      let reached = 0;
      for (let n = 0; n < MOST_EVENTS; n++) if (await swapWithFault(role, n, "full")) reached = n;
      expect(reached).toBeGreaterThan(8);
    });

    test("stores any one event and loses the answer: the event counts and is not stored twice", async () => {
      let reached = 0;
      for (let n = 0; n < MOST_EVENTS; n++) if (await swapWithFault(role, n, "lost")) reached = n;
      expect(reached).toBeGreaterThan(8);
    });
  });
}
