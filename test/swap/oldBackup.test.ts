import { afterEach, expect, test } from "vitest";
import { cutRecord } from "../../src/adapters/sqlite/swapLogs.ts";
import { parseChainTxAt } from "../../src/chain/chainTx.ts";
import { conductOf } from "../../src/core/peers/swapConduct.ts";
import { ownPayment, type Role, type SwapEvent } from "../../src/core/swap/events.ts";
import { fold } from "../../src/core/swap/swapState.ts";
import { fromHex } from "../../src/core/util/bytes.ts";
import { payTo } from "../fakes/chainWorld.ts";
import { FEE_KEY, FEE_UNITS, SwapWorld, TICKERS, type Ticker } from "../fakes/swapWorld.ts";

let world: SwapWorld;
afterEach(() => world.close());

const FUNDS = 1_000_000_000n;
/** Miner fees and the dex fee of one swap stay far below it, a payment far above. */
const FEES = 1_000_000n;

const isPaid =
  (role: Role) =>
  (e: SwapEvent): boolean =>
    e.type === "tx_seen" && e.slot === ownPayment(role) && e.block !== null;

const giving = (role: Role): Ticker => (role === "maker" ? "AAA" : "BBB");

type Keep = (events: readonly SwapEvent[]) => number;

/** Runs a swap until one side's payment (or what `at` says) is in its log, and puts that log back to how it was after `keep` events. */
async function putBack(role: Role, keep: Keep, at = isPaid(role)): Promise<string> {
  world = await SwapWorld.open({ funds: FUNDS });
  const uuid = await world.start();
  const side = world.side(role);
  await world.until("it is in the log", async () => (await side.events(uuid)).some((e) => at(e.event)));
  await putRecordBack(role, uuid, keep);
  return uuid;
}

async function putRecordBack(role: Role, uuid: string, keep: Keep): Promise<void> {
  const side = world.side(role);
  await side.stop();
  const events = (await side.events(uuid)).map((e) => e.event);
  const kept = keep(events);
  const isFeeKept = events.slice(0, kept).some((e) => (e.type === "tx_signed" || e.type === "tx_received") && e.slot === "fee");
  await side.db.write([
    { sql: "DELETE FROM swap_events WHERE uuid = ? AND seq >= ?", params: [uuid, kept] },
    ...(isFeeKept ? [] : [{ sql: "DELETE FROM swap_marks WHERE kind = 'fee_tx' AND uuid = ?", params: [uuid] }]),
  ]);
}

/** As `swapnode data accept` does. */
async function accept(role: Role, uuid: string): Promise<void> {
  const side = world.side(role);
  const events = await side.events(uuid);
  await side.db.write([cutRecord(uuid, { whole: true, events, state: fold(events.map((e) => e.event)) })]);
}

const after = (type: SwapEvent["type"], slot?: string) => (events: readonly SwapEvent[]) =>
  1 + events.findIndex((e) => e.type === type && (slot === undefined || ("slot" in e && e.slot === slot)));

const MOMENTS: readonly (readonly [Role, string, Keep])[] = [
  ["maker", "negotiated", after("negotiated")],
  ["maker", "the fee received", after("tx_received", "fee")],
  ["maker", "the payment signed", after("tx_signed", "makerPayment")],
  ["taker", "negotiated", after("negotiated")],
  ["taker", "the fee sent", after("tx_attempted", "fee")],
  ["taker", "the maker's payment confirmed", after("tx_confirmed", "makerPayment")],
  ["taker", "the payment signed", after("tx_signed", "takerPayment")],
];

test.each(MOMENTS)(
  "a %s whose store was put back to '%s' after it had paid pays no second time, and trades",
  async (role, _moment, keep) => {
    const uuid = await putBack(role, keep);
    await world.side(role).restart();
    expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
    const [coin, units]: [Ticker, bigint] = role === "maker" ? ["AAA", 200_000_000n] : ["BBB", 100_000_000n];
    const spent = FUNDS - world.side(role).units(coin);
    expect(spent).toBeGreaterThanOrEqual(units);
    expect(spent).toBeLessThan(units + FEES);
  },
);

test.each(MOMENTS)(
  "a %s whose copy of '%s' was accepted after it had paid finds that payment, makes none, and trades",
  async (role, _moment, keep) => {
    const uuid = await putBack(role, keep);
    await accept(role, uuid);
    await world.side(role).restart();
    expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
    const units = role === "maker" ? 200_000_000n : 100_000_000n;
    expect(FUNDS - world.side(role).units(giving(role)) - units).toBeLessThan(FEES);
  },
);

/** An accepted copy of before a payment that has left and is in no mempool any more; the other side is gone. */
async function acceptedUnseen(role: Role, keep: Keep): Promise<{ readonly uuid: string; readonly raw: string }> {
  world = await SwapWorld.open({ funds: FUNDS });
  const slot = ownPayment(role);
  const side = world.side(role);
  const uuid = await world.start();
  await world.withheld(side, uuid, slot);
  const { txid = "", raw = "" } = (await side.state(uuid)).own[slot] ?? {};
  await world.side(role === "maker" ? "taker" : "maker").stop();
  await putRecordBack(role, uuid, keep);
  await accept(role, uuid);
  const { mempool, held } = world.chain(giving(role));
  mempool.graph.removeWithDescendants(txid);
  held.clear();
  return { uuid, raw };
}

test.each(MOMENTS)(
  "a %s whose copy of '%s' was accepted makes no payment where nobody shows the one it made, and has that back when it comes",
  async (role, _moment, keep) => {
    const { uuid, raw } = await acceptedUnseen(role, keep);
    const side = world.side(role);
    await side.restart();
    await world.advance(1_800);
    expect([(await side.state(uuid)).own[ownPayment(role)]?.attempted ?? false, FUNDS - side.units(giving(role)) < FEES]).toEqual([
      false,
      true,
    ]);
    expect(await side.status(uuid)).toMatchObject({ is_finished: false, swapnode: { danger: expect.stringContaining("may lack") } });
    const chain = world.chain(giving(role));
    const parsed = parseChainTxAt(fromHex(raw), 0, chain.params.template.format);
    expect(parsed.ok && chain.send(parsed.value.tx).ok).toBe(true);
    await world.until("it is back", async () => (await world.outcome(side, uuid)) !== null, 12 * 3_600);
    expect(await world.outcome(side, uuid)).toBe("refunded");
    expect(FUNDS - side.units(giving(role))).toBeLessThan(FEES);
  },
);

// A day on servers that come and go takes longer to work out: one of each side there.
test.each(MOMENTS.filter(([, moment]) => !SwapWorld.isElectrum || moment === "negotiated"))(
  "a %s whose copy of '%s' was accepted and whose payment never comes makes none, and its swap ends a day past the lock",
  async (role, _moment, keep) => {
    const { uuid } = await acceptedUnseen(role, keep);
    const side = world.side(role);
    await side.restart();
    for (const ticker of TICKERS) world.chain(ticker).stop();
    await world.advance(110_000);
    for (let i = 0; i < 12; i++) {
      for (const ticker of TICKERS) world.mine(ticker);
      await world.advance(30);
    }
    await world.until("it is over", async () => (await world.outcome(side, uuid)) !== null);
    expect([await world.outcome(side, uuid), FUNDS - side.units(giving(role)) < FEES]).toEqual(["failed", true]);
    expect(conductOf(await side.events(uuid))).toBeNull();
  },
);

/** What all dex fees of this world's swaps came to. */
const feesPaid = (): bigint => world.unitsOf("BBB", payTo(FEE_KEY));

test("a taker whose store was put back to before its dex fee, which had left, pays that fee no second time", async () => {
  const uuid = await putBack("taker", after("negotiated"), (e) => e.type === "tx_attempted" && e.slot === "fee");
  await world.side("taker").restart();
  const ends = await world.finish(uuid);
  expect([ends, feesPaid()]).toEqual([{ maker: "success", taker: "success" }, FEE_UNITS]);
});

test("a fee that was taken up is that swap's own: a disk that is full right then costs it nothing", async () => {
  const uuid = await putBack("taker", after("negotiated"), (e) => e.type === "tx_attempted" && e.slot === "fee");
  let isFull = true;
  world.taker.refuse = (e) => {
    const fault = isFull && e.type === "tx_attempted" && e.slot === "fee" ? "full" : null;
    if (fault) isFull = false;
    return fault;
  };
  await world.taker.restart();
  const ends = await world.finish(uuid);
  expect([ends, feesPaid(), isFull]).toEqual([{ maker: "success", taker: "success" }, FEE_UNITS, false]);
});

test("a taker pays the fee of its next swap for the same amounts, though the one before paid just as much", async () => {
  world = await SwapWorld.open({ funds: FUNDS });
  for (const due of [FEE_UNITS, 2n * FEE_UNITS]) {
    expect(await world.finish(await world.start())).toEqual({ maker: "success", taker: "success" });
    expect(feesPaid()).toBe(due);
  }
});

test("only a fee that may have left serves no other swap: one that was signed and never sent can come again, byte for byte", async () => {
  world = await SwapWorld.open({ funds: FUNDS });
  const { taker } = world;
  taker.refuse = (e) => (e.type === "tx_attempted" && e.slot === "fee" ? "full" : null);
  const lost = await world.start();
  expect(await world.finish(lost)).toEqual({ maker: "failed", taker: "failed" });
  taker.refuse = () => null;
  const next = await world.start();
  expect(await world.finish(next)).toEqual({ maker: "success", taker: "success" });
  const isMarked = async (uuid: string): Promise<boolean> =>
    taker.store.isMarked({ kind: "fee_tx", value: (await taker.state(uuid)).own.fee?.txid ?? "" });
  expect([await isMarked(lost), await isMarked(next), feesPaid()]).toEqual([false, true, FEE_UNITS]);
});

test.each([0, 1])(
  "a taker put back to before the fee of one of two swaps that ran side by side takes up that one's (swap %i)",
  async (lost) => {
    world = await SwapWorld.open({ funds: FUNDS });
    const uuids = [await world.start(), await world.start()];
    const { taker } = world;
    const isSent = (e: SwapEvent): boolean => e.type === "tx_attempted" && e.slot === "fee";
    for (const uuid of uuids) await world.until("the fee is sent", async () => (await taker.events(uuid)).some((e) => isSent(e.event)));
    const fees = await Promise.all(uuids.map(async (uuid) => (await taker.state(uuid)).own.fee?.txid));
    const [uuid, other] = lost === 0 ? uuids : uuids.toReversed();
    if (uuid === undefined || other === undefined) throw new Error("two swaps");
    await taker.stop();
    const keep = after("negotiated")((await taker.events(uuid)).map((e) => e.event));
    await taker.db.write([
      { sql: "DELETE FROM swap_events WHERE uuid = ? AND seq >= ?", params: [uuid, keep] },
      { sql: "DELETE FROM swap_marks WHERE kind = 'fee_tx' AND uuid = ?", params: [uuid] },
      // Nothing but its mark tells of the other one any more.
      { sql: "UPDATE swaps SET finished = 1, settled = 1 WHERE uuid = ?", params: [other] },
    ]);
    await taker.restart();
    await world.until("a fee is taken up", async () => (await taker.state(uuid)).own.fee !== undefined);
    expect((await taker.state(uuid)).own.fee?.txid).toBe(fees[lost]);
  },
);

test("two swaps of a taker put back to before their fees take up one fee each", async () => {
  world = await SwapWorld.open({ funds: FUNDS });
  const uuids = [await world.start(), await world.start()];
  const { taker } = world;
  const isSent = (e: SwapEvent): boolean => e.type === "tx_attempted" && e.slot === "fee";
  for (const uuid of uuids) await world.until("the fee is sent", async () => (await taker.events(uuid)).some((e) => isSent(e.event)));
  await taker.stop();
  for (const uuid of uuids) {
    const keep = after("negotiated")((await taker.events(uuid)).map((e) => e.event));
    await taker.db.write([
      { sql: "DELETE FROM swap_events WHERE uuid = ? AND seq >= ?", params: [uuid, keep] },
      { sql: "DELETE FROM swap_marks WHERE kind = 'fee_tx'", params: [] },
    ]);
  }
  await taker.restart();
  for (const uuid of uuids) await world.finish(uuid);
  expect(feesPaid()).toBe(2n * FEE_UNITS);
  const fees = await Promise.all(uuids.map(async (uuid) => (await taker.state(uuid)).own.fee?.txid));
  expect(new Set(fees).size).toBe(2);
});

test.each(MOMENTS)(
  "a %s put back to '%s' that returns when it is too late to pay still knows that it has paid",
  async (role, _moment, keep) => {
    const uuid = await putBack(role, keep);
    await world.side(role === "maker" ? "taker" : "maker").stop();
    await world.advance(4 * 3_600);
    await world.side(role).restart();
    const side = world.side(role);
    await world.until("it knows of its payment", async () => (await side.state(uuid)).own[ownPayment(role)]?.attempted === true, 10);
    await world.until("the swap ends", async () => (await world.outcome(side, uuid)) !== null, 8 * 3_600);
    // A maker that had time to claim has shown the secret: then the swap is a success for a taker that returns late.
    const isTraded = (await world.outcome(side, uuid)) === "success";
    expect(isTraded || (await world.outcome(side, uuid)) === "refunded").toBe(true);
    expect(isTraded).toBe(role === "taker");
    const [own, other]: [Ticker, Ticker] = role === "maker" ? ["AAA", "BBB"] : ["BBB", "AAA"];
    const [paid, got] = isTraded ? [100_000_000n, 200_000_000n] : [0n, 0n];
    expect(FUNDS - side.units(own) - paid).toBeLessThan(FEES);
    expect(got - side.units(other)).toBeLessThan(FEES);
  },
);

test("a maker whose store was put back to before its claim does not take its payment back when a reorg undoes that: it has been paid for", async () => {
  world = await SwapWorld.open({ funds: FUNDS });
  const uuid = await world.start();
  const { maker, taker } = world;
  await world.until("the claim is in a block", async () => {
    const block = (await maker.state(uuid)).facts.takerPaymentSpend?.block ?? null;
    return block !== null;
  });
  await taker.stop();
  await maker.stop();
  const events = (await maker.events(uuid)).map((e) => e.event);
  const keep = after("tx_signed", "takerPaymentSpend")(events) - 1;
  await maker.db.write([{ sql: "DELETE FROM swap_events WHERE uuid = ? AND seq >= ?", params: [uuid, keep] }]);
  const txid = (await maker.state(uuid)).facts.makerPayment?.txid ?? "";
  const { state } = world.chain("AAA");
  const depth = state.tip.height - (state.blockOfTx(txid)?.height ?? state.tip.height) + 1;
  const claims = state.tip.block.txs.map((t) => t.txid);
  const done = world.chain("AAA").reorg({ depth, forget: [txid, ...claims] });
  if (!done.ok) throw new Error(done.error.reason);
  await world.advance(1_000);
  await maker.restart();
  await world.until("the payment is back", () => world.chain("AAA").state.blockOfTx(txid) !== undefined, 900);
  expect((await maker.state(uuid)).own.cancel).toBeUndefined();
  await taker.restart();
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});
