import { afterEach, expect, test } from "vitest";
import { SwapWorld } from "../fakes/swapWorld.ts";

let world: SwapWorld;
afterEach(() => world.close());

const HOUR_MS = 3_600_000;
const state = (side: SwapWorld["maker"], uuid: string) => side.state(uuid);

test("a clock set back three hours in the middle of a swap delays no message and no broadcast", async () => {
  world = await SwapWorld.open();
  const stop = world.lose(world.taker, (m) => m.type === "MakerPayment");
  const uuid = await world.start();
  world.maker.rpcOf("AAA").instead.set("sendrawtransaction", { ok: false, error: { kind: "unreachable", message: "no" } });
  await world.until("the maker tries", async () => (await state(world.maker, uuid)).own.makerPayment?.attempted === true);
  await world.advance(10);
  world.maker.skewMs = -3 * HOUR_MS;
  world.taker.skewMs = -3 * HOUR_MS;
  world.maker.rpcOf("AAA").instead.clear();
  stop();
  await world.until("the payment is out", async () => (await state(world.maker, uuid)).facts.makerPayment !== undefined, 30);
  expect(await world.finish(uuid, 300)).toEqual({ maker: "success", taker: "success" });
});

test("a clock that comes back years early after a restart does not make it early enough to reveal the secret", async () => {
  world = await SwapWorld.open();
  world.maker.refuse = (e) => (e.type === "tx_attempted" && e.slot === "takerPaymentSpend" ? "full" : null);
  const uuid = await world.start();
  await world.until("the claim is signed", async () => (await state(world.maker, uuid)).own.takerPaymentSpend !== undefined);
  await world.maker.stop();
  world.maker.refuse = () => null;
  // The taker may refund by now.
  await world.advance(900);
  world.maker.skewMs = -20 * 365 * 24 * HOUR_MS;
  await world.maker.restart();
  await world.advance(120);
  expect((await state(world.maker, uuid)).own.takerPaymentSpend?.attempted ?? false).toBe(false);
  const outcomes = await world.finish(uuid);
  expect(outcomes).toEqual({ maker: "refunded", taker: "refunded" });
});

/** Both nodes are without power for hours, the taker with a clock that goes on from where it stopped. */
async function losePower(): Promise<void> {
  await world.taker.stop();
  await world.maker.stop();
  await world.advance(2_400);
  world.taker.skewMs = -2_400_000;
}

test("a clock that stood still for hours without power has no taker pay a maker that may take its payment back by now", async () => {
  world = await SwapWorld.open();
  world.taker.refuse = (e) => (e.type === "tx_signed" && e.slot === "takerPayment" ? "full" : null);
  const uuid = await world.start();
  await world.until("the maker payment is deep", async () => (await state(world.taker, uuid)).facts.makerPayment?.confirmed === true);
  await losePower();
  world.taker.refuse = () => null;
  await world.taker.restart();
  await world.until("the taker gives up", async () => (await world.outcome(world.taker, uuid)) === "failed", 600);
  expect((await world.taker.events(uuid)).some(({ event: e }) => e.type === "tx_signed" && e.slot === "takerPayment")).toBe(false);
});

test("nor has it a taker pay its fee to nobody", async () => {
  world = await SwapWorld.open();
  world.taker.refuse = (e) => (e.type === "tx_signed" && e.slot === "fee" ? "full" : null);
  const uuid = await world.start();
  await world.until("it is agreed", async () => (await state(world.taker, uuid)).negotiated !== null);
  await losePower();
  world.taker.refuse = () => null;
  await world.taker.restart();
  await world.until("the taker gives up", async () => (await world.outcome(world.taker, uuid)) === "failed", 600);
  expect((await world.taker.events(uuid)).some(({ event: e }) => e.type === "tx_signed")).toBe(false);
});

test("a fee that was signed by then does not leave", async () => {
  world = await SwapWorld.open();
  world.taker.refuse = (e) => (e.type === "tx_attempted" && e.slot === "fee" ? "full" : null);
  const uuid = await world.start();
  await world.until("the fee is signed", async () => (await state(world.taker, uuid)).own.fee !== undefined);
  await losePower();
  world.taker.refuse = () => null;
  await world.taker.restart();
  await world.until("the taker gives up", async () => (await world.outcome(world.taker, uuid)) === "failed", 600);
  expect((await world.taker.events(uuid)).some(({ event: e }) => e.type === "tx_attempted")).toBe(false);
});

test("a payment that was signed by then does not leave", async () => {
  world = await SwapWorld.open();
  world.taker.refuse = (e) => (e.type === "tx_attempted" && e.slot === "takerPayment" ? "full" : null);
  const uuid = await world.start();
  await world.until("the payment is signed", async () => (await state(world.taker, uuid)).own.takerPayment !== undefined);
  await losePower();
  world.taker.refuse = () => null;
  await world.taker.restart();
  await world.until("the taker gives up", async () => (await world.outcome(world.taker, uuid)) === "failed", 600);
});

test("one that may have left, and is in no block, is taken back", async () => {
  world = await SwapWorld.open();
  // The maker would send it on. What is told it after the outage is not lost.
  const stop = world.lose(world.maker, (m) => m.type === "TakerPayment");
  const uuid = await world.start();
  await world.until("the maker payment", async () => (await state(world.taker, uuid)).facts.makerPayment !== undefined);
  world.taker.rpcOf("BBB").instead.set("sendrawtransaction", { ok: false, error: { kind: "unreachable", message: "no" } });
  await world.until("the taker tries to pay", async () => (await state(world.taker, uuid)).own.takerPayment?.attempted === true);
  await losePower();
  world.taker.rpcOf("BBB").instead.clear();
  stop();
  const told = (): number => world.sent(world.taker, uuid).filter((m) => m.type === "TakerPayment").length;
  const before = told();
  await world.taker.restart();
  await world.until("the taker ends", async () => (await world.outcome(world.taker, uuid)) !== null, 600);
  expect([await world.outcome(world.taker, uuid), told() - before]).toEqual(["cancelled", 0]);
});

test("a clock that jumps ahead a day in the middle of a swap costs time, not coins", async () => {
  world = await SwapWorld.open();
  const uuid = await world.start();
  await world.until("the maker payment", async () => (await state(world.maker, uuid)).facts.makerPayment !== undefined);
  world.maker.skewMs = 24 * HOUR_MS;
  const outcomes = await world.finish(uuid);
  expect(["refunded", "success"]).toContain(outcomes.maker);
  expect(outcomes.taker === "success").toBe(outcomes.maker === "success");
});

// A stalling server is waited for longer than a second.
test.skipIf(SwapWorld.isElectrum)("limits are inclusive: what is due by a second may still leave in it, and not in the next", async () => {
  for (const late of [0, 1]) {
    world = await SwapWorld.open();
    world.taker.refuse = (e) => (e.type === "tx_attempted" && e.slot === "fee" ? "full" : null);
    const uuid = await world.start();
    await world.until("the fee is signed", async () => (await state(world.taker, uuid)).own.fee !== undefined);
    const notAfter = (await state(world.taker, uuid)).own.fee?.notAfter ?? 0;
    // The duty pauses between tries: a new life looks at once.
    await world.taker.stop();
    world.taker.refuse = () => null;
    world.taker.skewMs = (notAfter + late) * 1_000 - world.clock.nowMs();
    await world.taker.restart();
    world.taker.skewMs = (notAfter + late) * 1_000 - world.clock.nowMs();
    await world.advance(0.5);
    expect((await state(world.taker, uuid)).own.fee?.attempted ?? false, `${late} s late`).toBe(late === 0);
    if (late === 0) await world.close();
  }
});
