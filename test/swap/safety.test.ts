import { afterEach, expect, test, vi } from "vitest";
import { contractOf } from "../../src/app/swap/contracts.ts";
import type { SwapSafety } from "../../src/core/swap/safety.ts";
import { SwapWorld } from "../fakes/swapWorld.ts";

let world: SwapWorld;
afterEach(() => world.close());

const NONE: SwapSafety = { valueConfs: 0, revealMarginSec: 0, feeConfs: 0 };
const reasonOf = async (uuid: string): Promise<string | undefined> => (await world.maker.state(uuid)).abandoned?.reason;
const isPaid = async (uuid: string): Promise<boolean> => (await world.maker.state(uuid)).own.makerPayment !== undefined;

test("a maker does not lock its money once the fee it accepted has gone, and pays when it is back", async () => {
  world = await SwapWorld.open({ blockSec: null });
  const refuse = { ok: false, error: { kind: "rpc", code: -26, message: "txn-mempool-conflict" } } as const;
  const uuid = await world.start();
  let gone = "";
  // In the moment it is accepted, the fee leaves every mempool, and nobody takes it back.
  world.maker.refuse = (event) => {
    if (event.type === "tx_received" && event.slot === "fee") {
      gone = event.txid;
      world.chain("BBB").mempool.graph.removeWithDescendants(gone);
      for (const side of [world.maker, world.taker]) side.rpcOf("BBB").instead.set("sendrawtransaction", refuse);
    }
    return null;
  };
  await world.until("the fee is accepted and gone", () => gone !== "");
  await world.advance(60);
  expect(await isPaid(uuid)).toBe(false);
  expect(world.maker.log.lines.some((l) => String(l.fields.what).includes(`${gone} is not known to our backend any more`))).toBe(true);
  for (const side of [world.maker, world.taker]) side.rpcOf("BBB").instead.clear();
  world.chain("AAA").autoMine(20_000);
  world.chain("BBB").autoMine(20_000);
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test("a fee that stays away ends the swap before anything of the maker's is locked", async () => {
  world = await SwapWorld.open({ blockSec: null });
  const uuid = await world.start();
  world.maker.refuse = (event) => {
    if (event.type === "tx_received" && event.slot === "fee") {
      world.chain("BBB").mempool.graph.removeWithDescendants(event.txid);
      const refuse = { ok: false, error: { kind: "rpc", code: -26, message: "txn-mempool-conflict" } } as const;
      for (const side of [world.maker, world.taker]) side.rpcOf("BBB").instead.set("sendrawtransaction", refuse);
    }
    return null;
  };
  await world.until("the maker gives up", async () => (await reasonOf(uuid)) !== undefined, 2_000);
  expect(await isPaid(uuid)).toBe(false);
  expect(world.maker.units("AAA")).toBe(1_000_000_000n);
});

test("a payment signed before a crash does not leave when the fee has gone meanwhile", async () => {
  world = await SwapWorld.open({ blockSec: null });
  const uuid = await world.start();
  let stopped = false;
  world.maker.refuse = (event) => {
    if (event.type === "tx_attempted" && event.slot === "makerPayment") stopped = true;
    return stopped ? "full" : null;
  };
  await world.until("the payment is signed and its mark refused", () => stopped);
  await world.maker.stop();
  const fee = (await world.maker.state(uuid)).received.fee?.txid ?? "";
  world.chain("BBB").mempool.graph.removeWithDescendants(fee);
  const refuse = { ok: false, error: { kind: "rpc", code: -26, message: "txn-mempool-conflict" } } as const;
  for (const side of [world.maker, world.taker]) side.rpcOf("BBB").instead.set("sendrawtransaction", refuse);
  world.maker.refuse = () => null;
  await world.advance(90);
  await world.maker.restart();
  await world.advance(60);
  expect((await world.maker.state(uuid)).own.makerPayment?.attempted).not.toBe(true);
  expect(world.maker.units("AAA")).toBe(1_000_000_000n);
});

test("the maker of a big swap waits until the fee is in a block", async () => {
  world = await SwapWorld.open({ blockSec: null });
  const uuid = await world.start({ safety: { maker: { ...NONE, feeConfs: 1 } } });
  await world.until("the fee", async () => (await world.maker.state(uuid)).received.fee !== undefined);
  const { chain } = world.maker.coin("BBB");
  const refresh = vi.spyOn(chain, "refresh");
  await world.advance(30);
  expect(await isPaid(uuid)).toBe(false);
  // A taker's fee may never confirm, and each fresh view costs servers as much as there are scripts.
  expect(refresh.mock.calls.length).toBeLessThanOrEqual(1);
  world.mine("BBB");
  await world.until("it pays", () => isPaid(uuid), 20);
});

test("a payment counts when it is as deep as its value asks for, not when it is as deep as was agreed", async () => {
  world = await SwapWorld.open({ blockSec: null });
  const uuid = await world.start({ safety: { taker: { ...NONE, valueConfs: 3 } } });
  const taker = () => world.taker.state(uuid);
  await world.until("the maker payment is seen", async () => (await taker()).facts.makerPayment !== undefined);
  for (const depth of [1, 2]) {
    world.mine("AAA");
    await world.advance(10);
    expect((await taker()).own.takerPayment, `at ${depth}`).toBeUndefined();
    // Nor does a restart forget it.
    await world.taker.stop();
    await world.taker.restart();
    await world.advance(5);
  }
  expect((await taker()).own.takerPayment).toBeUndefined();
  world.mine("AAA");
  await world.until("the taker pays", async () => (await taker()).own.takerPayment !== undefined, 20);
  // The maker, who asks for no more, needs one block of the taker's payment, and the taker one of its claim.
  world.chain("AAA").autoMine(20_000);
  world.chain("BBB").autoMine(20_000);
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test("the secret stays home when less is left before the taker's lock than its claim needs", async () => {
  world = await SwapWorld.open({ blockSec: null });
  // 4L/5 of 600 are 480 s; with a margin of 400 the limit is 200.
  const uuid = await world.start({ safety: { maker: { ...NONE, revealMarginSec: 400 } } });
  const maker = () => world.maker.state(uuid);
  await world.until("the maker pays", async () => (await maker()).facts.makerPayment !== undefined);
  world.mine("AAA");
  await world.until("the taker pays", async () => (await world.taker.state(uuid)).facts.takerPayment !== undefined);
  const startedAt = (await maker()).terms.startedAt;
  await world.advance(startedAt + 201 - Math.floor(world.clock.nowMs() / 1_000));
  world.mine("BBB");
  await world.until("the maker decides", async () => (await maker()).refund !== null, 60);
  expect((await maker()).own.takerPaymentSpend).toBeUndefined();
  expect((await maker()).refund?.reason).toContain(`${startedAt + 200}`);
});

test("a taker whose chain's fee rate rises above what was reserved locks nothing until it falls", async () => {
  world = await SwapWorld.open({ blockSec: null, coin: { txfee: 0 } });
  const rate = (perKb: number): void => {
    world.taker.rpcOf("BBB").instead.set("estimatesmartfee", { ok: true, value: { feerate: perKb / 1e8, blocks: 1 } });
  };
  const uuid = await world.start();
  await world.until("the maker pays", async () => (await world.maker.state(uuid)).facts.makerPayment !== undefined);
  rate(100_000);
  await world.advance(70);
  world.mine("AAA");
  await world.advance(20);
  expect((await world.taker.state(uuid)).own.takerPayment).toBeUndefined();
  expect(world.taker.log.lines.some((l) => String(l.fields.what).includes("above the"))).toBe(true);
  rate(2_000);
  await world.until("the taker pays", async () => (await world.taker.state(uuid)).own.takerPayment !== undefined, 120);
});

test("a payment that a miner makes of new coins is not paid against: nobody may spend it before both locks are over", async () => {
  world = await SwapWorld.open({ blockSec: null, funds: 6_000_000_000n });
  // A maker that mines: its ordinary payment never leaves.
  world.maker.refuse = (event) => (event.type === "tx_attempted" && event.slot === "makerPayment" ? "full" : null);
  const uuid = await world.start({ makerAmount: "50" });
  const maker = () => world.maker.state(uuid);
  const taker = () => world.taker.state(uuid);
  await world.until("the maker's payment is signed", async () => (await maker()).own.makerPayment !== undefined);
  const script = world.maker.coin("AAA").contractScript(contractOf(await maker(), "makerPayment"));
  expect(world.chain("AAA").mineExactly(script, [])).toMatchObject({ ok: true });
  world.mine("AAA", 2);
  await world.until("the taker sees it", async () => (await taker()).facts.makerPayment?.confirmed === true);
  await world.until("the taker gives up", async () => (await taker()).abandoned !== null, 4_000);
  expect((await taker()).own.takerPayment).toBeUndefined();
  expect((await taker()).abandoned?.reason).toContain("is made of new coins");
});
