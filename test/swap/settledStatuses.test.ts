import { afterEach, expect, test } from "vitest";
import { type SwapLogs, swapStatuses } from "../../src/main/swapStatuses.ts";
import type { SwapStatus } from "../../src/rpc/ctx/swaps.ts";
import { type SwapSide, SwapWorld } from "../fakes/swapWorld.ts";

/** Statuses that are kept must say what the logs say, whatever becomes of the swaps. */

let world: SwapWorld;
afterEach(() => world?.close());

/** The statuses as the RPC reads them, of whatever runner a side has, and how often a log was read for them. */
function statusesOf(side: SwapSide): { readonly status: (uuid: string) => Promise<SwapStatus | undefined>; reads: number } {
  const logs: SwapLogs = {
    log: (uuid) => {
      counted.reads++;
      return side.runner.log(uuid);
    },
    isSettled: (uuid) => side.runner.isSettled(uuid),
    endedElsewhere: async () => null,
  };
  const counted = { status: swapStatuses(logs), reads: 0 };
  return counted;
}

test("at every step of a swap, over a reorganisation after its end, a disabled coin and a restart, the status is that of the log", async () => {
  world = await SwapWorld.open();
  const uuid = await world.start();
  const sides = [world.maker, world.taker].map((side) => ({ side, kept: statusesOf(side) }));
  const same = async (): Promise<void> => {
    for (const { side, kept } of sides) expect(await kept.status(uuid)).toEqual(await side.status(uuid));
  };
  const until = (what: string, isDone: () => Promise<boolean>): Promise<void> =>
    world.until(
      what,
      async () => {
        await same();
        return isDone();
      },
      4_000,
    );
  const ended = async (): Promise<boolean> =>
    (await world.outcome(world.maker, uuid)) !== null && (await world.outcome(world.taker, uuid)) !== null;
  await until("the end", ended);
  for (const { side } of sides) expect(side.runner.isSettled(uuid)).toBe(false);

  // The claim that ended the maker's swap is taken back, and comes again.
  const claim = (await world.maker.state(uuid)).facts.takerPaymentSpend?.txid ?? "";
  const { state } = world.chain("BBB");
  const depth = state.tip.height - (state.blockOfTx(claim)?.height ?? 0) + 1;
  expect(world.chain("BBB").reorg({ depth, forget: [claim] })).toMatchObject({ ok: true });
  await until("the claim is gone", async () => (await world.maker.events(uuid)).some(({ event }) => event.type === "tx_withdrawn"));
  await world.drive(world.maker.coins.disable("AAA", true));
  await same();
  await world.maker.enable("AAA");
  await until("the claim is back", async () => (await world.maker.state(uuid)).facts.takerPaymentSpend?.confirmed === true);

  await world.maker.stop();
  await world.maker.restart();
  expect(world.maker.runner.isSettled(uuid)).toBe(false);
  await until("nothing can change", async () => sides.every(({ side }) => side.runner.isSettled(uuid)));
  for (const { kept } of sides) kept.reads = 0;
  for (let i = 0; i < 5; i++) await same();
  // The first of these may have read the log; the others did not.
  for (const { kept } of sides) expect(kept.reads).toBeLessThanOrEqual(1);

  await world.maker.stop();
  await world.maker.restart();
  expect(world.maker.runner.isSettled(uuid)).toBe(true);
  await same();
});

test("a swap nobody has is not settled, nor kept: it may start at any moment", async () => {
  world = await SwapWorld.open();
  const kept = statusesOf(world.maker);
  const uuid = "00000000-0000-4000-8000-000000000001";
  expect(await kept.status(uuid)).toBeUndefined();
  expect(world.maker.runner.isSettled(uuid)).toBe(false);
  expect(await world.start()).toBe(uuid);
  expect(await kept.status(uuid)).toMatchObject({ uuid, is_finished: false });
  expect(world.maker.runner.isSettled(uuid)).toBe(false);
});

test("no more than 500 are kept, those asked for last", async () => {
  world = await SwapWorld.open();
  const uuid = await world.start();
  await world.finish(uuid);
  const log = await world.maker.events(uuid);
  const read: string[] = [];
  const status = swapStatuses({
    log: async (id) => {
      read.push(id);
      return log;
    },
    isSettled: () => true,
    endedElsewhere: async () => null,
  });
  for (let i = 0; i < 500; i++) await status(String(i));
  await status("0");
  await status("500");
  read.length = 0;
  for (const id of ["0", "2", "499", "500"]) await status(id);
  expect(read).toEqual([]);
  await status("1");
  expect(read).toEqual(["1"]);
});

test("what ended in KDF is not kept: a million bytes each, for anybody who asks for them", async () => {
  const read: string[] = [];
  const status = swapStatuses({
    log: async () => null,
    isSettled: () => true,
    endedElsewhere: async (uuid) => {
      read.push(uuid);
      return { type: "Maker", uuid, events: [{ timestamp: 1, event: { type: "Finished" } }] };
    },
  });
  for (let i = 0; i < 2; i++) expect(await status("a")).toMatchObject({ uuid: "a", is_finished: true });
  expect(read).toEqual(["a", "a"]);
});
