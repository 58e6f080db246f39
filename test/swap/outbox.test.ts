import { afterEach, expect, test } from "vitest";
import { contractOf } from "../../src/app/swap/contracts.ts";
import { txToChainTx } from "../../src/chain/chainTx.ts";
import type { SwapMessage } from "../../src/core/message/types.ts";
import { toUnits } from "../../src/core/money/rational.ts";
import type { Slot, StoredEvent } from "../../src/core/swap/events.ts";
import type { SwapState } from "../../src/core/swap/swapState.ts";
import { fromHex } from "../../src/core/util/bytes.ts";
import { parseTx } from "../../src/core/utxo/txCodec.ts";
import { sleep } from "../../src/ports/clock.ts";
import type { FaultyRpc } from "../fakes/faultyRpc.ts";
import { ALL_ANYONECANPAY, refundSignedAs } from "../fakes/otherHashType.ts";
import { SwapWorld } from "../fakes/swapWorld.ts";

let world: SwapWorld;
afterEach(() => world.close());

const seenBy = async (side: SwapWorld["maker"], uuid: string, slot: string): Promise<boolean> =>
  (await side.events(uuid)).some((e) => e.event.type === "tx_seen" && e.event.slot === slot);
const attempted = async (side: SwapWorld["maker"], uuid: string, slot: Slot): Promise<boolean> =>
  (await side.state(uuid)).own[slot]?.attempted === true;

test("a payment marked as started but never sent does not leave hours later: its inputs are spent back instead", async () => {
  world = await SwapWorld.open();
  // The taker would put the payment before the network itself.
  world.lose(world.taker, (m) => m.type === "MakerPayment");
  const uuid = await world.start();
  world.maker.rpcOf("AAA").instead.set("sendrawtransaction", { ok: false, error: { kind: "unreachable", message: "no" } });
  await world.until("the mark", () => attempted(world.maker, uuid, "makerPayment"));
  const paid = (await world.maker.state(uuid)).own.makerPayment;
  await world.maker.stop();
  world.maker.rpcOf("AAA").instead.clear();
  await world.advance(1_000);
  const before = world.maker.units("AAA");
  await world.maker.restart();
  await world.until("the maker is done", async () => (await world.outcome(world.maker, uuid)) !== null);
  expect(await world.outcome(world.maker, uuid)).toBe("cancelled");
  expect(world.chain("AAA").state.blockOfTx(paid?.txid ?? "")).toBeUndefined();
  expect(before - world.maker.units("AAA")).toBeLessThan(10_000n);
});

test.each(["maker", "taker"] as const)(
  "nor does it leave by a message: whoever gets a %s's payment that late would have it mined, and keep what it was for",
  async (role) => {
    world = await SwapWorld.open();
    const [side, other] = [world.side(role), world.side(role === "maker" ? "taker" : "maker")];
    const [ticker, slot, type] =
      role === "maker" ? (["AAA", "makerPayment", "MakerPayment"] as const) : (["BBB", "takerPayment", "TakerPayment"] as const);
    const isTold = (m: SwapMessage): boolean => m.type === type;
    const stop = world.lose(other, isTold);
    const uuid = await world.start();
    side.rpcOf(ticker).instead.set("sendrawtransaction", { ok: false, error: { kind: "unreachable", message: "no" } });
    await world.until("the mark", () => attempted(side, uuid, slot));
    await side.stop();
    await world.advance(1_300);
    side.rpcOf(ticker).instead.clear();
    stop();
    const before = world.sent(side, uuid).filter(isTold).length;
    await side.restart();
    await world.until("it is done", async () => (await world.outcome(side, uuid)) !== null);
    expect(await world.outcome(side, uuid)).toBe("cancelled");
    expect(world.sent(side, uuid).filter(isTold).length - before).toBe(0);
  },
);

test.each([
  ["refused", { ok: false, error: { kind: "unreachable", message: "no" } }],
  ["took and passed on to nobody", { ok: false, error: { kind: "rpc", code: -27, message: "Transaction already in block chain" } }],
] as const)(
  "a taker's payment that its backend %s since the mark does not leave once the maker's has gone with a reorganisation",
  async (_, answer) => {
    world = await SwapWorld.open();
    const { maker, taker } = world;
    world.lose(maker, (m) => m.type === "TakerPayment");
    const uuid = await world.start();
    await world.until("the maker payment", async () => (await taker.state(uuid)).facts.makerPayment !== undefined);
    taker.rpcOf("BBB").instead.set("sendrawtransaction", answer);
    await world.until("the taker tries to pay", () => attempted(taker, uuid, "takerPayment"));
    await maker.stop();
    const { own, facts } = await taker.state(uuid);
    const gone = facts.makerPayment?.txid ?? "";
    const depth = world.chain("AAA").state.tip.height - (facts.makerPayment?.block?.height ?? 0) + 1;
    world.chain("AAA").reorg({ depth, blocks: depth + 1, forget: [gone] });
    taker.rpcOf("AAA").instead.set("sendrawtransaction", { ok: false, error: { kind: "unreachable", message: "no" } });
    await world.until("the taker misses it", async () => (await taker.state(uuid)).facts.makerPayment === undefined);
    const told = (): number => world.sent(taker, uuid).filter((m) => m.type === "TakerPayment").length;
    const before = told();
    taker.rpcOf("BBB").instead.clear();
    await world.until("the end", async () => (await world.outcome(taker, uuid)) !== null);
    expect([await world.outcome(taker, uuid), told() - before]).toEqual(["cancelled", 0]);
    const { state, mempool } = world.chain("BBB");
    expect([state.blockOfTx(own.takerPayment?.txid ?? ""), mempool.graph.get(own.takerPayment?.txid ?? "")]).toEqual([
      undefined,
      undefined,
    ]);
  },
);

/** A side whose backend takes nothing from the mark of its payment on, and the messages with that payment that it sends. */
async function refusedSinceMark(
  role: "maker" | "taker",
  lockDurationSec = 600,
): Promise<{ readonly uuid: string; readonly told: () => number }> {
  const side = world.side(role);
  const [ticker, slot, type] =
    role === "maker" ? (["AAA", "makerPayment", "MakerPayment"] as const) : (["BBB", "takerPayment", "TakerPayment"] as const);
  world.lose(world.side(role === "maker" ? "taker" : "maker"), (m) => m.type === type);
  const uuid = await world.start({ lockDurationSec });
  side.rpcOf(ticker).instead.set("sendrawtransaction", { ok: false, error: { kind: "unreachable", message: "no" } });
  await world.until("the mark", () => attempted(side, uuid, slot));
  return { uuid, told: () => world.sent(side, uuid).filter((m) => m.type === type).length };
}

test("nor is a maker's told of once the dex fee has gone: its taker would have it mined, and swap for no fee", async () => {
  world = await SwapWorld.open({ blockSec: null });
  const { maker, taker } = world;
  const { uuid, told } = await refusedSinceMark("maker");
  const fee = (await maker.state(uuid)).received.fee?.txid ?? "";
  const refuse = { ok: false, error: { kind: "rpc", code: -26, message: "txn-mempool-conflict" } } as const;
  for (const side of [maker, taker]) side.rpcOf("BBB").instead.set("sendrawtransaction", refuse);
  world.chain("BBB").mempool.graph.removeWithDescendants(fee);
  await world.until("the maker misses it", () => maker.coin("BBB").chain.tx(fee) === undefined, 60);
  const before = told();
  await world.advance(300);
  expect(told() - before).toBe(0);
});

test.each([
  ["maker", "BBB"],
  ["taker", "AAA"],
] as const)("nor is a %s's while nobody tells whether what it is for still stands", async (role, other) => {
  world = await SwapWorld.open();
  const { uuid, told } = await refusedSinceMark(role);
  world.side(role).rpcOf(other).down = true;
  await world.until("it is noticed", () => world.side(role).coin(other).chain.status().state !== "ready", 120);
  const before = told();
  await world.advance(90);
  expect(told() - before).toBe(0);
  world.side(role).rpcOf(other).down = false;
  world
    .side(role)
    .rpcOf(role === "maker" ? "AAA" : "BBB")
    .instead.clear();
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test("a taker's payment that could not be told for long is told soon after it may be again", async () => {
  world = await SwapWorld.open();
  const { taker } = world;
  const { told } = await refusedSinceMark("taker", 7_800);
  const isReady = (): boolean => taker.coin("AAA").chain.status().state === "ready";
  taker.rpcOf("AAA").down = true;
  await world.until("it is noticed", () => !isReady(), 120);
  await world.advance(1_200);
  const before = told();
  taker.rpcOf("AAA").down = false;
  await world.until("the maker's chain is back", isReady, 120);
  await world.until("the maker is told", () => told() > before, 30);
});

/**
 * A maker whose claim was marked and never sent is away until the taker has taken its payment back. `sent`: what it broadcasts there since.
 * @param away what happens to it meanwhile
 */
async function claimInVain(
  isMined: boolean,
  away: () => Promise<unknown> = async () => undefined,
): Promise<{ readonly uuid: string; readonly sent: () => readonly unknown[] }> {
  world = await SwapWorld.open();
  const { maker } = world;
  maker.rpcOf("BBB").instead.set("sendrawtransaction", { ok: false, error: { kind: "unreachable", message: "no" } });
  const uuid = await world.start();
  await world.until("the mark", async () => (await maker.state(uuid)).own.takerPaymentSpend?.attempted === true);
  await maker.stop();
  maker.rpcOf("BBB").instead.clear();
  if (!isMined) await world.withheld(world.taker, uuid, "takerPaymentRefund");
  const stage = isMined ? "tx_confirmed" : "tx_seen";
  const isBack = ({ event: e }: StoredEvent): boolean => e.type === stage && e.slot === "takerPaymentRefund";
  await world.until("the taker's refund", async () => (await world.taker.events(uuid)).some(isBack));
  await away();
  const before = maker.log.lines.length;
  await maker.restart();
  return { uuid, sent: () => maker.log.lines.slice(before).filter((l) => l.event === "broadcast" && l.fields.coin === "BBB") };
}

test.each([true, false])(
  "a claim marked as started but never sent shows no secret once the taker's payment is back (in a block: %s)",
  async (isMined) => {
    const { uuid, sent } = await claimInVain(isMined);
    await world.advance(120);
    expect(sent()).toEqual([]);
    world.chain("BBB").held.clear();
    expect(await world.finish(uuid)).toEqual({ maker: "refunded", taker: "refunded" });
    expect(sent()).toEqual([]);
  },
);

test("nor does it where the index of the chain begins anew, as after a lost data folder", async () => {
  const { uuid, sent } = await claimInVain(true, async () => {
    for (const table of ["watch", "tx", "output", "spend", "header", "meta"])
      await world.maker.db.write([{ sql: `DELETE FROM chain_${table}`, params: [] }]);
  });
  expect(await world.finish(uuid)).toEqual({ maker: "refunded", taker: "refunded" });
  expect(sent()).toEqual([]);
});

test("nor does it where the taker has signed its refund in a way of its own", async () => {
  world = await SwapWorld.open();
  const { maker, taker } = world;
  maker.rpcOf("BBB").instead.set("sendrawtransaction", { ok: false, error: { kind: "unreachable", message: "no" } });
  taker.refuse = (e) => (e.type === "tx_signed" && e.slot === "takerPaymentRefund" ? "full" : null);
  const uuid = await world.start();
  await world.until("the mark", async () => (await maker.state(uuid)).own.takerPaymentSpend?.attempted === true);
  const state = await taker.state(uuid);
  const contract = contractOf(state, "takerPayment");
  await world.advance(contract.lock + 300 - Math.floor(world.clock.nowMs() / 1_000));
  const refund = taker.coin("BBB").buildRefund({ contract, payment: fromHex(state.own.takerPayment?.raw ?? ""), fee: 2_000n });
  const tx = refund.ok ? parseTx(refund.value.raw, world.chain("BBB").params.template.format) : refund;
  if (!tx.ok) throw new Error("no refund");
  const signed = refundSignedAs(ALL_ANYONECANPAY, tx.value, contract, taker.key);
  expect(world.chain("BBB").mineExactly(taker.script, [signed]).ok).toBe(true);
  await world.advance(60);
  const before = maker.log.lines.length;
  maker.rpcOf("BBB").instead.clear();
  expect(await world.finish(uuid)).toEqual({ maker: "refunded", taker: "refunded" });
  expect(maker.log.lines.slice(before).filter((l) => l.event === "broadcast" && l.fields.coin === "BBB")).toEqual([]);
});

/** A maker whose claim was marked and reached nobody comes back after so many seconds, without its taker, and comes to an end. @returns the swap */
async function backAfterMark(sec: number): Promise<string> {
  world = await SwapWorld.open();
  const { maker, taker } = world;
  maker.rpcOf("BBB").instead.set("sendrawtransaction", { ok: false, error: { kind: "unreachable", message: "no" } });
  const uuid = await world.start();
  await world.until("the mark", async () => (await maker.state(uuid)).own.takerPaymentSpend?.attempted === true);
  await taker.stop();
  await maker.stop();
  await world.advance(sec);
  maker.rpcOf("BBB").instead.clear();
  await maker.restart();
  await world.until("the maker's end", async () => (await world.outcome(maker, uuid)) !== null);
  return uuid;
}

test("a claim that was marked in time goes out late where the taker's payment still stands: it may have left", async () => {
  const uuid = await backAfterMark(500);
  await world.taker.restart();
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test("nor does it go once the maker's own payment can go back, while nobody was seen to have it: the maker would take both", async () => {
  const uuid = await backAfterMark(1_500);
  await world.advance(120);
  await world.taker.restart();
  expect(await world.finish(uuid)).toEqual({ maker: "refunded", taker: "refunded" });
});

test("a maker whose claim came into a block while it was away until after its own lock sends no refund: it has been paid", async () => {
  world = await SwapWorld.open();
  const { maker, taker } = world;
  taker.rpcOf("AAA").judge = (method) =>
    method === "sendrawtransaction" ? { ok: false, error: { kind: "unreachable", message: "no" } } : null;
  const uuid = await world.start();
  await world.until("the claim", () => seenBy(maker, uuid, "takerPaymentSpend"));
  await taker.stop();
  await maker.stop();
  taker.rpcOf("AAA").judge = null;
  await world.advance(1_500);
  await maker.restart();
  await world.until("the maker's end", async () => (await world.outcome(maker, uuid)) !== null);
  expect((await maker.state(uuid)).own.makerPaymentRefund?.attempted).not.toBe(true);
  await taker.restart();
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test("nor does a refund leave that was signed and reached nobody before the claim came into a block", async () => {
  world = await SwapWorld.open();
  const { maker, taker } = world;
  const away = { ok: false, error: { kind: "unreachable", message: "no" } } as const;
  const keepFrom = (side: typeof maker, isKept: boolean): void => {
    side.rpcOf("AAA").judge = isKept ? (method) => (method === "sendrawtransaction" ? away : null) : null;
  };
  keepFrom(taker, true);
  const uuid = await world.start();
  await world.until("the mark", async () => (await maker.state(uuid)).own.takerPaymentSpend?.attempted === true);
  world.chain("BBB").held.add((await maker.state(uuid)).own.takerPaymentSpend?.txid ?? "");
  await world.until("the claim", () => seenBy(maker, uuid, "takerPaymentSpend"));
  await taker.stop();
  keepFrom(maker, true);
  await world.until("the refund", async () => (await maker.state(uuid)).own.makerPaymentRefund?.attempted === true, 3_000);
  await maker.stop();
  world.chain("BBB").held.clear();
  keepFrom(maker, false);
  keepFrom(taker, false);
  await world.advance(60);
  const before = maker.log.lines.length;
  await maker.restart();
  await world.until("the maker's end", async () => (await world.outcome(maker, uuid)) !== null);
  expect(maker.log.lines.slice(before).filter((l) => l.event === "broadcast" && l.fields.coin === "AAA")).toEqual([]);
  await taker.restart();
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test.each([
  ["taker", "BBB", "fee"],
  ["maker", "AAA", "makerPayment"],
] as const)("while its own backend is away a %s signs nothing to be sent there", async (role, ticker, slot) => {
  world = await SwapWorld.open();
  const rpc = world.side(role).rpcOf(ticker);
  rpc.down = true;
  await world.advance(30);
  const uuid = await world.start();
  await world.advance(120);
  expect((await world.side(role).state(uuid)).negotiated).not.toBeNull();
  expect((await world.side(role).state(uuid)).own[slot]).toBeUndefined();
  rpc.down = false;
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test.each(["tx_confirmed", "tx_signed"] as const)(
  "a taker whose backend of the other coin is away from %s on gives up in time, and has what it would have paid",
  async (type) => {
    world = await SwapWorld.open();
    const { taker } = world;
    const slot = type === "tx_signed" ? "takerPayment" : "makerPayment";
    taker.refuse = (event) => {
      if (event.type === type && event.slot === slot) taker.rpcOf("AAA").down = true;
      return null;
    };
    const uuid = await world.start({ lockDurationSec: 7_800 });
    await world.until("it gives up", async () => (await world.outcome(taker, uuid)) === "failed", 3_300);
    const coin = taker.coin("BBB");
    expect([await attempted(taker, uuid, "takerPayment"), coin.ledger.held()]).toEqual([false, 0n]);
    expect(toUnits(coin.spendable(), coin.decimals)).toBe(taker.units("BBB"));
  },
);

test("a maker whose backend of the other coin goes away while a fee is looked for gives up in time, and has what it would have paid", async () => {
  world = await SwapWorld.open();
  const { maker } = world;
  maker.refuse = (event) => {
    if (event.type === "negotiated") maker.rpcOf("BBB").down = true;
    return null;
  };
  const uuid = await world.start({ lockDurationSec: 7_800 });
  await world.until("it gives up", async () => (await world.outcome(maker, uuid)) === "failed", 900);
  expect(maker.coin("AAA").ledger.held()).toBe(0n);
});

test("while the backend of the other coin is away a taker pays no fee: it would see no payment", async () => {
  world = await SwapWorld.open();
  const rpc = world.taker.rpcOf("AAA");
  rpc.down = true;
  await world.advance(30);
  const uuid = await world.start();
  await world.until("it gives up", async () => (await world.outcome(world.taker, uuid)) === "failed", 800);
  expect((await world.taker.state(uuid)).abandoned?.event).toBe("TakerFeeSendFailed");
  expect((await world.taker.events(uuid)).some(({ event: e }) => e.type === "tx_signed")).toBe(false);
});

test("a maker whose own backend stays away gives the swap up in time", async () => {
  world = await SwapWorld.open();
  world.maker.rpcOf("AAA").down = true;
  await world.advance(30);
  const uuid = await world.start();
  await world.until("it is over", async () => (await world.outcome(world.maker, uuid)) === "failed", 400);
  expect((await world.maker.state(uuid)).abandoned?.event).toBe("MakerPaymentTransactionFailed");
});

test("a fee that is signed when the backend goes away is neither sent nor told of", async () => {
  world = await SwapWorld.open();
  const rpc = world.taker.rpcOf("BBB");
  world.taker.refuse = (e) => {
    if (e.type === "tx_attempted") rpc.down = true;
    return e.type === "tx_attempted" && e.slot === "fee" ? "full" : null;
  };
  const uuid = await world.start();
  await world.until("it is away", () => rpc.down);
  await world.advance(30);
  world.taker.refuse = () => null;
  await world.advance(60);
  expect(await attempted(world.taker, uuid, "fee")).toBe(false);
  rpc.down = false;
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test("what a fee spends stays taken while nobody knows whether it is out, also after a restart; past the lock it is free", async () => {
  world = await SwapWorld.open();
  const rpc = world.taker.rpcOf("BBB");
  const whole = world.taker.units("BBB");
  const ready = (): bigint =>
    world.taker
      .coin("BBB")
      .ledger.ready()
      .reduce((n, u) => n + u.value, 0n);
  rpc.instead.set("sendrawtransaction", { ok: false, error: { kind: "unreachable", message: "no" } });
  world.lose(world.maker, (m) => m.type === "TakerFee");
  const uuid = await world.start();
  await world.until("the fee is sent", () => attempted(world.taker, uuid, "fee"));
  await world.until("it comes to nothing", async () => (await world.outcome(world.taker, uuid)) === "failed");
  await world.advance(60);
  expect(ready()).toBe(0n);
  await world.taker.stop();
  await world.taker.restart();
  rpc.down = true;
  await world.advance(8_000);
  expect(ready()).toBe(0n);
  rpc.down = false;
  await world.advance(100);
  expect(ready()).toBe(0n);
  rpc.instead.set("sendrawtransaction", { ok: false, error: { kind: "rpc", code: -26, message: "no" } });
  await world.advance(60);
  expect(ready()).toBe(whole);
  expect(await world.taker.store.unsettled()).toEqual([]);
});

test("a failed swap whose fee got out after all is watched until that is deep", async () => {
  world = await SwapWorld.open();
  const { held } = world.chain("BBB");
  world.lose(world.maker, (m) => m.type === "TakerFee");
  const uuid = await world.start();
  await world.withheld(world.taker, uuid, "fee");
  await world.until("it comes to nothing", async () => (await world.outcome(world.taker, uuid)) === "failed");
  await world.advance(9_000);
  expect(await world.taker.store.unsettled()).toHaveLength(1);
  held.clear();
  await world.advance(100);
  expect(await world.taker.store.unsettled()).toHaveLength(1);
  await world.advance(200);
  expect(await world.taker.store.unsettled()).toEqual([]);
});

test("a payment that no block takes and the mempool forgets is cancelled, and never competes with its cancellation", async () => {
  world = await SwapWorld.open();
  const uuid = await world.start();
  world.taker.rpcOf("BBB");
  await world.withheld(world.maker, uuid, "makerPayment");
  await world.advance(400);
  const own = (await world.maker.state(uuid)).own;
  expect(own.cancel).toBeDefined();
  // The mempool forgets the payment: only now is there room for the conflict.
  world.chain("AAA").mempool.graph.removeWithDescendants(own.makerPayment?.txid ?? "");
  await world.until("the maker is done", async () => (await world.outcome(world.maker, uuid)) !== null);
  expect(await world.outcome(world.maker, uuid)).toBe("cancelled");
});

test("a payment others of ours are built on is not cancelled: that would take theirs away too", async () => {
  world = await SwapWorld.open();
  const first = await world.start();
  const { held } = world.chain("AAA");
  await world.withheld(world.maker, first, "makerPayment");
  const second = await world.start();
  await world.until("the second maker payment", () => seenBy(world.maker, second, "makerPayment"));
  await world.advance(300);
  expect((await world.maker.state(first)).own.cancel).toBeUndefined();
  held.clear();
  await world.until(
    "both are done",
    async () => (await world.outcome(world.maker, first)) !== null && (await world.outcome(world.maker, second)) !== null,
  );
  expect(await world.outcome(world.maker, first)).toBe("refunded");
  expect(["refunded", "success"]).toContain(await world.outcome(world.maker, second));
});

/** From here on a daemon takes so long for each call, milliseconds. */
function answersAfter(rpc: FaultyRpc, ms: number): void {
  const atOnce = rpc.call.bind(rpc);
  rpc.judge = () => null;
  rpc.call = async (...asked) => {
    await sleep(world.clock, ms);
    return atOnce(...asked);
  };
}

/** Two payments of a taker, one on the change of the other, that a reorganisation took; it is down until the maker has its own back. */
async function chainedPaymentsGone(): Promise<{ readonly uuids: readonly string[]; readonly own: readonly SwapState["own"][] }> {
  world = await SwapWorld.open({ blockSec: null });
  const { maker, taker } = world;
  const chain = world.chain("BBB");
  maker.rpcOf("BBB").instead.set("sendrawtransaction", { ok: false, error: { kind: "unreachable", message: "no" } });
  const paid = async (): Promise<string> => {
    const uuid = await world.start();
    await world.until("the maker payment", () => seenBy(taker, uuid, "makerPayment"));
    world.mine("AAA");
    await world.until("the taker payment", () => seenBy(taker, uuid, "takerPayment"));
    world.mine("BBB");
    await world.until("it is in a block", async () => (await taker.state(uuid)).facts.takerPayment?.block != null);
    return uuid;
  };
  const uuids = [await paid(), await paid()];
  const own = await Promise.all(uuids.map(async (uuid) => (await taker.state(uuid)).own));
  expect(taker.coin("BBB").builtOn(fromHex(own[0]?.takerPayment?.raw ?? "")).size).toBeGreaterThan(0);
  await taker.stop();
  const forget = own.flatMap(({ fee, takerPayment }) => [fee?.txid ?? "", takerPayment?.txid ?? ""]);
  expect(chain.reorg({ depth: 2, blocks: 3, forget })).toMatchObject({ ok: true });
  for (const ticker of ["AAA", "BBB"] as const) world.chain(ticker).autoMine(20_000);
  const isBack = async (): Promise<boolean> =>
    (await Promise.all(uuids.map((uuid) => world.outcome(maker, uuid)))).every((o) => o !== null);
  await world.until("the maker has its payments back", isBack, 6_000);
  return { uuids, own };
}

test("a payment others are built on, which a reorganisation took until the other side had its own back, is cancelled, and they with it", async () => {
  const { uuids, own } = await chainedPaymentsGone();
  const { taker } = world;
  const chain = world.chain("BBB");
  await taker.restart();
  const isOver = async (): Promise<boolean> =>
    (await Promise.all(uuids.map((uuid) => world.outcome(taker, uuid)))).every((o) => o !== null);
  await world.until("both are done", isOver, 8_000);
  expect(await Promise.all(uuids.map((uuid) => world.outcome(taker, uuid)))).toEqual(["cancelled", "cancelled"]);
  for (const tx of own) expect(chain.state.blockOfTx(tx.takerPayment?.txid ?? "")).toBeUndefined();
});

// What it waits for is a daemon that answers late: servers are asked beside each other.
test.skipIf(SwapWorld.isElectrum)("such a payment is not cancelled where it comes back while the other chain is asked", async () => {
  const { uuids, own } = await chainedPaymentsGone();
  const { taker } = world;
  const chain = world.chain("BBB");
  answersAfter(taker.rpcOf("AAA"), 1_500);
  chain.autoMine(null);
  await taker.restart();
  answersAfter(taker.rpcOf("AAA"), 10_000);
  const [fee, payment] = [own[0]?.fee, own[0]?.takerPayment].map((sent) => {
    const tx = parseTx(fromHex(sent?.raw ?? ""), chain.params.template.format);
    return tx.ok ? txToChainTx(tx.value) : expect.fail("it does not parse");
  });
  // The taker itself may have brought back the fee.
  if (fee && !chain.mempool.graph.get(fee.txid)) chain.send(fee);
  expect(payment && chain.send(payment)).toMatchObject({ ok: true });
  await world.advance(300);
  expect((await taker.state(uuids[0] ?? "")).own.cancel).toBeUndefined();
});

test("such a payment is sent again, late, too, where what it is for still stands", async () => {
  world = await SwapWorld.open({ blockSec: null });
  const { maker, taker } = world;
  const chain = world.chain("AAA");
  const uuids = [await world.start()];
  const isPaid = (uuid = ""): Promise<boolean> => seenBy(maker, uuid, "makerPayment");
  await world.until("the first payment", () => isPaid(uuids[0]));
  world.mine("AAA");
  await world.until("it is in a block", async () => (await maker.state(uuids[0] ?? "")).facts.makerPayment?.block != null);
  uuids.push(await world.start());
  await world.until("the second payment", () => isPaid(uuids[1]));
  await taker.stop();
  await maker.stop();
  const own = await Promise.all(uuids.map(async (uuid) => (await maker.state(uuid)).own.makerPayment?.txid ?? ""));
  expect(chain.reorg({ depth: 1, forget: own })).toMatchObject({ ok: true });
  world.chain("BBB").mempool.graph.removeWithDescendants((await taker.state(uuids[0] ?? "")).own.fee?.txid ?? "");
  maker.rpcOf("BBB").instead.set("sendrawtransaction", { ok: false, error: { kind: "unreachable", message: "no" } });
  for (const ticker of ["AAA", "BBB"] as const) world.chain(ticker).autoMine(20_000);
  await world.advance(500);
  await maker.restart();
  // As any real one its daemon takes a while to answer.
  answersAfter(maker.rpcOf("BBB"), 5);
  // While its fee is not there, it is neither sent nor given up.
  await world.advance(300);
  expect([(await maker.state(uuids[0] ?? "")).own.cancel, chain.state.blockOfTx(own[0] ?? "")]).toEqual([undefined, undefined]);
  maker.rpcOf("BBB").instead.clear();
  await world.until("it is in a block again", async () => chain.state.blockOfTx(own[0] ?? "") !== undefined, 600);
  const isOver = async (): Promise<boolean> =>
    (await Promise.all(uuids.map((uuid) => world.outcome(maker, uuid)))).every((o) => o !== null);
  await world.until("both are done", isOver, 8_000);
  expect(await Promise.all(uuids.map((uuid) => world.outcome(maker, uuid)))).toEqual(["refunded", "cancelled"]);
});

test("a fee and the payment built on it, both evicted, go out again together on the refund road", async () => {
  world = await SwapWorld.open({ blockSec: null });
  const uuid = await world.start();
  await world.until("the fee", () => seenBy(world.taker, uuid, "fee"));
  await world.until("the maker payment", () => seenBy(world.maker, uuid, "makerPayment"));
  world.mine("AAA");
  await world.until("the taker payment", () => seenBy(world.taker, uuid, "takerPayment"));
  await world.maker.stop();
  await world.advance(500);
  const own = (await world.taker.state(uuid)).own;
  expect((await world.taker.state(uuid)).refund).not.toBeNull();
  world.chain("BBB").mempool.graph.removeWithDescendants(own.fee?.txid ?? "");
  await world.advance(100);
  for (let i = 0; i < 20; i++) {
    await world.advance(60);
    world.mine("BBB");
  }
  await world.until("the taker is done", async () => {
    world.mine("BBB");
    return (await world.outcome(world.taker, uuid)) !== null;
  });
  expect(["refunded", "cancelled"]).toContain(await world.outcome(world.taker, uuid));
  await world.maker.restart();
});

test("a taker payment not yet sent stays home when the maker payment is gone by the time it would leave", async () => {
  world = await SwapWorld.open({ blockSec: null });
  const uuid = await world.start();
  await world.until("the maker payment", () => seenBy(world.maker, uuid, "makerPayment"));
  world.taker.refuse = (e) => (e.type === "tx_attempted" && e.slot === "takerPayment" ? "full" : null);
  world.mine("AAA");
  await world.until("the taker payment is signed", async () => (await world.taker.state(uuid)).own.takerPayment !== undefined);
  const paid = (await world.maker.state(uuid)).own.makerPayment?.txid ?? "";
  await world.maker.stop();
  const done = world.chain("AAA").reorg({ depth: 1, blocks: 2, forget: [paid] });
  expect(done.ok).toBe(true);
  await world.advance(10);
  world.taker.refuse = () => null;
  await world.advance(120);
  expect(await attempted(world.taker, uuid, "takerPayment")).toBe(false);
  await world.advance(300);
  expect(await world.outcome(world.taker, uuid)).toBe("failed");
  expect(world.taker.coin("BBB").ledger.held()).toBe(0n);
  await world.maker.restart();
});

test("closing the node while the mark is being stored sends nothing", async () => {
  world = await SwapWorld.open();
  const uuid = await world.start();
  let stopping: Promise<void> | null = null;
  world.maker.refuse = (e) => {
    if (e.type === "tx_signed" && e.slot === "makerPayment") stopping ??= world.maker.stop();
    return null;
  };
  await world.until("the maker stops", () => stopping !== null);
  await world.drive(stopping ?? Promise.resolve());
  const own = (await world.maker.state(uuid)).own.makerPayment;
  if (own && !own.attempted) expect(world.chain("AAA").mempool.graph.get(own.txid)).toBeUndefined();
  await world.maker.restart();
});

test("a spend of the payment's inputs by somebody with the same seed ends the swap instead of leaving it open for ever", async () => {
  world = await SwapWorld.open();
  const uuid = await world.start();
  world.maker.rpcOf("AAA").instead.set("sendrawtransaction", { ok: false, error: { kind: "rpc", code: -26, message: "no" } });
  await world.until("the mark", () => attempted(world.maker, uuid, "makerPayment"));
  // Another wallet of the same seed spends everything.
  const paid = (await world.maker.state(uuid)).own.makerPayment;
  const other = world.maker.coin("AAA").buildCancel(fromHex(paid?.raw ?? ""));
  const tx = other.ok ? parseTx(other.value.raw, world.chain("AAA").params.template.format) : other;
  if (!tx.ok) throw new Error("no conflict");
  expect(world.chain("AAA").mineExactly(world.maker.script, [txToChainTx(tx.value)]).ok).toBe(true);
  world.maker.rpcOf("AAA").instead.clear();
  await world.until("the maker is done", async () => (await world.outcome(world.maker, uuid)) !== null, 600);
  expect(await world.outcome(world.maker, uuid)).toBe("cancelled");
});

test("a payment whose claim has been seen is sent on past its window, not taken back: the swap is paid for", async () => {
  world = await SwapWorld.open();
  const uuid = await world.start({ confs: 0 });
  const { held } = world.chain("BBB");
  await world.withheld(world.taker, uuid, "takerPayment");
  await world.until("the maker's claim", () => seenBy(world.taker, uuid, "takerPaymentSpend"));
  await world.advance(520);
  const { own, refund } = await world.taker.state(uuid);
  expect([own.cancel, refund]).toEqual([undefined, null]);
  held.clear();
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

// On Electrum nothing that servers show or leave out keeps a claim at home before the payment's lock (ADR 37).
test.skipIf(SwapWorld.isElectrum).each([
  ["is lost for good", false],
  ["comes back", true],
])(
  "a maker's claim that its backend refused since the mark waits for the taker's payment that a reorganisation took: it %s",
  async (_, comesBack) => {
    world = await SwapWorld.open();
    const { maker, taker } = world;
    const chain = world.chain("BBB");
    maker.rpcOf("BBB").instead.set("sendrawtransaction", { ok: false, error: { kind: "unreachable", message: "no" } });
    const uuid = await world.start();
    await world.until("the mark", () => attempted(maker, uuid, "takerPaymentSpend"));
    await taker.stop();
    const { facts, own } = await maker.state(uuid);
    const payment = facts.takerPayment?.txid ?? "";
    const depth = chain.state.tip.height - (facts.takerPayment?.block?.height ?? 0) + 1;
    chain.held.add(payment);
    chain.reorg({ depth, blocks: depth + 1, forget: [payment] });
    await world.until("the maker misses it", async () => (await maker.state(uuid)).facts.takerPayment === undefined);
    const before = maker.log.lines.length;
    maker.rpcOf("BBB").instead.clear();
    await world.advance(600);
    const sent = (): readonly unknown[] =>
      maker.log.lines.slice(before).flatMap(({ event, fields }) => (event === "broadcast" && fields.coin === "BBB" ? [fields.txid] : []));
    expect(sent()).toContain(payment);
    expect(sent()).not.toContain(own.takerPaymentSpend?.txid);
    if (comesBack) chain.held.clear();
    await world.until("the end", async () => (await world.outcome(maker, uuid)) !== null);
    expect(await world.outcome(maker, uuid)).toBe(comesBack ? "success" : "refunded");
    expect(sent().includes(own.takerPaymentSpend?.txid)).toBe(comesBack);
  },
);
