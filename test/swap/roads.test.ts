import { afterEach, describe, expect, test } from "vitest";
import type { Role, SwapEvent } from "../../src/core/swap/events.ts";
import { type Purse, type SwapSide, SwapWorld, type Ticker } from "../fakes/swapWorld.ts";

let world: SwapWorld;
afterEach(() => world.close());

/** Miner fees of one side of one swap stay far below this; the dex fee comes on top for a taker. */
const FEES = 10_000n;
const DEX_FEE = 25_000n;
const PAID: { readonly [R in Role]: bigint } = { maker: 200_000_000n, taker: 100_000_000n };
const GIVES: { readonly [R in Role]: Ticker } = { maker: "AAA", taker: "BBB" };

/** "traded", "kept" or what else became of a side's money. */
function fate(side: SwapSide, before: Purse): string {
  const after = side.purse();
  const own = GIVES[side.role];
  const other = own === "AAA" ? "BBB" : "AAA";
  const given = before[own] - after[own];
  const got = after[other] - before[other];
  const fees = FEES + (side.role === "taker" ? DEX_FEE : 0n);
  const theirs = PAID[side.role === "maker" ? "taker" : "maker"];
  if (given >= PAID[side.role] && given <= PAID[side.role] + fees && got <= theirs && got >= theirs - FEES) return "traded";
  return given >= 0n && given <= fees && got === 0n ? "kept" : `gave ${given} ${own}, got ${got} ${other}`;
}

const stepOf = (e: SwapEvent): string => ("slot" in e ? `${e.type} ${e.slot}` : e.type);
/** A payment that is seen before its message comes is not received any more. */
const isStep = (e: SwapEvent, step: string): boolean =>
  stepOf(e) === step || (step.startsWith("tx_received") && stepOf(e) === step.replace("received", "seen"));
const reached = async (side: SwapSide, uuid: string, step: string): Promise<boolean> =>
  (await side.events(uuid)).some((e) => isStep(e.event, step));

const STEPS: { readonly [R in Role]: readonly string[] } = {
  maker: [
    "started",
    "negotiated",
    "tx_received fee",
    "tx_signed makerPayment",
    "tx_attempted makerPayment",
    "tx_seen makerPayment",
    "tx_confirmed makerPayment",
    "tx_confirmed takerPayment",
    "tx_signed takerPaymentSpend",
    "tx_attempted takerPaymentSpend",
    "tx_seen takerPaymentSpend",
  ],
  taker: [
    "started",
    "negotiated",
    "tx_signed fee",
    "tx_attempted fee",
    "tx_received makerPayment",
    "tx_confirmed makerPayment",
    "tx_signed takerPayment",
    "tx_attempted takerPayment",
    "tx_seen takerPayment",
    "tx_seen takerPaymentSpend",
    "secret_learned",
    "tx_signed makerPaymentSpend",
    "tx_seen makerPaymentSpend",
  ],
};

test("two honest sides finish a swap, and every reservation and lock is gone when it is settled", async () => {
  world = await SwapWorld.open();
  const before = { maker: world.maker.purse(), taker: world.taker.purse() };
  const uuid = await world.start();
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
  expect([fate(world.maker, before.maker), fate(world.taker, before.taker)]).toEqual(["traded", "traded"]);
  await world.advance(400);
  expect(world.maker.coin("AAA").ledger.held()).toBe(0n);
  expect(world.taker.coin("BBB").ledger.held()).toBe(0n);
  expect(await world.maker.store.unsettled()).toEqual([]);
});

for (const role of ["maker", "taker"] as const) {
  const other = role === "maker" ? "taker" : "maker";

  describe(`the ${role} vanishes for good`, () => {
    for (const step of STEPS[role]) {
      test(`after "${step}": the ${other} ends with its own coin or the other`, async () => {
        world = await SwapWorld.open();
        const stays = world.side(other);
        const before = stays.purse();
        const uuid = await world.start();
        await world.until(step, () => reached(world.side(role), uuid, step));
        await world.side(role).stop();
        await world.until(`the ${other} is done`, async () => (await world.outcome(stays, uuid)) !== null);
        expect(["traded", "kept"]).toContain(fate(stays, before));
        const outcome = await world.outcome(stays, uuid);
        expect(outcome === "success").toBe(fate(stays, before) === "traded");
        await world.side(role).restart();
      });
    }
  });

  describe(`the ${role} restarts`, () => {
    for (const step of STEPS[role]) {
      test(`a quarter of an hour after "${step}", when every limit has passed: nobody loses and both say what became of it`, async () => {
        world = await SwapWorld.open();
        const before = { maker: world.maker.purse(), taker: world.taker.purse() };
        const uuid = await world.start();
        await world.until(step, () => reached(world.side(role), uuid, step));
        await world.side(role).stop();
        await world.advance(900);
        await world.side(role).restart();
        const outcomes = await world.finish(uuid);
        for (const r of ["maker", "taker"] as const) {
          const became = fate(world.side(r), before[r]);
          expect(["traded", "kept"], `${r}: ${outcomes[r]}\n${world.report()}`).toContain(became);
          expect(outcomes[r] === "success").toBe(became === "traded");
        }
      });
    }
  });

  describe(`a daemon of the ${role} goes away`, () => {
    for (const ticker of ["AAA", "BBB"] as const) {
      for (const step of STEPS[role]) {
        test(`${ticker}'s, for 60 s after "${step}": the swap ends well for both`, async () => {
          world = await SwapWorld.open();
          const before = { maker: world.maker.purse(), taker: world.taker.purse() };
          const uuid = await world.start();
          await world.until(step, () => reached(world.side(role), uuid, step));
          const rpc = world.side(role).rpcOf(ticker);
          rpc.down = true;
          await world.advance(60);
          rpc.down = false;
          const outcomes = await world.finish(uuid);
          expect(outcomes).toEqual({ maker: "success", taker: "success" });
          expect([fate(world.maker, before.maker), fate(world.taker, before.taker)]).toEqual(["traded", "traded"]);
        });
      }
    }
  });
}
