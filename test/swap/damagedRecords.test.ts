import { afterEach, expect, test } from "vitest";
import type { SwapEvent } from "../../src/core/swap/events.ts";
import { SwapWorld } from "../fakes/swapWorld.ts";

let world: SwapWorld;
afterEach(() => world.close());

const signed = (e: SwapEvent): boolean => e.type === "tx_signed" && e.slot === "makerPayment";

/** Two swaps whose maker has paid, the maker stopped. */
async function twoSwaps(): Promise<readonly [string, string]> {
  world = await SwapWorld.open();
  const uuids = [await world.start(), await world.start()] as const;
  for (const uuid of uuids) {
    await world.until("the maker has signed", async () => (await world.maker.events(uuid)).some((e) => signed(e.event)));
  }
  await world.maker.stop();
  return uuids;
}

test.each([
  [
    "a digit of a transaction changed",
    'UPDATE swap_events SET event = replace(event, \'"raw":"01\', \'"raw":"11\') WHERE uuid = ?',
    "check sum",
  ],
  ["a record cut short", "UPDATE swap_events SET event = substr(event, 1, 40) WHERE uuid = ? AND seq = 2", "event 2: it is not JSON"],
  ["a record empty", "UPDATE swap_events SET event = '' WHERE uuid = ? AND seq = 0", "event 0: it is not JSON"],
  ["a record missing", "DELETE FROM swap_events WHERE uuid = ? AND seq = 1", "event 1: it is missing"],
  ["all records missing", "DELETE FROM swap_events WHERE uuid = ?", "empty swap log"],
])("a swap with %s is named and left as it is, and the other goes on", async (_what, sql, said) => {
  const [damaged, whole] = await twoSwaps();
  await world.maker.db.write([{ sql, params: [damaged] }]);
  const rows = await world.maker.db.read("SELECT * FROM swap_events WHERE uuid = ? ORDER BY seq", [damaged]);
  await world.maker.restart();
  await world.until("the other swap ends", async () => (await world.outcome(world.maker, whole)) === "success");
  const told = world.maker.log.lines.filter((l) => l.event === "swap_not_read");
  expect(told.map((l) => l.fields?.swap)).toEqual([damaged]);
  expect(JSON.stringify(told[0]?.fields)).toContain(said);
  expect(world.maker.runner.activeUuids()).toEqual([damaged]);
  expect(world.maker.runner.activeWith("AAA")).toEqual([damaged]);
  expect(await world.maker.db.read("SELECT * FROM swap_events WHERE uuid = ? ORDER BY seq", [damaged])).toEqual(rows);
});

test("a damaged row of the list of swaps changes nothing: the log says what the swap is", async () => {
  const uuids = await twoSwaps();
  await world.maker.db.write([
    { sql: "UPDATE swaps SET role = 'mak', my_coin = 'ZZZ', other_coin = '', settled = 1 WHERE uuid = ?", params: [uuids[0]] },
  ]);
  await world.maker.restart();
  for (const uuid of uuids) expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});
