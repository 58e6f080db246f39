import { afterEach, expect, test } from "vitest";
import type { SwapEvent } from "../../src/core/swap/events.ts";
import { type SwapSide, SwapWorld, type Ticker } from "../fakes/swapWorld.ts";

// A node starts while the backend of one coin of its swaps is away: what they must do on the other coin cannot wait for it.

let world: SwapWorld;
afterEach(() => world.close());

const has = async (side: SwapSide, uuid: string, type: SwapEvent["type"], slot?: string): Promise<boolean> =>
  (await side.events(uuid)).some(({ event: e }) => e.type === type && (slot === undefined || ("slot" in e && e.slot === slot)));
const until = (side: SwapSide, uuid: string, type: SwapEvent["type"], slot?: string): Promise<void> =>
  world.until(`${type} ${slot ?? ""}`, () => has(side, uuid, type, slot));

/** Starts a side again, which finds one of its coins' daemons away. */
async function restartWithout(side: SwapSide, away: Ticker): Promise<void> {
  await side.stop();
  for (const ticker of ["AAA", "BBB"] as const) side.rpcOf(ticker).down = ticker === away;
  await side.restart(["AAA", "BBB"].filter((ticker) => ticker !== away) as Ticker[]);
  await expect(side.enable(away)).rejects.toThrow("DaemonFailed");
}

test("a taker that knows the secret claims, though the daemon of the coin it gave is away at its start", async () => {
  world = await SwapWorld.open();
  const { taker } = world;
  const uuid = await world.start();
  await until(taker, uuid, "tx_attempted", "takerPayment");
  taker.rpcOf("AAA").down = true;
  await until(taker, uuid, "secret_learned");
  await restartWithout(taker, "BBB");
  await until(taker, uuid, "tx_confirmed", "makerPaymentSpend");
  // It is there for swaps only, until it has shown a balance.
  expect([taker.coins.active("BBB"), taker.coins.running("BBB")?.ticker]).toEqual([undefined, "BBB"]);
  expect(taker.coins.all().map((c) => c.ticker)).toEqual(["AAA"]);
  await expect(taker.enable("BBB")).rejects.toThrow("DaemonFailed");
  taker.rpcOf("BBB").down = false;
  // Electrum servers that were away are dialled again within a minute.
  await world.advance(60);
  await taker.enable("BBB");
  expect(taker.coins.active("BBB")?.ticker).toBe("BBB");
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test("a taker takes its payment back, though the daemon of the coin it was to get is away from its start on", async () => {
  world = await SwapWorld.open();
  const { maker, taker } = world;
  const uuid = await world.start();
  await until(maker, uuid, "tx_seen", "takerPayment");
  await maker.stop();
  await restartWithout(taker, "AAA");
  await until(taker, uuid, "tx_confirmed", "takerPaymentRefund");
});

test("a coin that was kept for swaps is opened anew by another request, and its swaps go on with that", async () => {
  world = await SwapWorld.open();
  const { taker } = world;
  const uuid = await world.start();
  await until(taker, uuid, "tx_attempted", "takerPayment");
  await restartWithout(taker, "BBB");
  const kept = taker.coins.running("BBB");
  taker.rpcOf("BBB").down = false;
  await taker.enable("BBB", 2);
  expect(taker.coins.active("BBB")?.ticker).toBe("BBB");
  expect(taker.coins.running("BBB")).not.toBe(kept);
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test.each([
  ["is refused", [], false],
  ["is called off", undefined, true],
] as const)("a coin that was kept for swaps stays for them when another request for it %s", async (_how, servers, isCalledOff) => {
  world = await SwapWorld.open();
  const { taker } = world;
  const uuid = await world.start();
  await until(taker, uuid, "tx_attempted", "takerPayment");
  taker.rpcOf("AAA").down = true;
  await until(taker, uuid, "secret_learned");
  await taker.stop();
  for (const ticker of ["AAA", "BBB"] as const) taker.rpcOf(ticker).down = true;
  await taker.restart([]);
  await expect(taker.enable("AAA")).rejects.toThrow("DaemonFailed");
  await expect(taker.enable("BBB")).rejects.toThrow("DaemonFailed");
  const request = {
    coin: "BBB",
    mm2: true,
    requiredConfirmations: 1,
    requiresNotarization: false,
    daemon: undefined,
    birthdayHeight: undefined,
    rescan: true,
    ...(servers ? { electrum: { servers, minConnected: undefined, maxConnected: undefined } } : {}),
  };
  const enabled = taker.coins.enable(request, isCalledOff ? AbortSignal.abort() : new AbortController().signal);
  const said = await world.drive(enabled).then(
    (answer) => (answer.ok ? "enabled" : answer.error.kind),
    () => "called off",
  );
  expect(said).toBe(isCalledOff ? "called off" : "BadServers");
  taker.rpcOf("AAA").down = false;
  await until(taker, uuid, "tx_confirmed", "makerPaymentSpend");
});

test("a coin whose daemon is away at a start, and that no swap needs, is closed", async () => {
  world = await SwapWorld.open();
  const { taker } = world;
  await restartWithout(taker, "BBB");
  expect(taker.coins.running("BBB")).toBeUndefined();
});
