import { afterEach, expect, test } from "vitest";
import { createSwapViews } from "../../src/adapters/sqlite/swapViews.ts";
import { ShownSwap, type SwapStatus } from "../../src/core/swap/shownSwap.ts";
import { statusMaker, swapStatus } from "../../src/core/swap/swapStatus.ts";
import { swapStatuses } from "../../src/main/swapStatuses.ts";
import type { SwapsApi } from "../../src/rpc/ctx/swaps.ts";
import { PromptClock } from "../fakes/promptClock.ts";
import { type SwapSide, SwapWorld } from "../fakes/swapWorld.ts";

/** Statuses that are kept beside the logs must say what the logs say, whatever becomes of the swaps. */

let world: SwapWorld;
afterEach(() => world?.close());

const MAKER = statusMaker("test");

/** The statuses as the RPC reads them, of whatever runner a side has, and how often a log was read for them. */
class Lists {
  readonly #statuses: Pick<SwapsApi, "status" | "statuses">;
  reads = 0;

  constructor(side: SwapSide) {
    const views = createSwapViews(side.db, MAKER);
    this.#statuses = swapStatuses({
      clock: new PromptClock(),
      log: (uuid) => {
        this.reads++;
        return side.runner.log(uuid);
      },
      isSettled: (uuid) => side.runner.isSettled(uuid),
      unseenOf: (uuid) => side.runner.unseenOf(uuid),
      endedElsewhere: async () => null,
      views,
      keep: (made) => void views.keep(made),
    });
  }

  async listed(uuid: string): Promise<SwapStatus | undefined> {
    return (await this.#statuses.statuses([uuid])).get(uuid)?.status;
  }

  alone = async (uuid: string): Promise<SwapStatus | undefined> => (await this.#statuses.status(uuid))?.status;
}

test("at every step of a swap, over a reorganisation after its end, a disabled coin and a restart, the status is that of the log", async () => {
  world = await SwapWorld.open();
  const uuid = await world.start();
  const sides = [world.maker, world.taker].map((side) => ({ side, kept: new Lists(side) }));
  const same = async (): Promise<void> => {
    for (const { side, kept } of sides) expect(await kept.listed(uuid)).toEqual(await side.status(uuid));
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
  // Asked for by itself it is made of its log each time.
  for (const { kept, side } of sides) {
    kept.reads = 0;
    expect(await kept.alone(uuid)).toEqual(await side.status(uuid));
    expect(kept.reads).toBe(1);
  }

  await world.maker.stop();
  await world.maker.restart();
  expect(world.maker.runner.isSettled(uuid)).toBe(true);
  await same();
});

test("a swap is told of once when nothing about it can change any more; the status kept then is the one of the log, and no list reads it", async () => {
  world = await SwapWorld.open();
  const told: string[] = [];
  for (const side of [world.maker, world.taker])
    side.onSettled = (uuid, log) => {
      told.push(`${side.role} ${uuid}`);
      void createSwapViews(side.db, MAKER).keep([{ uuid, events: log.length, status: ShownSwap.of(swapStatus(log)) }]);
    };
  const uuid = await world.start();
  await world.finish(uuid);
  expect(told).toEqual([]);
  await world.until("nothing can change", async () => [world.maker, world.taker].every((side) => side.runner.isSettled(uuid)), 4_000);
  expect(told.sort()).toEqual([`maker ${uuid}`, `taker ${uuid}`]);
  for (const side of [world.maker, world.taker]) {
    const lists = new Lists(side);
    expect(await lists.listed(uuid)).toEqual(await side.status(uuid));
    expect(lists.reads).toBe(0);
  }
});

test("a swap nobody has is not settled, nor kept: it may start at any moment", async () => {
  world = await SwapWorld.open();
  const kept = new Lists(world.maker);
  const uuid = "00000000-0000-4000-8000-000000000001";
  expect(await kept.listed(uuid)).toBeUndefined();
  expect(world.maker.runner.isSettled(uuid)).toBe(false);
  expect(await world.start()).toBe(uuid);
  expect(await kept.listed(uuid)).toMatchObject({ uuid, is_finished: false });
  expect(world.maker.runner.isSettled(uuid)).toBe(false);
});

test("what ended in KDF is shown as it was stored, and not kept a second time", async () => {
  const kept: string[] = [];
  const { statuses } = swapStatuses({
    clock: new PromptClock(),
    log: async () => null,
    isSettled: () => true,
    unseenOf: () => null,
    endedElsewhere: async (uuid) => ({ type: "Maker", uuid, events: [{ timestamp: 1, event: { type: "Finished" } }] }),
    views: { read: async () => new Map() },
    keep: (made) => void kept.push(...made.map((m) => m.uuid)),
  });
  expect((await statuses(["a"])).get("a")?.status).toMatchObject({ uuid: "a", is_finished: true });
  expect(kept).toEqual([]);
});

test("statuses of a long page are made some in a turn, and all of them in their order", async () => {
  const clock = new PromptClock();
  let made = 0;
  const inTurn: number[] = [];
  clock.onTurn = () => {
    inTurn.push(made);
    made = 0;
  };
  const { statuses } = swapStatuses({
    clock,
    log: async () => null,
    isSettled: () => false,
    unseenOf: () => null,
    endedElsewhere: async (uuid) => {
      made++;
      return { type: "Maker", uuid, events: [{ timestamp: 1, event: { type: "Finished" } }] };
    },
    views: { read: async () => new Map() },
    keep: () => undefined,
  });
  const uuids = Array.from({ length: 120 }, (_, n) => String(n));
  expect([...(await statuses(uuids)).keys()]).toEqual(uuids);
  expect([...inTurn, made]).toEqual([50, 50, 20]);
});
