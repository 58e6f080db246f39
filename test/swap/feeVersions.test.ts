import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { decimal } from "../../src/core/money/rational.ts";
import type { Slot } from "../../src/core/swap/events.ts";
import { versionsOf } from "../../src/core/swap/swapState.ts";
import { deadlinesOf } from "../../src/core/swap/timelocks.ts";
import { fromHex } from "../../src/core/util/bytes.ts";
import { err, type Result } from "../../src/core/util/result.ts";
import { parseTx } from "../../src/core/utxo/txCodec.ts";
import type { DaemonError } from "../../src/ports/daemonRpc.ts";
import { type SwapSide, SwapWorld, type Ticker } from "../fakes/swapWorld.ts";

let world: SwapWorld;
afterEach(() => world.close());

/** Base units of the taker payment. */
const PAID = 100_000_000n;
const own = async (side: SwapSide, uuid: string, slot: Slot) => (await side.state(uuid)).own[slot];
const left = async (side: SwapSide, uuid: string, slot: Slot): Promise<boolean> => (await own(side, uuid, slot))?.attempted === true;
const versions = async (side: SwapSide, uuid: string, slot: Slot) => {
  const tx = await own(side, uuid, slot);
  return tx ? versionsOf(tx) : [];
};
const known = (ticker: Ticker): readonly string[] =>
  world
    .chain(ticker)
    .mempool.graph.entries()
    .map((e) => e.chainTx.txid);
/** The log as version 0.1.0 would have written it: no transaction says what it pays, nor when it was signed. */
async function withoutFees(side: SwapSide, uuid: string): Promise<void> {
  const sql = "UPDATE swap_events SET event = json_remove(event, '$.sum', '$.event.fee', '$.event.height') WHERE uuid = ?";
  await side.db.write([{ sql, params: [uuid] }]);
}

test("a claim whose log does not say what it pays stays while that is enough, and is raised from it when it is not", async () => {
  world = await SwapWorld.withPolicy("replace");
  const uuid = await world.start();
  await world.until("the claim leaves", () => left(world.maker, uuid, "takerPaymentSpend"));
  const { txid, fee } = (await own(world.maker, uuid, "takerPaymentSpend")) ?? { txid: "", fee: "0" };
  const paid = BigInt(fee ?? 0);
  const { held, policy } = world.chain("BBB");
  held.add(txid);
  await world.maker.stop();
  await withoutFees(world.maker, uuid);
  expect((await own(world.maker, uuid, "takerPaymentSpend"))?.fee).toBeUndefined();
  await world.maker.restart();
  await world.advance(15);
  expect(await versions(world.maker, uuid, "takerPaymentSpend")).toHaveLength(1);
  policy.blockFeePerKb = 50_000n;
  await world.until("another version", async () => (await versions(world.maker, uuid, "takerPaymentSpend")).length > 1, 600);
  const second = BigInt((await versions(world.maker, uuid, "takerPaymentSpend"))[1]?.fee ?? 0);
  expect([paid > 0n, second > paid]).toEqual([true, true]);
  held.clear();
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test("a payment whose log does not say what it pays gets a child that pays for both", async () => {
  world = await SwapWorld.withPolicy("replace");
  const uuid = await world.start();
  await world.until("the maker payment", () => left(world.maker, uuid, "makerPayment"));
  world.chain("AAA").policy.blockFeePerKb = 12_000n;
  await world.maker.stop();
  await withoutFees(world.maker, uuid);
  await world.maker.restart();
  await world.until("a child", () => left(world.maker, uuid, "paymentChild"), 300);
  await world.until("the payment is in a block", async () => (await world.maker.state(uuid)).facts.makerPayment?.block != null, 240);
  world.chain("AAA").policy.blockFeePerKb = 0n;
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test("children that hang on each other and were all forgotten by a mempool go out again, the oldest first", async () => {
  world = await SwapWorld.withPolicy("child");
  const uuid = await world.start();
  await world.until("the claim leaves", () => left(world.maker, uuid, "takerPaymentSpend"));
  const { held } = world.chain("BBB");
  held.add((await own(world.maker, uuid, "takerPaymentSpend"))?.txid ?? "");
  await world.until("a child of the child", async () => (await versions(world.maker, uuid, "claimChild")).length > 1, 900);
  const family = (await versions(world.maker, uuid, "claimChild")).map((v) => v.txid);
  await world.until("both are known", () => family.every((id) => known("BBB").includes(id)), 60);
  world.chain("BBB").mempool.graph.removeWithDescendants(family[0] ?? "");
  expect(family.some((id) => known("BBB").includes(id))).toBe(false);
  await world.until("both are back", () => family.every((id) => known("BBB").includes(id)), 60);
  held.clear();
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test("what a child of a claim spends is given to nobody else after a restart, though the daemon has forgotten the child", async () => {
  world = await SwapWorld.withPolicy("child");
  const uuid = await world.start();
  const { held, mempool } = world.chain("BBB");
  await world.withheld(world.maker, uuid, "takerPaymentSpend");
  await world.until("a child of the claim leaves", () => left(world.maker, uuid, "claimChild"), 900);
  const claim = (await own(world.maker, uuid, "takerPaymentSpend"))?.txid ?? "";
  const child = (await own(world.maker, uuid, "claimChild"))?.txid ?? "";
  await world.maker.stop();
  mempool.graph.removeWithDescendants(child);
  held.clear();
  world.mine("BBB");
  await world.maker.restart(["BBB"]);
  const { chain, ledger } = world.maker.coin("BBB");
  expect(chain.outputs(world.maker.script).map(({ txid, spentBy }) => [txid, spentBy])).toContainEqual([claim, null]);
  expect(ledger.spendable().map(({ txid }) => txid)).not.toContain(claim);
  await world.maker.enable("AAA");
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test("a claim in a block is in the balance though a child spends it that left and that no backend has", async () => {
  world = await SwapWorld.withPolicy("child");
  const uuid = await world.start();
  const { held, mempool } = world.chain("BBB");
  const { ledger } = world.maker.coin("BBB");
  const worth = (): bigint => ledger.spendable().reduce((sum, { value }) => sum + value, ledger.own.unspendable());
  const before = worth();
  await world.withheld(world.maker, uuid, "takerPaymentSpend");
  await world.until("a child of the claim leaves", () => left(world.maker, uuid, "claimChild"), 900);
  const { chain } = world.maker.coin("BBB");
  const broadcast = chain.broadcast;
  chain.broadcast = async () => ({ kind: "unknown", message: "nobody answers" });
  mempool.graph.removeWithDescendants((await own(world.maker, uuid, "claimChild"))?.txid ?? "");
  held.clear();
  world.mine("BBB");
  await world.until("the swap ends", async () => (await world.maker.state(uuid)).finished !== null, 120);
  expect(worth() - before).toBe(PAID - BigInt((await own(world.maker, uuid, "takerPaymentSpend"))?.fee ?? 0));
  chain.broadcast = broadcast;
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test("what a child would spend is free once its parent is in a block without it, where it never left, and again after a restart", async () => {
  world = await SwapWorld.withPolicy("child");
  const uuid = await world.start();
  const { held } = world.chain("BBB");
  world.maker.refuse = (e) => (e.type === "tx_attempted" && e.slot === "claimChild" ? "full" : null);
  await world.withheld(world.maker, uuid, "takerPaymentSpend");
  await world.until("a child of the claim", async () => (await own(world.maker, uuid, "claimChild")) !== undefined, 900);
  const claim = (await own(world.maker, uuid, "takerPaymentSpend"))?.txid ?? "";
  held.clear();
  world.mine("BBB");
  await world.until("the swap ends", async () => (await world.maker.state(uuid)).finished !== null, 120);
  const free = (): readonly string[] =>
    world.maker
      .coin("BBB")
      .ledger.spendable()
      .map(({ txid }) => txid);
  expect(free()).toContain(claim);
  world.maker.refuse = () => null;
  await world.maker.restart();
  expect(free()).toContain(claim);
  expect(await left(world.maker, uuid, "claimChild")).toBe(false);
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

describe("a child that left, and that its daemon forgot while a block has its parent without it", () => {
  const REFUSED: Result<never, DaemonError> = err({ kind: "rpc", code: -26, message: "no" });
  let uuid: string;
  let claim: string;
  const free = (): readonly string[] =>
    world.maker
      .coin("BBB")
      .ledger.spendable()
      .map(({ txid }) => txid);
  const isSettled = async (): Promise<boolean> => (await world.maker.store.unsettled()).length === 0;
  const blockOf = (txid: string | undefined) => world.maker.coin("BBB").chain.tx(txid ?? "")?.block ?? null;

  beforeEach(async () => {
    world = await SwapWorld.withPolicy("child");
    uuid = await world.start();
  });

  /** The claim is in a block; of its children none is known any more, and this many there are. */
  async function forget(children: number): Promise<void> {
    const { held, mempool } = world.chain("BBB");
    await world.withheld(world.maker, uuid, "takerPaymentSpend");
    await world.until("children leave", async () => (await versions(world.maker, uuid, "claimChild")).length >= children, 2_000);
    await world.until("the first is known", async () => known("BBB").includes((await family())[0] ?? ""), 60);
    claim = (await own(world.maker, uuid, "takerPaymentSpend"))?.txid ?? "";
    world.maker.rpcOf("BBB").instead.set("sendrawtransaction", REFUSED);
    mempool.graph.removeWithDescendants((await family())[0] ?? "");
    held.clear();
    world.mine("BBB");
    await world.until("the claim is deep", async () => (await world.maker.state(uuid)).facts.takerPaymentSpend?.confirmed === true, 120);
  }
  const family = async (): Promise<readonly string[]> => (await versions(world.maker, uuid, "claimChild")).map(({ txid }) => txid);

  test("is sent again until a block has it, and nothing else spends before what it spends", async () => {
    await forget(1);
    await world.settled(world.taker, 1_000);
    expect([await isSettled(), free().includes(claim)]).toEqual([false, false]);
    world.chain("BBB").policy.blockFeePerKb = 1_000_000n;
    world.maker.rpcOf("BBB").instead.clear();
    await world.until("it is known", async () => known("BBB").includes((await family())[0] ?? ""), 120);
    await world.advance(300);
    // It has nothing to pay for any more, and waits like any other.
    expect([blockOf((await family())[0]), (await family()).length]).toEqual([null, 1]);
    world.chain("BBB").policy.blockFeePerKb = 0n;
    await world.settled(world.maker, 1_000);
    expect([blockOf((await family())[0]) !== null, (await family()).length]).toEqual([true, 1]);
  });

  test("and that hangs on another of them is sent again, too, when a block has that one", async () => {
    await forget(2);
    world.maker.rpcOf("BBB").instead.clear();
    const [first, second] = await versions(world.maker, uuid, "claimChild");
    world.chain("BBB").held.add(second?.txid ?? "");
    await world.until("the first is in a block", () => blockOf(first?.txid) !== null, 300);
    world.chain("BBB").mempool.graph.removeWithDescendants(second?.txid ?? "");
    world.chain("BBB").held.clear();
    await world.settled(world.maker, 1_000);
    expect([blockOf(second?.txid) !== null, (await family()).length]).toEqual([true, 2]);
  });

  test("is let go of where backends refuse it past the later lock: what it would spend is free", async () => {
    await forget(1);
    await world.settled(world.maker, 60_000);
    const { makerLock } = deadlinesOf(await world.maker.state(uuid));
    expect([free().includes(claim), world.clock.nowMs() / 1_000 > makerLock]).toEqual([true, true]);
  });
});

test("a late payment whose cancellation cannot be built is not sent any more, and is cancelled as soon as it can be", async () => {
  world = await SwapWorld.withPolicy("replace");
  const { mempool } = world.chain("AAA");
  const coin = world.maker.coin("AAA");
  const build = coin.buildCancel;
  let tries = 0;
  coin.buildCancel = (...args) => {
    const full = {
      kind: "NotSufficientBalance" as const,
      coin: "AAA",
      available: decimal("0"),
      required: decimal("1"),
      lockedBySwaps: null,
    };
    return ++tries <= 3 ? err(full) : build.apply(coin, args);
  };
  const uuid = await world.start();
  await world.withheld(world.maker, uuid, "makerPayment");
  const payment = (await own(world.maker, uuid, "makerPayment"))?.txid ?? "";
  await world.until("a cancellation is tried", () => tries > 0, 600);
  mempool.graph.removeWithDescendants(payment);
  let isBack = false;
  await world.until("the cancellation", async () => {
    isBack ||= known("AAA").includes(payment);
    return (await own(world.maker, uuid, "cancel")) !== undefined;
  });
  expect([isBack, world.maker.log.lines.some((l) => String(l.fields.what).includes("could not be cancelled"))]).toEqual([false, true]);
  await world.until("the maker is done", async () => (await world.outcome(world.maker, uuid)) !== null);
  expect(await world.outcome(world.maker, uuid)).toBe("cancelled");
});

test("a payment that missed its time while its daemon was away stays home, though a child of it is being stored at that moment", async () => {
  world = await SwapWorld.withPolicy("replace");
  const { mempool } = world.chain("AAA");
  const uuid = await world.start();
  await world.withheld(world.maker, uuid, "makerPayment");
  const payment = (await own(world.maker, uuid, "makerPayment"))?.txid ?? "";
  // It would send the payment itself.
  await world.taker.stop();
  world.maker.rpcOf("AAA").down = true;
  await world.advance(400);
  mempool.graph.removeWithDescendants(payment);
  expect([(await world.maker.state(uuid)).own.cancel, (await world.maker.state(uuid)).refund?.event]).toEqual([
    undefined,
    "MakerPaymentWaitConfirmFailed",
  ]);
  world.maker.rpcOf("AAA").down = false;
  await world.until("the maker is done", async () => (await world.outcome(world.maker, uuid)) !== null);
  expect([await world.outcome(world.maker, uuid), known("AAA").includes(payment)]).toEqual(["cancelled", false]);
  await world.taker.restart();
});

// Of five servers several are offered each.
test.skipIf(SwapWorld.isElectrum)(
  "while a backend refuses everything, the versions of a refund that were replaced are offered to it once a minute",
  async () => {
    world = await SwapWorld.withPolicy("replace");
    const uuid = await world.start();
    await world.until("the taker pays", () => left(world.taker, uuid, "takerPayment"));
    await world.maker.stop();
    await world.until("it is in a block", async () => (await world.taker.state(uuid)).facts.takerPayment?.confirmed === true);
    const offered: string[] = [];
    const refused: DaemonError = { kind: "rpc", code: -26, message: "66: mempool min fee not met" };
    world.taker.rpcOf("BBB").judge = (method, [raw]) => {
      if (method !== "sendrawtransaction") return null;
      offered.push(String(raw));
      return err(refused);
    };
    await world.until("four versions", async () => (await versions(world.taker, uuid, "takerPaymentRefund")).length >= 4, 40_000);
    offered.length = 0;
    await world.advance(600);
    const counts = (await versions(world.taker, uuid, "takerPaymentRefund")).map(({ raw }) => offered.filter((o) => o === raw).length);
    const older = counts.slice(0, 3);
    expect(Math.min(...older)).toBeGreaterThan(5);
    expect(Math.max(...older)).toBeLessThanOrEqual(11);
  },
);

test("a refund that was refused for hours and raised each time is sent in a cheaper version when the daemon finds the last one absurd", async () => {
  world = await SwapWorld.withPolicy("replace");
  const uuid = await world.start();
  await world.until("the taker pays", () => left(world.taker, uuid, "takerPayment"));
  await world.maker.stop();
  await world.until("it is in a block", async () => (await world.taker.state(uuid)).facts.takerPayment?.confirmed === true);
  const rpc = world.taker.rpcOf("BBB");
  const refused: DaemonError = { kind: "rpc", code: -26, message: "256: absurdly-high-fee" };
  let most = -1n;
  rpc.judge = (method, [raw]) => (method === "sendrawtransaction" && feeOf(String(raw)) > most ? err(refused) : null);
  const feeOf = (raw: string): bigint => {
    const tx = parseTx(fromHex(raw), world.chain("BBB").params.template.format);
    return tx.ok ? PAID - tx.value.outputs.reduce((n, o) => n + o.value, 0n) : 0n;
  };
  await world.until("four versions", async () => (await versions(world.taker, uuid, "takerPaymentRefund")).length >= 4, 40_000);
  const fees = (await versions(world.taker, uuid, "takerPaymentRefund")).map((v) => BigInt(v.fee ?? 0));
  most = fees[1] ?? 0n;
  await world.until("the taker is done", async () => (await world.outcome(world.taker, uuid)) !== null, 600);
  expect(await world.outcome(world.taker, uuid)).toBe("refunded");
});
