import { afterEach, describe, expect, test, vi } from "vitest";
import { toUnits } from "../../src/core/money/rational.ts";
import { ownClaim, ownPayment, type Role, type Slot } from "../../src/core/swap/events.ts";
import { versionsOf } from "../../src/core/swap/swapState.ts";
import { fromHex } from "../../src/core/util/bytes.ts";
import { type SwapSide, SwapWorld, type Ticker } from "../fakes/swapWorld.ts";

let world: SwapWorld;
afterEach(() => world.close());

/** Coins of each kind; a fixed rate of one unit per byte unless said. */
const COINS = {
  replace: { segwit: true, bech32_hrp: "tst", relay_policy: "replace" },
  child: { relay_policy: "child" },
  overpay: {},
} as const;
type Policy = keyof typeof COINS;

async function open(policy: Policy, more: object = {}, blockSec: number | null = 20): Promise<SwapWorld> {
  world = await SwapWorld.open({ coin: { ...COINS[policy], ...more }, blockSec });
  for (const ticker of ["AAA", "BBB"] as const) {
    world.chain(ticker).policy.replacement = policy === "replace";
    world.chain(ticker).policy.packages = policy !== "overpay";
  }
  return world;
}
const own = async (side: SwapSide, uuid: string, slot: Slot) => (await side.state(uuid)).own[slot];
const left = async (side: SwapSide, uuid: string, slot: Slot): Promise<boolean> => (await own(side, uuid, slot))?.attempted === true;
const versions = async (side: SwapSide, uuid: string, slot: Slot): Promise<readonly bigint[]> => {
  const tx = await own(side, uuid, slot);
  return tx ? versionsOf(tx).map((v) => BigInt(v.fee ?? -1)) : [];
};
const feesOf = async (side: SwapSide, uuid: string): Promise<unknown> =>
  ((await side.status(uuid)).swapnode as { readonly fees: unknown }).fees;
/** From now on nothing below this many units per 1000 bytes is mined. */
const spike = (ticker: Ticker, perKb: bigint): void => {
  world.chain(ticker).policy.blockFeePerKb = perKb;
};
const claimTicker = (role: Role): Ticker => (role === "maker" ? "BBB" : "AAA");

describe.each(["maker", "taker"] as const)("a claim of the %s in a fee spike of fifty", (role) => {
  test("is replaced where replacements are relayed, and the swap succeeds", async () => {
    await open("replace");
    const uuid = await world.start({ confs: 1 });
    const side = world.side(role);
    await world.until("the claim leaves", () => left(side, uuid, ownClaim(role)));
    spike(claimTicker(role), 50_000n);
    expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
    const fees = await versions(side, uuid, ownClaim(role));
    expect(fees.length).toBeGreaterThan(1);
    expect(fees).toEqual([...fees].sort((a, b) => Number(a - b)));
    const { facts } = await side.state(uuid);
    const status = await side.status(uuid);
    // What clients are shown is the version that confirmed.
    expect(JSON.stringify(status.events)).toContain(facts[ownClaim(role)]?.txid);
    expect(JSON.stringify(status.events)).not.toContain(versionsOf((await own(side, uuid, ownClaim(role))) ?? fail())[0]?.txid);
    expect(await feesOf(side, uuid)).toMatchObject([{ transaction: ownClaim(role), stake: "race", versions: fees.length }]);
    expect(fees.at(-1)).toBeGreaterThanOrEqual(50n * 300n);
  });

  test("is paid for by its child where only children count", async () => {
    await open("child");
    const uuid = await world.start({ confs: 1 });
    const side = world.side(role);
    await world.until("the claim leaves", () => left(side, uuid, ownClaim(role)));
    spike(claimTicker(role), 20_000n);
    expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
    expect(await versions(side, uuid, ownClaim(role))).toHaveLength(1);
    expect((await versions(side, uuid, "claimChild")).length).toBeGreaterThan(0);
  });
});

function fail(): never {
  throw new Error("not there");
}

test("where neither helps, a moving rate is paid fifty times over at once, and a fixed one is what it is", async () => {
  await open("overpay", { txfee: 0 });
  const uuid = await world.start();
  await world.until("the claim leaves", () => left(world.maker, uuid, "takerPaymentSpend"));
  // 496 bytes at the estimate, times fifty: far below 1/777 of the coin that is claimed.
  const going = toUnits(world.maker.coin("BBB").spendFee(), 8);
  expect(await versions(world.maker, uuid, "takerPaymentSpend")).toEqual([going * 50n]);
  spike("BBB", 40_000n);
  spike("AAA", 40_000n);
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
  await world.close();
  await open("overpay");
  const fixed = await world.start();
  expect(await world.finish(fixed)).toEqual({ maker: "success", taker: "success" });
  expect(await versions(world.maker, fixed, "takerPaymentSpend")).toEqual([496n]);
});

describe.each(["replace", "child", "overpay"] as const)("a claim that a full mempool turns away, on a coin of policy %s", (policy) => {
  test("is made anew with what gets in", async () => {
    await open(policy);
    const uuid = await world.start();
    await world.until("the taker payment is deep", async () => (await world.maker.state(uuid)).facts.takerPayment?.block != null);
    world.chain("BBB").policy.entryFeePerKb = 9_000n;
    world.chain("BBB").mempool.evictBelow(9_000n);
    expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
    const fees = await versions(world.maker, uuid, "takerPaymentSpend");
    expect(fees.at(-1)).toBeGreaterThanOrEqual(2_700n);
    const { facts } = await world.maker.state(uuid);
    expect(facts.takerPaymentSpend?.txid).toBe((await own(world.maker, uuid, "takerPaymentSpend"))?.txid);
  });
});

describe.each(["replace", "child"] as const)("a payment that waits while its window runs out, on a coin of policy %s", (policy) => {
  test("is paid for by a child of its change, and the swap succeeds", async () => {
    await open(policy);
    const uuid = await world.start();
    await world.until("the maker payment", () => left(world.maker, uuid, "makerPayment"));
    const paid = await own(world.maker, uuid, "makerPayment");
    spike("AAA", 12_000n);
    await world.until("a child", () => left(world.maker, uuid, "paymentChild"), 300);
    expect((await own(world.maker, uuid, "makerPayment"))?.txid).toBe(paid?.txid);
    await world.until("the payment is in a block", async () => (await world.maker.state(uuid)).facts.makerPayment?.block != null, 240);
    spike("AAA", 0n);
    expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
    await world.advance(300);
    expect(world.maker.coin("AAA").ledger.held()).toBe(0n);
    const spendable = world.maker
      .coin("AAA")
      .ledger.spendable()
      .reduce((n, u) => n + u.value, 0n);
    expect(spendable).toBe(world.maker.units("AAA"));
  });

  test("and that no child can save is cancelled with its child: the conflict pays more than both, as far as daemons let anybody pay", async () => {
    await open(policy);
    const uuid = await world.start();
    await world.withheld(world.maker, uuid, "makerPayment");
    spike("AAA", 12_000n);
    // The rate tells of the spike, so the child comes; but the miner leaves the payment out.
    await world.until("a child", () => left(world.maker, uuid, "paymentChild"), 300);
    await world.until("the cancellation", async () => (await own(world.maker, uuid, "cancel")) !== undefined, 300);
    const both =
      BigInt((await own(world.maker, uuid, "makerPayment"))?.fee ?? 0) + ((await versions(world.maker, uuid, "paymentChild")).at(-1) ?? 0n);
    const cancel = await own(world.maker, uuid, "cancel");
    // 10,000 times the least rate is a mistake to daemons, and such a cancellation would be refused for good.
    const mistake = BigInt((cancel?.raw.length ?? 0) / 2) * 10_000n;
    expect(BigInt(cancel?.fee ?? 0)).toBeLessThan(mistake);
    expect(BigInt(cancel?.fee ?? 0) > both || both >= (mistake * 3n) / 5n).toBe(true);
    spike("AAA", 0n);
    world.chain("AAA").mempool.graph.removeWithDescendants((await own(world.maker, uuid, "makerPayment"))?.txid ?? "");
    await world.until("the maker is done", async () => (await world.outcome(world.maker, uuid)) !== null);
    expect(await world.outcome(world.maker, uuid)).toBe("cancelled");
    await world.advance(300);
    const spendable = world.maker
      .coin("AAA")
      .ledger.spendable()
      .reduce((n, u) => n + u.value, 0n);
    expect(spendable).toBe(world.maker.units("AAA"));
  });
});

test("a payment whose change another swap's payment uses gets no child: that one is it", async () => {
  await open("replace", {}, null);
  const first = await world.start({ makerAmount: "2" });
  await world.until("the first payment", () => left(world.maker, first, "makerPayment"));
  const second = await world.start({ makerAmount: "2" });
  await world.until("the second payment", () => left(world.maker, second, "makerPayment"));
  spike("AAA", 50_000n);
  world.mine("AAA", 2);
  await world.advance(150);
  expect(await own(world.maker, first, "paymentChild")).toBeUndefined();
});

test.each(["replace", "child"] as const)(
  "a payment built on the child of another one that is in a block by now, on a coin of policy %s: mempools forget both, both are sent again",
  async (policy) => {
    await open(policy);
    const { held, mempool } = world.chain("AAA");
    const first = await world.start();
    await world.withheld(world.maker, first, "makerPayment");
    spike("AAA", 12_000n);
    await world.until("its child", () => left(world.maker, first, "paymentChild"), 300);
    const child = (await own(world.maker, first, "paymentChild"))?.txid ?? fail();
    spike("AAA", 0n);
    const second = await world.start();
    await world.until("the second payment", () => left(world.maker, second, "makerPayment"));
    const paid = (await own(world.maker, second, "makerPayment"))?.raw ?? fail();
    expect(world.maker.coin("AAA").parentsOf(fromHex(paid))).toEqual([child]);
    held.clear();
    held.add(child);
    await world.until(
      "the first payment is in a block",
      async () => (await world.maker.state(first)).facts.makerPayment?.confirmed === true,
      60,
    );
    mempool.graph.clear();
    held.clear();
    expect(await world.finish(second)).toEqual({ maker: "success", taker: "success" });
    expect(await world.finish(first)).toEqual({ maker: "success", taker: "success" });
  },
);

test.each([false, true])(
  "a payment built on the change of a fee whose swap came to nothing: mempools forget all, all is sent again; restart %s",
  async (restarts) => {
    await open("overpay");
    const { held, mempool } = world.chain("BBB");
    const first = await world.start();
    world.lose(world.maker, (m, uuid) => m.type === "TakerFee" && uuid === first);
    await world.withheld(world.taker, first, "fee");
    await world.advance(600);
    const second = await world.start({ lockDurationSec: 7_800 });
    await world.until("the second payment", () => left(world.taker, second, "takerPayment"));
    await world.until("the first swap comes to nothing", async () => (await world.outcome(world.taker, first)) === "failed", 120);
    // Past its locks a fee of no use to others would be forgotten with its swap.
    await world.advance(1_000);
    expect(world.taker.coin("BBB").chain.tx((await own(world.taker, second, "takerPayment"))?.txid ?? "")?.block).toBeNull();
    if (restarts) await world.taker.stop();
    mempool.graph.clear();
    held.clear();
    if (restarts) {
      const refusals = world.taker.rpcOf("BBB").instead;
      refusals.set("sendrawtransaction", { ok: false, error: { kind: "unreachable", message: "no" } });
      await world.taker.restart();
      await world.advance(30);
      await world.taker.stop();
      refusals.clear();
      await world.taker.restart();
    }
    expect(await world.finish(second)).toEqual({ maker: "success", taker: "success" });
    // Then the first one is done with, too.
    await world.settled(world.taker, 400);
  },
);

test("a refund that is not raced costs a tenth at most; once the secret is out it races", async () => {
  await open("replace");
  world.lose(world.maker, (m) => m.type === "TakerPayment");
  const uuid = await world.start();
  await world.until("the maker payment", () => left(world.maker, uuid, "makerPayment"));
  await world.taker.stop();
  await world.until("the refund leaves", () => left(world.maker, uuid, "makerPaymentRefund"), 4_000);
  expect(await feesOf(world.maker, uuid)).toMatchObject([
    { transaction: "makerPaymentRefund", coin: "AAA", fee: "496", fee_cap: "20000000", stake: "time", versions: 1 },
  ]);
  await world.until("the maker is done", async () => (await world.outcome(world.maker, uuid)) !== null);
  expect(await world.outcome(world.maker, uuid)).toBe("refunded");
  await world.taker.restart();
});

test("a crash between storing a higher version and sending it sends that version, and the swap succeeds", async () => {
  await open("replace");
  const uuid = await world.start();
  await world.until("the claim leaves", () => left(world.maker, uuid, "takerPaymentSpend"));
  let stopping: Promise<void> | null = null;
  world.maker.refuse = (e) => {
    if (e.type === "tx_replaced") stopping ??= world.maker.stop();
    return null;
  };
  spike("BBB", 50_000n);
  await world.until("the crash", () => stopping !== null);
  await world.drive(stopping ?? Promise.resolve());
  const stored = await own(world.maker, uuid, "takerPaymentSpend");
  world.maker.refuse = () => null;
  await world.maker.restart();
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
  expect(versionsOf((await own(world.maker, uuid, "takerPaymentSpend")) ?? fail()).map((v) => v.txid)).toContain(stored?.txid);
  for (const { raw } of versionsOf(stored ?? fail())) expect(raw).not.toBe("");
  expect(ownPayment("maker")).toBe("makerPayment");
});

test("after a restart the change a child has taken is not free, though no mempool has the child", async () => {
  await open("replace");
  const uuid = await world.start();
  await world.withheld(world.maker, uuid, "makerPayment");
  spike("AAA", 12_000n);
  await world.until("a child", () => left(world.maker, uuid, "paymentChild"), 300);
  const paid = fromHex((await own(world.maker, uuid, "makerPayment"))?.raw ?? "");
  await world.maker.stop();
  world.chain("AAA").mempool.graph.clear();
  world.maker.rpcOf("AAA").instead.set("sendrawtransaction", { ok: false, error: { kind: "unreachable", message: "no" } });
  // The swap waits for its other coin: nothing of it runs.
  await world.maker.restart(["AAA"]);
  await world.advance(10);
  expect(world.maker.coin("AAA").builtOn(paid).size).toBe(1);
  world.maker.rpcOf("AAA").instead.clear();
});

test("while fees are above what was reserved, nobody is asked for a fresh view each time the payment is looked at: each costs servers", async () => {
  await open("replace");
  let isDear = false;
  Object.assign(world.taker.coin("BBB"), { dearerThanReserved: () => (isDear ? "the fee rate is above what was reserved" : null) });
  const uuid = await world.start({ confs: 1 });
  await world.until("the fee has left", () => left(world.taker, uuid, "fee"));
  isDear = true;
  await world.until("the maker's payment is deep", async () => (await world.taker.state(uuid)).facts.makerPayment?.confirmed === true);
  const looks = vi.spyOn(world.taker.coin("AAA").chain, "refresh");
  await world.advance(120);
  expect(looks.mock.calls.length).toBeLessThanOrEqual(2);
  expect((await world.taker.state(uuid)).own.takerPayment).toBeUndefined();
  isDear = false;
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
  // Of one contract alone: what is asked about all others costs as much for each.
  expect(looks.mock.calls.every(([, of]) => of?.scripts?.length === 1)).toBe(true);
});
