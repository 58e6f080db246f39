import { afterEach, describe, expect, test } from "vitest";
import { signEnvelope } from "../../src/core/message/envelope.ts";
import { decimal } from "../../src/core/money/rational.ts";
import { ownClaim, ownPayment, ownRefund, type Role, type Slot } from "../../src/core/swap/events.ts";
import { versionsOf } from "../../src/core/swap/swapState.ts";
import { err } from "../../src/core/util/result.ts";
import { type SwapSide, SwapWorld, type Ticker } from "../fakes/swapWorld.ts";

// A step that fails for a while and then does not: nothing may be lost, paid twice or left taken by it.

let world: SwapWorld;
afterEach(() => world.close());

const GIVES: { readonly [R in Role]: Ticker } = { maker: "AAA", taker: "BBB" };
const TAKES: { readonly [R in Role]: Ticker } = { maker: "BBB", taker: "AAA" };
const own = async (side: SwapSide, uuid: string, slot: Slot) => (await side.state(uuid)).own[slot];
const signed = async (side: SwapSide, uuid: string, slot: Slot): Promise<readonly string[]> =>
  (await side.events(uuid)).flatMap(({ event: e }) => (e.type === "tx_signed" && e.slot === slot ? [e.txid] : []));
const told = (side: SwapSide, text: string): number => side.log.lines.filter((l) => String(l.fields.what).includes(text)).length;
const missing = (ticker: string) =>
  err({ kind: "NotSufficientBalance" as const, coin: ticker, available: decimal("0"), required: decimal("1"), lockedBySwaps: null });
/** Whatever a swap had locked or promised is free once it is settled. */
async function expectAllFree(side: SwapSide): Promise<void> {
  await world.advance(400);
  for (const ticker of ["AAA", "BBB"] as const) {
    const { ledger } = side.coin(ticker);
    expect([ledger.held(), ledger.spendable().reduce((n, u) => n + u.value, 0n)]).toEqual([0n, side.units(ticker)]);
  }
}

describe("money that was promised to a swap and is not there at the moment", () => {
  test.each(["fee", "makerPayment", "takerPayment"] as const)("is waited for by the %s, which is then made once", async (slot) => {
    world = await SwapWorld.open();
    const side = slot === "makerPayment" ? world.maker : world.taker;
    const coin = side.coin(GIVES[side.role]);
    const method = slot === "fee" ? "buildDexFee" : "buildPayment";
    const { [method]: build } = coin;
    let tries = 0;
    Object.assign(coin, { [method]: (args: never) => (++tries <= 5 ? missing(coin.ticker) : build.call(coin, args)) });
    const uuid = await world.start();
    expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
    expect([tries > 5, told(side, "Not enough") > 0, (await signed(side, uuid, slot)).length]).toEqual([true, true, 1]);
    await expectAllFree(side);
  });

  test.each(["fee", "takerPayment"] as const)("and will never be enough for the %s ends the swap with the reason", async (slot) => {
    world = await SwapWorld.open();
    const coin = world.taker.coin("BBB");
    const never = err({ kind: "VolumeTooLow" as const, coin: "BBB", volume: decimal("0.00001"), threshold: decimal("0.5") });
    Object.assign(coin, { [slot === "fee" ? "buildDexFee" : "buildPayment"]: () => never });
    const uuid = await world.start();
    await world.until("the taker gives up", async () => (await world.outcome(world.taker, uuid)) !== null);
    const { abandoned, finished } = await world.taker.state(uuid);
    expect([finished, abandoned?.event]).toEqual(["failed", slot === "fee" ? "TakerFeeSendFailed" : "TakerPaymentTransactionFailed"]);
    expect(abandoned?.reason).toContain("0.5");
    expect(await world.outcome(world.maker, uuid)).not.toBe("success");
  });
});

test.each(["maker", "taker"] as const)("a claim of the %s that cannot be built at the moment is built when it can", async (role) => {
  world = await SwapWorld.open();
  const side = world.side(role);
  const coin = side.coin(TAKES[role]);
  const build = coin.buildClaim;
  let tries = 0;
  coin.buildClaim = (args) => (++tries <= 3 ? missing(coin.ticker) : build.call(coin, args));
  const uuid = await world.start();
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
  expect([tries > 3, told(side, `${ownClaim(role)} cannot be built`)]).toEqual([true, 1]);
});

test("a refund that cannot be built at the moment is built when it can", async () => {
  world = await SwapWorld.open();
  const coin = world.maker.coin("AAA");
  const build = coin.buildRefund;
  let tries = 0;
  coin.buildRefund = (args) => (++tries <= 3 ? missing("AAA") : build.call(coin, args));
  const uuid = await world.start();
  await world.until("the maker payment", async () => (await own(world.maker, uuid, "makerPayment"))?.attempted === true);
  await world.taker.stop();
  await world.until("the refund", async () => (await world.outcome(world.maker, uuid)) !== null);
  expect([await world.outcome(world.maker, uuid), tries, (await signed(world.maker, uuid, ownRefund("maker"))).length]).toEqual([
    "refunded",
    4,
    1,
  ]);
  await world.taker.restart();
});

test.each(["fee", "makerPayment", "takerPayment"] as const)(
  "a %s that was stored without this node knowing, and signed once more from other outputs: the one in the log is sent, the other was never",
  async (slot) => {
    world = await SwapWorld.open({ funds: 260_000_000n });
    const side = slot === "makerPayment" ? world.maker : world.taker;
    const ticker = GIVES[side.role];
    const coin = side.coin(ticker);
    const method = slot === "fee" ? "buildDexFee" : "buildPayment";
    const { [method]: build } = coin;
    const built: string[] = [];
    Object.assign(coin, {
      [method]: (args: never) => {
        const tx = build.call(coin, args);
        if (tx.ok) built.push(tx.value.txid);
        return tx;
      },
    });
    let phase: "wait" | "lost" | "full" | "over" = "wait";
    side.refuse = (e) => {
      if (phase === "over" || e.type !== "tx_signed" || e.slot !== slot) return null;
      if (phase === "full") return "full";
      phase = "full";
      side.unreadable = true;
      return "lost";
    };
    const uuid = await world.start();
    await world.until("it is stored", async () => (await signed(side, uuid, slot)).length === 1);
    // Now another output is the better one.
    for (const units of [270_000_000n, 300_000_000n, 60_000n]) world.fund(ticker, side, units);
    await world.advance(10);
    phase = "over";
    side.unreadable = false;
    expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
    const [stored, ...more] = await signed(side, uuid, slot);
    expect([more, new Set(built).size > 1, built[0] === stored]).toEqual([[], true, true]);
    expect((await side.state(uuid)).facts[slot]?.txid).toBe(stored);
    await expectAllFree(side);
  },
);

describe("a new version of a transaction that cannot be stored", () => {
  const known = (ticker: Ticker): readonly string[] =>
    world
      .chain(ticker)
      .mempool.graph.entries()
      .map((e) => e.chainTx.txid);

  test.each([
    ["a claim", "takerPaymentSpend"],
    ["a child of a payment", "paymentChild"],
  ] as const)("%s: the former goes on being sent, and nothing that is not stored leaves", async (_what, slot) => {
    world = await SwapWorld.withPolicy("replace");
    const side = world.maker;
    const ticker: Ticker = slot === "paymentChild" ? "AAA" : "BBB";
    let refusals = 0;
    let full = true;
    side.refuse = (e) => {
      if (!full || e.type !== "tx_replaced" || e.slot !== slot) return null;
      refusals++;
      return "full";
    };
    const uuid = await world.start();
    await world.until(
      "its parent leaves",
      async () => (await own(side, uuid, slot === "paymentChild" ? "makerPayment" : slot))?.attempted === true,
    );
    world.chain(ticker).policy.blockFeePerKb = slot === "paymentChild" ? 12_000n : 50_000n;
    await world.until("a version is refused", () => refusals > 1, 600);
    const stored = await own(side, uuid, slot);
    expect([stored && versionsOf(stored).length, known(ticker).includes(stored?.txid ?? "")]).toEqual([1, true]);
    expect(told(side, `a new version of ${slot} was not stored`)).toBeGreaterThan(0);
    full = false;
    world.chain(ticker).policy.blockFeePerKb = slot === "paymentChild" ? 0n : 50_000n;
    expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
    await expectAllFree(side);
  });
});

// Servers tell what is relayed at all, not what a full mempool still takes.
test.skipIf(SwapWorld.isElectrum)("a cancellation that no mempool takes any more is made anew with what is relayed now", async () => {
  world = await SwapWorld.open();
  const { chain } = { chain: world.chain("AAA") };
  const uuid = await world.start();
  await world.withheld(world.maker, uuid, "makerPayment");
  world.maker.refuse = (e) => (e.type === "tx_attempted" && e.slot === "cancel" ? "full" : null);
  await world.until("the cancellation is signed", async () => (await own(world.maker, uuid, "cancel")) !== undefined, 600);
  const first = await own(world.maker, uuid, "cancel");
  chain.policy.entryFeePerKb = 200_000n;
  chain.mempool.evictBelow(200_000n);
  await world.advance(60);
  world.maker.refuse = () => null;
  await world.until("another version", async () => (await own(world.maker, uuid, "cancel"))?.txid !== first?.txid, 600);
  const versions = versionsOf((await own(world.maker, uuid, "cancel")) ?? { txid: "", raw: "", notAfter: null, attempted: false });
  expect(BigInt(versions.at(-1)?.fee ?? 0)).toBeGreaterThan(BigInt(first?.fee ?? 0));
  await world.until("the maker is done", async () => (await world.outcome(world.maker, uuid)) !== null);
  expect(await world.outcome(world.maker, uuid)).toBe("cancelled");
  await expectAllFree(world.maker);
});

test("the maker signs no claim of a payment that a reorg takes in the moment it is deep; once it is back it does", async () => {
  world = await SwapWorld.open({ blockSec: null });
  const uuid = await world.start();
  await world.until("the maker payment", async () => (await world.taker.state(uuid)).facts.makerPayment !== undefined);
  world.mine("AAA");
  await world.until("the taker payment", async () => (await world.maker.state(uuid)).facts.takerPayment !== undefined);
  let isTaken = false;
  world.maker.onEvent = (_uuid, log) => {
    const last = log.at(-1)?.event;
    if (isTaken || last?.type !== "tx_confirmed" || last.slot !== "takerPayment") return;
    isTaken = world.chain("BBB").reorg({ depth: 1, forget: [last.txid] }).ok;
  };
  world.mine("BBB");
  await world.until("the reorg", () => isTaken);
  await world.advance(20);
  const { facts, refund } = await world.maker.state(uuid);
  expect([await signed(world.maker, uuid, "takerPaymentSpend"), facts.takerPayment?.block ?? null, refund]).toEqual([[], null, null]);
  for (let i = 0; i < 6; i++) {
    await world.advance(20);
    world.mine("BBB");
    world.mine("AAA");
  }
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test("a block that a reorg undoes while it is stored that it has the claim ends nothing, however high the new chain is", async () => {
  world = await SwapWorld.open({ blockSec: null });
  const uuid = await world.start({ confs: 2 });
  const mineUntil = async (isThere: () => Promise<boolean>): Promise<void> => {
    for (let i = 0; i < 20; i++) {
      await world.advance(20);
      if (await isThere()) return;
      for (const ticker of world.tickers) world.mine(ticker);
    }
  };
  await mineUntil(async () => (await own(world.maker, uuid, "takerPaymentSpend"))?.attempted === true);
  let isTaken = false;
  world.maker.storeMs = (e) => {
    if (isTaken || e.type !== "tx_seen" || e.slot !== "takerPaymentSpend" || e.block === null) return 0;
    isTaken = world.chain("BBB").reorg({ depth: 1 }).ok;
    return 20_000;
  };
  world.mine("BBB");
  await world.until("the reorg", () => isTaken);
  await world.advance(40);
  const { facts, finished } = await world.maker.state(uuid);
  const confirmed = (await world.maker.events(uuid)).filter(({ event: e }) => e.type === "tx_confirmed" && e.slot === "takerPaymentSpend");
  expect([facts.takerPaymentSpend?.block, finished, confirmed]).toEqual([null, null, []]);
  await mineUntil(async () => (await world.maker.state(uuid)).finished !== null);
  expect((await world.maker.state(uuid)).finished).toBe("success");
});

test("where no dex fee is due none is paid, none is waited for, and the swap goes the same way", async () => {
  world = await SwapWorld.open();
  for (const side of [world.maker, world.taker]) side.dexFee = { feeUnits: 0n, burnUnits: 0n, feePubkey: null };
  const before = world.taker.units("BBB");
  const uuid = await world.start();
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
  expect(await signed(world.taker, uuid, "fee")).toEqual([]);
  const cost = before - world.taker.units("BBB") - 100_000_000n;
  expect([cost > 0n, cost < 10_000n]).toEqual([true, true]);
  expect(JSON.stringify((await world.taker.status(uuid)).events)).toContain("TakerFeeSent");
  await expectAllFree(world.maker);
});

test("a fee that another network profile asks for is refused with that profile's name, and the taker is not blamed", async () => {
  world = await SwapWorld.open();
  world.maker.dexFee = { ...world.maker.dexFee, feeUnits: 26_000n };
  world.maker.profileOfFee = "komodo-2025";
  const uuid = await world.start();
  await world.until("the maker gives up", async () => (await world.outcome(world.maker, uuid)) !== null);
  const { abandoned, own: mine } = await world.maker.state(uuid);
  expect(abandoned?.reason).toContain("it would be right under network profile komodo-2025");
  expect([abandoned?.theirFault, mine.makerPayment, world.maker.blamed]).toEqual([undefined, undefined, []]);
});

test("the taker sends no fee while the rate is above what was reserved, and sends it once it falls", async () => {
  world = await SwapWorld.open({ coin: { txfee: 0 } });
  const rate = (perKb: number): void => {
    world.taker.rpcOf("BBB").instead.set("estimatesmartfee", { ok: true, value: { feerate: perKb / 1e8, blocks: 1 } });
  };
  const lift = world.lose(world.taker, (m) => m.type === "Negotiated");
  const uuid = await world.start();
  await world.advance(5);
  rate(100_000);
  await world.advance(70);
  lift();
  await world.advance(60);
  expect([(await world.taker.state(uuid)).negotiated !== null, await signed(world.taker, uuid, "fee")]).toEqual([true, []]);
  rate(2_000);
  await world.until("the fee", async () => (await signed(world.taker, uuid, "fee")).length === 1, 150);
});

describe("the runner", () => {
  test("starts no swap of a coin that is not active, and names it", async () => {
    world = new SwapWorld();
    await world.maker.open(["AAA"]);
    await world.taker.open();
    const held = world.maker.coin("AAA").reserve([decimal("2")], 60_000);
    if (!held.ok) throw new Error(held.error.kind);
    const match = world.match("maker", "00000000-0000-4000-8000-0000000000aa", held.value);
    await expect(world.maker.runner.start(match)).rejects.toThrow("BBB is not active");
    await expect(world.maker.runner.start({ ...match, makerCoin: "CCC" })).rejects.toThrow("CCC is not active");
    expect(await world.maker.runner.log(match.uuid)).toBeNull();
    expect([world.maker.runner.has(match.uuid), world.maker.runner.troubleOf(match.uuid)]).toEqual([false, null]);
  });

  test("hears what the other side says before a start that it expects, and answers at once; what it does not expect it does not hear", async () => {
    world = await SwapWorld.open();
    const answered = async (uuid: string, isExpected: boolean): Promise<boolean> => {
      if (isExpected) world.taker.runner.expect(uuid);
      await world.startSide("maker", uuid);
      // The maker repeats its offer after 1, 3, 7 and 15 seconds.
      await world.advance(8);
      await world.startSide("taker", uuid);
      await world.advance(1);
      return world.sent(world.taker, uuid).some((m) => m.type === "NegotiationReply");
    };
    const [known, unknown] = ["00000000-0000-4000-8000-0000000000b1", "00000000-0000-4000-8000-0000000000b2"];
    expect([await answered(known, true), await answered(unknown, false)]).toEqual([true, false]);
    // Of a swap that runs nothing more is expected: its topic is not left a minute later.
    world.taker.runner.expect(known);
    expect(await world.finish(known)).toEqual({ maker: "success", taker: "success" });
    expect(await world.finish(unknown)).toEqual({ maker: "success", taker: "success" });
  });

  test("refuses to relay what the counterparty signed and is no message, and the swap goes on", async () => {
    world = await SwapWorld.open();
    const uuid = await world.start();
    const data = signEnvelope(Uint8Array.of(1, 2, 3), world.taker.key.secret.reveal());
    expect(world.maker.runner.onGossip({ topic: `swap/${uuid}`, data, from: "relay" })).toBe("reject");
    expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
  });

  test("a start that was stored though the answer was lost is a swap that runs, once", async () => {
    world = await SwapWorld.open();
    let left = 1;
    for (const side of [world.maker, world.taker]) {
      let first = true;
      side.refuse = (e) => {
        if (e.type !== "started" || !first) return null;
        first = false;
        left--;
        return "lost";
      };
    }
    const uuid = await world.start();
    expect(left).toBe(-1);
    expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
    expect((await world.maker.events(uuid)).filter((e) => e.event.type === "started")).toHaveLength(1);
  });

  test("a start of which nobody can say whether it was stored counts as one that was: it goes on when its record can be read", async () => {
    world = await SwapWorld.open();
    world.maker.refuse = (e) => (e.type === "started" ? "lost" : null);
    world.maker.unreadable = true;
    const uuid = "00000000-0000-4000-8000-0000000000b3";
    await expect(world.startSide("maker", uuid)).rejects.toThrow("the answer was lost");
    const { runner } = world.maker;
    expect([runner.has(uuid), runner.isSettled(uuid), world.maker.coin("AAA").ledger.held()]).toEqual([true, false, 0n]);
    await world.maker.stop();
    world.maker.unreadable = false;
    world.maker.refuse = () => null;
    await world.maker.restart();
    await world.startSide("taker", uuid);
    expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
  });

  test("a start that a full disk refuses leaves no swap and no promise, and may be tried again", async () => {
    world = await SwapWorld.open();
    world.maker.refuse = () => "full";
    await expect(world.start({ only: "maker" })).rejects.toThrow("refused on request");
    expect([world.maker.coin("AAA").ledger.held(), world.maker.runner.activeUuids()]).toEqual([0n, []]);
    world.maker.refuse = () => null;
    expect(await world.finish(await world.start())).toEqual({ maker: "success", taker: "success" });
  });

  /** A maker that stopped with the fee received and no payment stored. */
  async function stoppedBeforePaying(): Promise<string> {
    world = await SwapWorld.open();
    world.maker.refuse = (e) => (e.type === "tx_signed" && e.slot === "makerPayment" ? "full" : null);
    const uuid = await world.start();
    await world.until("the fee", async () => (await world.maker.state(uuid)).received.fee !== undefined);
    await world.maker.stop();
    world.maker.refuse = () => null;
    return uuid;
  }

  test("a swap taken up while its chain cannot be read makes no second payment: it waits until it can be", async () => {
    const uuid = await stoppedBeforePaying();
    let reads = 0;
    await world.maker.restart(["AAA"]);
    const coin = world.maker.coin("AAA");
    const { watchScript } = coin.chain;
    coin.chain.watchScript = (...args) => {
      reads++;
      return reads <= 2 ? Promise.reject(new Error("the chain is away")) : watchScript.apply(coin.chain, args);
    };
    await world.maker.enable("BBB");
    await world.advance(4);
    expect([told(world.maker, "looking for our payment: the chain is away"), await signed(world.maker, uuid, "makerPayment")]).toEqual([
      1,
      [],
    ]);
    expect(world.maker.runner.troubleOf(uuid)).toContain("the chain is away");
    expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
    expect(await signed(world.maker, uuid, ownPayment("maker"))).toHaveLength(1);
  });

  test("a swap that is closed while it waits for its chain begins nothing", async () => {
    const uuid = await stoppedBeforePaying();
    await world.maker.restart(["AAA"]);
    const { chain } = world.maker.coin("AAA");
    let isAway = true;
    const { watchScript } = chain;
    chain.watchScript = (...args) => (isAway ? Promise.reject(new Error("the chain is away")) : watchScript.apply(chain, args));
    await world.maker.enable("BBB");
    await world.advance(2);
    const before = (await world.maker.events(uuid)).length;
    await world.maker.stop();
    isAway = false;
    await world.advance(60);
    expect((await world.maker.events(uuid)).length).toBe(before);
    await world.maker.restart();
    expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
  });
});
