import { afterEach, describe, expect, test } from "vitest";
import { contractOf } from "../../src/app/swap/contracts.ts";
import type { Slot, SwapEvent } from "../../src/core/swap/events.ts";
import { type SwapSide, SwapWorld, type Ticker } from "../fakes/swapWorld.ts";

let world: SwapWorld;
afterEach(() => world.close());

/** The disk of a side refuses one event for as long as a test wants the step behind it delayed. */
function delay(side: SwapSide, type: SwapEvent["type"], slot: Slot): () => void {
  side.refuse = (e) => (e.type === type && "slot" in e && e.slot === slot ? "full" : null);
  return () => {
    side.refuse = () => null;
  };
}
/** A duty that was refused tries again within a minute. */
const untilTriedAgain = (): Promise<unknown> => world.advance(70);
const happened = async (side: SwapSide, uuid: string, type: SwapEvent["type"], slot: Slot): Promise<boolean> =>
  (await side.events(uuid)).some(({ event }) => event.type === type && "slot" in event && event.slot === slot);
const untilHappened = (side: SwapSide, uuid: string, type: SwapEvent["type"], slot: Slot): Promise<void> =>
  world.until(`${type} ${slot}`, () => happened(side, uuid, type, slot));
const secondsSinceStart = async (side: SwapSide, uuid: string): Promise<number> =>
  world.clock.nowMs() / 1_000 - (await side.state(uuid)).terms.startedAt;
const untilSecond = async (side: SwapSide, uuid: string, second: number): Promise<unknown> =>
  world.advance(second - (await secondsSinceStart(side, uuid)));
/** Takes every block since a transaction's away; the network forgets the named transactions. */
function reorgBelow(ticker: Ticker, txid: string, forget: readonly string[]): void {
  const { state } = world.chain(ticker);
  const depth = state.tip.height - (state.blockOfTx(txid)?.height ?? 0) + 1;
  const done = world.chain(ticker).reorg({ depth, forget });
  if (!done.ok) throw new Error(done.error.reason);
}

describe("what is too late is not even signed", () => {
  test.each([
    ["the maker's payment, after a third of the lock time", "maker", "makerPayment", "fee", 600, 201],
    ["the maker's payment, 600 s after the fee: the taker has gone", "maker", "makerPayment", "fee", 7_800, 620],
    ["the taker's payment, after two fifths of the lock time", "taker", "takerPayment", "makerPayment", 600, 241],
    ["the taker's fee, 600 s after the negotiation: the maker has gone", "taker", "fee", null, 7_800, 620],
  ] as const)("%s", async (_what, role, slot, after, lockDurationSec, second) => {
    world = await SwapWorld.open();
    const side = world.side(role);
    const lift = delay(side, "tx_signed", slot);
    const uuid = await world.start({ lockDurationSec });
    await world.until("its turn", async () => {
      const { negotiated, received, facts } = await side.state(uuid);
      return after === null ? negotiated !== null : after === "fee" ? received.fee !== undefined : facts[after]?.confirmed === true;
    });
    await untilSecond(side, uuid, second);
    lift();
    await untilTriedAgain();
    expect(await happened(side, uuid, "tx_signed", slot)).toBe(false);
    expect(await world.outcome(side, uuid)).toBe("failed");
  });

  test("the maker's claim, after four fifths of the lock time: its secret stays its own", async () => {
    world = await SwapWorld.open();
    const lift = delay(world.maker, "tx_signed", "takerPaymentSpend");
    const uuid = await world.start();
    await untilHappened(world.maker, uuid, "tx_confirmed", "takerPayment");
    await world.taker.stop();
    await untilSecond(world.maker, uuid, 481);
    lift();
    await untilTriedAgain();
    expect(await happened(world.maker, uuid, "tx_signed", "takerPaymentSpend")).toBe(false);
    expect((await world.maker.state(uuid)).refund?.reason).toContain("too late to reveal the secret");
    await world.taker.restart();
    expect(await world.finish(uuid)).toEqual({ maker: "refunded", taker: "refunded" });
  });
});

test("a maker whose clock is slow keeps its secret when the taker chain's own time says that the refund is near", async () => {
  world = await SwapWorld.open();
  const lift = delay(world.maker, "tx_attempted", "takerPaymentSpend");
  const uuid = await world.start();
  await untilHappened(world.maker, uuid, "tx_signed", "takerPaymentSpend");
  await world.taker.stop();
  world.maker.skewMs = -650_000;
  await world.advance(650);
  lift();
  await untilTriedAgain();
  const { own, refund } = await world.maker.state(uuid);
  expect([own.takerPaymentSpend?.attempted ?? false, refund?.reason]).toEqual([false, expect.stringContaining("chain's time")]);
  await world.taker.restart();
  expect(await world.finish(uuid)).toEqual({ maker: "refunded", taker: "refunded" });
});

test("a clock that is set back after a limit has passed makes nothing early again: what the log has seen counts", async () => {
  world = await SwapWorld.open();
  // What the limit would have it decide is not stored before the clock goes back.
  world.maker.refuse = (e) =>
    e.type === "refund_decided" || (e.type === "tx_attempted" && e.slot === "takerPaymentSpend") ? "full" : null;
  const uuid = await world.start();
  await untilHappened(world.maker, uuid, "tx_signed", "takerPaymentSpend");
  await world.taker.stop();
  await untilSecond(world.maker, uuid, 485);
  // Something that is written down after the limit: the taker payment moves into another block.
  const { facts } = await world.maker.state(uuid);
  reorgBelow("BBB", facts.takerPayment?.txid ?? "", []);
  await world.until("it is deep again", async () => {
    const { takerPayment } = (await world.maker.state(uuid)).facts;
    return takerPayment?.confirmed === true && takerPayment.block?.hash !== facts.takerPayment?.block?.hash;
  });
  world.maker.skewMs = -300_000;
  world.maker.refuse = () => null;
  await untilTriedAgain();
  const { own, refund } = await world.maker.state(uuid);
  expect([own.takerPaymentSpend?.attempted ?? false, refund?.reason]).toEqual([false, expect.stringContaining("limit")]);
  await world.taker.restart();
});

// The moment at which a daemon is looked at decides here; that the signed payment is not sent either is tested of both backends.
test.skipIf(SwapWorld.isElectrum)("the taker signs no payment while its view of the maker's chain is old", async () => {
  world = await SwapWorld.open();
  const lift = delay(world.taker, "tx_signed", "takerPayment");
  const uuid = await world.start();
  await untilHappened(world.taker, uuid, "tx_confirmed", "makerPayment");
  world.taker.rpcOf("AAA").down = true;
  lift();
  await untilTriedAgain();
  expect(await happened(world.taker, uuid, "tx_signed", "takerPayment")).toBe(false);
  world.taker.rpcOf("AAA").down = false;
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test("a payment that was claimed is not refunded when its lock passes, though the claim is in no block", async () => {
  world = await SwapWorld.open();
  const uuid = await world.start();
  await world.withheld(world.maker, uuid, "takerPaymentSpend");
  await world.withheld(world.taker, uuid, "makerPaymentSpend");
  await untilSecond(world.taker, uuid, 900);
  const { own, refund } = await world.taker.state(uuid);
  expect([own.takerPaymentRefund, refund]).toEqual([undefined, null]);
  for (const ticker of ["AAA", "BBB"] as const) world.chain(ticker).held.clear();
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test("a payment that a reorg takes back after it was paid for is sent again, however late, and not cancelled", async () => {
  world = await SwapWorld.open();
  const uuid = await world.start();
  await world.withheld(world.taker, uuid, "makerPaymentSpend");
  await world.maker.stop();
  await untilSecond(world.taker, uuid, 500);
  const paid = (await world.taker.state(uuid)).own.takerPayment?.txid ?? "";
  reorgBelow("BBB", paid, [paid]);
  expect(world.chain("BBB").state.blockOfTx(paid)).toBeUndefined();
  // What its backend took before is not known after a start.
  await world.taker.stop();
  await world.taker.restart();
  await world.until("it is back", () => world.chain("BBB").state.blockOfTx(paid) !== undefined, 300);
  const { own, refund } = await world.taker.state(uuid);
  expect([own.cancel, refund]).toEqual([undefined, null]);
  world.chain("AAA").held.clear();
  await world.maker.restart();
  expect((await world.finish(uuid)).taker).toBe("success");
});

test("a claimed payment that every mempool forgot is brought back by the maker, whose claim needs it", async () => {
  world = await SwapWorld.open();
  const uuid = await world.start();
  await untilHappened(world.maker, uuid, "tx_seen", "takerPaymentSpend");
  await world.taker.stop();
  const { own, facts } = await world.maker.state(uuid);
  const paid = facts.takerPayment?.txid ?? "";
  reorgBelow("BBB", paid, [paid, own.takerPaymentSpend?.txid ?? ""]);
  await world.until("the maker is done", async () => (await world.outcome(world.maker, uuid)) !== null);
  expect(await world.outcome(world.maker, uuid)).toBe("success");
  await world.taker.restart();
});

test("the maker gives up waiting for a payment at its limit to reveal, long before its own lock", async () => {
  world = await SwapWorld.open();
  const uuid = await world.start();
  await untilHappened(world.maker, uuid, "tx_attempted", "makerPayment");
  await world.taker.stop();
  await untilSecond(world.maker, uuid, 470);
  expect((await world.maker.state(uuid)).refund).toBeNull();
  await untilSecond(world.maker, uuid, 500);
  expect((await world.maker.state(uuid)).refund).not.toBeNull();
  // Its lock is at 1200: the clock has passed it, the median of the last eleven blocks has not.
  await untilSecond(world.maker, uuid, 1_260);
  expect((await world.maker.state(uuid)).own.makerPaymentRefund).toBeUndefined();
  await world.until("the refund", async () => (await world.outcome(world.maker, uuid)) !== null, 200);
  expect(await world.outcome(world.maker, uuid)).toBe("refunded");
  await world.taker.restart();
});

test("where two confirmations are asked for one is not enough, and none is ever enough for the end of a swap", async () => {
  world = await SwapWorld.open({ blockSec: null });
  const uuid = await world.start({ confs: 2 });
  await untilHappened(world.taker, uuid, "tx_seen", "makerPayment");
  world.mine("AAA");
  await world.advance(30);
  expect((await world.taker.state(uuid)).facts.makerPayment).toMatchObject({ block: expect.anything(), confirmed: false });
  world.mine("AAA");
  await world.advance(30);
  expect((await world.taker.state(uuid)).facts.makerPayment?.confirmed).toBe(true);
  await world.close();

  world = await SwapWorld.open({ blockSec: null });
  const quick = await world.start({ confs: 0 });
  await untilHappened(world.taker, quick, "tx_seen", "makerPaymentSpend");
  await world.advance(60);
  expect([await world.outcome(world.maker, quick), await world.outcome(world.taker, quick)]).toEqual([null, null]);
  for (const ticker of ["AAA", "BBB"] as const) world.mine(ticker);
  expect(await world.finish(quick, 60)).toEqual({ maker: "success", taker: "success" });
});

test("what one chain says counts while the daemon of the other has been away since the negotiation", async () => {
  world = await SwapWorld.open();
  world.taker.refuse = (e) => {
    if (e.type === "negotiated") world.taker.rpcOf("AAA").down = true;
    return null;
  };
  const uuid = await world.start();
  await world.until("the fee is confirmed", async () => (await world.taker.state(uuid)).facts.fee?.confirmed === true, 120);
  expect(world.taker.rpcOf("AAA").down).toBe(true);
  world.taker.refuse = () => null;
  world.taker.rpcOf("AAA").down = false;
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

// Counted at one daemon; of five servers each is asked.
test.skipIf(SwapWorld.isElectrum)(
  "bytes of the other side that a backend refuses are handed to it every two seconds at most, whatever news there is",
  async () => {
    world = await SwapWorld.open();
    const refused = { ok: false, error: { kind: "rpc", code: -26, message: "no" } } as const;
    for (const side of [world.maker, world.taker]) side.rpcOf("AAA").instead.set("sendrawtransaction", refused);
    const uuid = await world.start();
    await untilHappened(world.taker, uuid, "tx_received", "makerPayment");
    const sent = (): number => world.taker.rpcOf("AAA").counts.get("sendrawtransaction") ?? 0;
    const before = sent();
    for (let i = 0; i < 300; i++) {
      world.inject(world.maker, world.taker, uuid, { type: "Negotiated", accepted: true });
      await world.advance(0.1);
    }
    expect(sent() - before).toBeGreaterThan(5);
    expect(sent() - before).toBeLessThanOrEqual(16);
    for (const side of [world.maker, world.taker]) side.rpcOf("AAA").instead.clear();
  },
);

test("the locks of the contracts are those each side named in the negotiation, also when they did not start together", async () => {
  world = await SwapWorld.open();
  const uuid = await world.start({ only: "maker" });
  await world.advance(7);
  await world.startSide("taker", uuid);
  await untilHappened(world.maker, uuid, "tx_received", "fee");
  const [maker, taker] = [await world.maker.state(uuid), await world.taker.state(uuid)];
  expect(taker.terms.startedAt - maker.terms.startedAt).toBe(7);
  for (const s of [maker, taker]) {
    expect(contractOf(s, "takerPayment").lock).toBe(maker.negotiated?.theirLocktime);
    expect(contractOf(s, "makerPayment").lock).toBe(taker.negotiated?.theirLocktime);
  }
});

test("a uuid is swapped under once: a second start is refused and changes nothing", async () => {
  world = await SwapWorld.open();
  const uuid = await world.start();
  await untilHappened(world.maker, uuid, "tx_received", "fee");
  const before = await world.maker.events(uuid);
  await expect(world.startSide("maker", uuid)).rejects.toThrow("exists already");
  expect((await world.maker.events(uuid)).slice(0, before.length)).toEqual(before);
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test("what was promised to a swap stays taken until it has paid", async () => {
  world = await SwapWorld.open();
  delay(world.maker, "tx_signed", "makerPayment");
  const uuid = await world.start();
  const held = (): bigint => world.maker.coin("AAA").ledger.held();
  const promised = held();
  expect(promised).toBeGreaterThan(200_000_000n);
  await untilHappened(world.maker, uuid, "tx_received", "fee");
  await world.advance(100);
  expect(held()).toBe(promised);
});
