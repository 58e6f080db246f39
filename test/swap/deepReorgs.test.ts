import { afterEach, describe, expect, test } from "vitest";
import { type ChainTx, txToChainTx } from "../../src/chain/chainTx.ts";
import type { Role, Slot } from "../../src/core/swap/events.ts";
import { versionsOf } from "../../src/core/swap/swapState.ts";
import { fromHex } from "../../src/core/util/bytes.ts";
import { signInputs } from "../../src/core/utxo/signInput.ts";
import type { Tx } from "../../src/core/utxo/tx.ts";
import { parseTx } from "../../src/core/utxo/txCodec.ts";
import { malleate } from "../fakes/malleate.ts";
import { type SwapSide, SwapWorld, type Ticker } from "../fakes/swapWorld.ts";

let world: SwapWorld;
afterEach(() => world.close());

const CHAIN: { readonly [S in Slot]?: Ticker } = {
  makerPayment: "AAA",
  makerPaymentSpend: "AAA",
  makerPaymentRefund: "AAA",
  fee: "BBB",
  takerPayment: "BBB",
  takerPaymentSpend: "BBB",
  takerPaymentRefund: "BBB",
};
const OWNER: { readonly [S in Slot]?: Role } = {
  fee: "taker",
  takerPayment: "taker",
  makerPaymentSpend: "taker",
  takerPaymentRefund: "taker",
};

const txOf = (ticker: Ticker, raw: string): Tx => {
  const tx = parseTx(fromHex(raw), world.chain(ticker).params.template.format);
  if (!tx.ok) throw new Error(tx.error.detail);
  return tx.value;
};
const fact = async (side: SwapSide, uuid: string, slot: Slot) => (await side.state(uuid)).facts[slot];
const depth = (ticker: Ticker, txid: string): number => {
  const { state } = world.chain(ticker);
  const at = state.blockOfTx(txid);
  return at ? state.tip.height - at.height + 1 : 0;
};
function reorg(
  ticker: Ticker,
  blocks: number,
  plan: { readonly forget?: readonly string[]; readonly txs?: readonly ChainTx[]; readonly to?: number } = {},
): void {
  const { to, ...rest } = plan;
  const done = world.chain(ticker).reorg({ depth: blocks, ...(to === undefined ? {} : { blocks: to }), ...rest });
  if (!done.ok) throw new Error(`${done.error.reason} ${done.error.detail ?? ""}`);
}

/** Waits until a transaction is so deep, and takes away all the blocks it stands under. */
async function dig(side: SwapSide, uuid: string, slot: Slot, blocks: number, forget: boolean): Promise<void> {
  const ticker = CHAIN[slot] ?? "AAA";
  await world.until(`${slot} is ${blocks} deep`, async () => depth(ticker, (await fact(side, uuid, slot))?.txid ?? "") >= blocks);
  const txid = (await fact(side, uuid, slot))?.txid ?? "";
  reorg(ticker, depth(ticker, txid), { forget: forget ? [txid] : [] });
}

describe.each(["fee", "makerPayment", "takerPayment", "takerPaymentSpend", "makerPaymentSpend"] as const)(
  "a reorg one block deeper than the confirmations asked for takes %s",
  (slot) => {
    test.each([
      ["goes back to the mempool", false],
      ["is forgotten by everybody", true],
    ])("which %s: nobody loses, and the swap succeeds", async (_what, forget) => {
      world = await SwapWorld.open();
      const side = world.side(OWNER[slot] ?? "maker");
      const uuid = await world.start({ confs: 1 });
      await dig(slot === "takerPaymentSpend" ? world.maker : side, uuid, slot, 2, forget);
      expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
      await world.advance(60);
      for (const s of [world.maker, world.taker])
        expect((await s.status(uuid)).swapnode).toMatchObject({ on_chain: "success", danger: null });
    });
  },
);

describe.each([1, 2])("a reorg of %i blocks", (blocks) => {
  test.each(["makerPaymentRefund", "takerPaymentRefund"] as const)("takes %s: it goes out again, and the end stands", async (slot) => {
    world = await SwapWorld.open();
    // The maker never hears of the taker's payment, nor looks for it.
    const uuid = await world.start();
    const role = slot === "makerPaymentRefund" ? "maker" : "taker";
    const side = world.side(role);
    const other = world.side(role === "maker" ? "taker" : "maker");
    await world.until(
      "the own payment",
      async () => (await fact(side, uuid, role === "maker" ? "makerPayment" : "takerPayment")) !== undefined,
    );
    await other.stop();
    await dig(side, uuid, slot, blocks, true);
    await world.until("it is back", async () => depth(CHAIN[slot] ?? "AAA", (await fact(side, uuid, slot))?.txid ?? "") >= 1, 400);
    await world.until("the end", async () => (await world.outcome(side, uuid)) !== null);
    expect(await world.outcome(side, uuid)).toBe("refunded");
    await world.advance(60);
    expect((await side.status(uuid)).swapnode).toMatchObject({ outcome: "refunded", on_chain: "refunded" });
    await other.restart();
  });

  test("takes a cancellation: the money comes back all the same", async () => {
    world = await SwapWorld.open();
    world.lose(world.taker, (m) => m.type === "MakerPayment");
    const uuid = await world.start();
    world.maker.rpcOf("AAA").instead.set("sendrawtransaction", { ok: false, error: { kind: "unreachable", message: "no" } });
    await world.until("the mark", async () => (await world.maker.state(uuid)).own.makerPayment?.attempted === true);
    await world.advance(400);
    world.maker.rpcOf("AAA").instead.clear();
    const { cancel } = (await world.maker.state(uuid)).own;
    await world.until("the cancellation is deep", () => depth("AAA", cancel?.txid ?? "") >= blocks);
    reorg("AAA", depth("AAA", cancel?.txid ?? ""), { forget: [cancel?.txid ?? ""] });
    await world.until("the end", async () => (await world.outcome(world.maker, uuid)) !== null && depth("AAA", cancel?.txid ?? "") > 0);
    expect(await world.outcome(world.maker, uuid)).toBe("cancelled");
  });
});

test("a reorg takes the maker's refund where the taker's own has long been deep: it goes out again", async () => {
  world = await SwapWorld.open();
  world.maker.refuse = (e) => (e.type === "tx_signed" && e.slot === "takerPaymentSpend" ? "full" : null);
  const uuid = await world.start();
  await world.until("the taker has its own back", async () => (await world.outcome(world.taker, uuid)) === "refunded");
  await dig(world.maker, uuid, "makerPaymentRefund", 2, true);
  await world.until("it is back", async () => depth("AAA", (await fact(world.maker, uuid, "makerPaymentRefund"))?.txid ?? "") >= 1, 400);
  expect(await world.finish(uuid)).toEqual({ maker: "refunded", taker: "refunded" });
});

test("a claim reorged away after the end, and a refund of the other side in its place: the status says what was lost", async () => {
  world = await SwapWorld.open({ blockSec: null });
  const uuid = await world.start();
  const mineAt = async (ticker: Ticker, slot: Slot, side: SwapSide): Promise<void> => {
    await world.until(slot, async () => (await fact(side, uuid, slot)) !== undefined);
    world.mine(ticker);
  };
  await mineAt("AAA", "makerPayment", world.taker);
  await mineAt("BBB", "takerPayment", world.maker);
  await mineAt("BBB", "takerPaymentSpend", world.maker);
  await mineAt("AAA", "makerPaymentSpend", world.taker);
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
  expect(await world.maker.status(uuid)).toMatchObject({ is_success: true });
  await world.advance(700);
  const claim = (await fact(world.maker, uuid, "takerPaymentSpend"))?.txid ?? "";
  const payment = await fact(world.maker, uuid, "takerPayment");
  world.maker.rpcOf("BBB").instead.set("sendrawtransaction", { ok: false, error: { kind: "unreachable", message: "no" } });
  world.taker.rpcOf("BBB").instead.set("sendrawtransaction", { ok: false, error: { kind: "unreachable", message: "no" } });
  reorg("BBB", depth("BBB", claim), { forget: [claim], to: depth("BBB", claim) + 12 });
  // The taker that was paid already takes its own payment back as well.
  const { contractOf } = await import("../../src/app/swap/contracts.ts");
  const contract = contractOf(await world.taker.state(uuid), "takerPayment");
  await world.advance(10);
  const refund = world.taker.coin("BBB").buildRefund({ contract, payment: fromHex(payment?.raw ?? "") });
  if (!refund.ok) throw new Error("no refund");
  const mined = world
    .chain("BBB")
    .mineExactly(world.taker.script, [txToChainTx(txOf("BBB", Buffer.from(refund.value.raw).toString("hex")))]);
  expect(mined).toMatchObject({ ok: true });
  world.maker.rpcOf("BBB").instead.clear();
  await world.until("the loss is told", async () => (await world.outcome(world.maker, uuid)) === "lost", 120);
  const status = await world.maker.status(uuid);
  expect(status).toMatchObject({
    is_finished: true,
    is_success: false,
    swapnode: { outcome: "lost", on_chain: "lost", danger: "the other side took both payments" },
  });
});

/** The taker's payment again, from the same inputs, under another id: its change is one unit less. */
async function remade(uuid: string): Promise<ChainTx> {
  const raw = (await world.taker.state(uuid)).own.takerPayment?.raw ?? "";
  const old = txOf("BBB", raw);
  const outputs = old.outputs.map((o, i) => (i === old.outputs.length - 1 ? { ...o, value: o.value - 1n } : o));
  const coin = world.taker.coin("BBB");
  const spent = old.inputs.map((i) => coin.ledger.own.source(i) ?? { ...i, value: 0n, script: world.taker.script });
  return txToChainTx(signInputs({ ...old, outputs }, spent, world.taker.key, { kind: "legacy" }));
}

test("a taker payment that comes back under another id is claimed under that id: the secret has left, there is no way back", async () => {
  world = await SwapWorld.open({ blockSec: null });
  const uuid = await world.start();
  await world.until("the maker payment", async () => (await fact(world.taker, uuid, "makerPayment")) !== undefined);
  world.mine("AAA");
  await world.until("the taker payment", async () => (await fact(world.maker, uuid, "takerPayment")) !== undefined);
  const other = await remade(uuid);
  const fee = txOf("BBB", (await world.taker.state(uuid)).own.fee?.raw ?? "");
  world.mine("BBB");
  await world.until("the claim leaves", async () => (await world.maker.state(uuid)).own.takerPaymentSpend?.attempted === true);
  const first = (await world.maker.state(uuid)).own.takerPaymentSpend?.txid ?? "";
  await world.until("the taker knows the secret", async () => (await world.taker.state(uuid)).secret !== null);
  // The block goes, and another one has the payment in its other form.
  reorg("BBB", 1, { txs: [txToChainTx(fee), other], forget: [first] });
  await world.until("a claim of the new one", async () => (await world.maker.state(uuid)).own.takerPaymentSpend?.txid !== first, 120);
  const claims = versionsOf(
    (await world.maker.state(uuid)).own.takerPaymentSpend ?? { txid: "", raw: "", notAfter: null, attempted: false },
  );
  expect(claims.map((c) => txOf("BBB", c.raw).inputs[0]?.txid)).toEqual([
    (await world.taker.state(uuid)).own.takerPayment?.txid,
    other.txid,
  ]);
  for (let i = 0; i < 3; i++) {
    await world.advance(30);
    world.mine("BBB");
    world.mine("AAA");
  }
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
  expect(depth("BBB", claims[1]?.txid ?? "")).toBeGreaterThan(0);
});

describe("an own payment malleated on its way into a block", () => {
  test("is the payment: the other side's claim and ours go on", async () => {
    world = await SwapWorld.open({ blockSec: null });
    const uuid = await world.start();
    await world.until("the maker payment", async () => (await fact(world.maker, uuid, "makerPayment")) !== undefined);
    const paid = malleate(txOf("AAA", (await world.maker.state(uuid)).own.makerPayment?.raw ?? ""));
    expect(world.chain("AAA").mineExactly(world.maker.script, [paid])).toMatchObject({ ok: true });
    await world.until("the taker payment", async () => (await fact(world.maker, uuid, "takerPayment")) !== undefined);
    world.mine("BBB");
    for (let i = 0; i < 4; i++) {
      await world.advance(20);
      world.mine("BBB");
      world.mine("AAA");
    }
    expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
    expect((await fact(world.maker, uuid, "makerPayment"))?.txid).toBe(paid.txid);
  });

  test("is refunded under its id, and never taken for its own cancellation", async () => {
    world = await SwapWorld.open();
    const uuid = await world.start();
    await world.withheld(world.maker, uuid, "makerPayment");
    await world.taker.stop();
    const before = world.maker.units("AAA");
    const paid = malleate(txOf("AAA", (await world.maker.state(uuid)).own.makerPayment?.raw ?? ""));
    expect(world.chain("AAA").mineExactly(world.maker.script, [paid])).toMatchObject({ ok: true });
    await world.until("the end", async () => (await world.outcome(world.maker, uuid)) !== null);
    expect(await world.outcome(world.maker, uuid)).toBe("refunded");
    expect(world.maker.units("AAA") - before).toBeGreaterThan(199_000_000n);
    await world.taker.restart();
  });

  test("in a fee the payment is built on: that payment can never confirm, which ends the swap", async () => {
    world = await SwapWorld.open({ blockSec: null });
    const uuid = await world.start();
    await world.until("the maker payment", async () => (await fact(world.taker, uuid, "makerPayment")) !== undefined);
    world.mine("AAA");
    await world.until("the taker payment", async () => (await fact(world.taker, uuid, "takerPayment")) !== undefined);
    const { own } = await world.taker.state(uuid);
    expect(txOf("BBB", own.takerPayment?.raw ?? "").inputs.map((i) => i.txid)).toEqual([own.fee?.txid]);
    expect(world.chain("BBB").mineExactly(world.maker.script, [malleate(txOf("BBB", own.fee?.raw ?? ""))])).toMatchObject({ ok: true });
    // A server that is behind denies the block until it has it.
    for (let blocks = 0; blocks < 2; blocks++) world.mine("BBB");
    await world.until("the taker is done", async () => (await world.outcome(world.taker, uuid)) !== null, 300);
    expect(await world.outcome(world.taker, uuid)).toBe("cancelled");
  });
});

test("a maker that took its coin long ago sends its own payment again when a reorg undoes it: the taker, away all the time, gets its coin", async () => {
  world = await SwapWorld.open();
  const uuid = await world.start();
  await world.until("the claim leaves", async () => (await world.maker.state(uuid)).own.takerPaymentSpend?.attempted === true);
  await world.taker.stop();
  world.chain("AAA").autoMine(null);
  await world.until("the maker is done", async () => (await world.outcome(world.maker, uuid)) !== null);
  world.mine("BBB", 15);
  await world.advance(30);
  expect(await world.maker.store.unsettled()).toHaveLength(1);
  const { txid } = (await fact(world.maker, uuid, "makerPayment")) ?? { txid: "" };
  reorg("AAA", depth("AAA", txid), { forget: [txid] });
  world.chain("AAA").autoMine(5_000);
  await world.until("the payment is back", () => depth("AAA", txid) > 0, 400);
  world.mine("AAA", 15);
  await world.until("it is settled", async () => (await world.maker.store.unsettled()).length === 0, 600);
  await world.taker.restart();
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

// Two duties see to one each, and what one of them decides is being stored while the other looks at the chains.
test.each([
  ["its claim", "tx_attempted"],
  ["the decision to take its payment back", "refund_decided"],
])("a maker that comes back to its claim, and to a payment that a reorg undid, does one of two: %s is first", async (_what, first) => {
  world = await SwapWorld.open();
  const { maker } = world;
  const uuid = await world.start();
  let mayClaim = false;
  maker.refuse = (e) => (e.type === "tx_attempted" && e.slot === "takerPaymentSpend" && !mayClaim ? "full" : null);
  await world.until("the claim is signed", async () => (await maker.state(uuid)).own.takerPaymentSpend !== undefined);
  await maker.stop();
  const { txid } = (await fact(maker, uuid, "makerPayment")) ?? { txid: "" };
  reorg("AAA", depth("AAA", txid), { forget: [txid] });
  await world.advance(300);
  mayClaim = first === "tx_attempted";
  maker.storeMs = (e) => {
    if (e.type === first) mayClaim = true;
    return e.type === first ? 10_000 : 0;
  };
  await maker.restart();
  const isTraded = first === "tx_attempted";
  expect(await world.finish(uuid)).toEqual(isTraded ? { maker: "success", taker: "success" } : { maker: "cancelled", taker: "refunded" });
  const { cancel, takerPaymentSpend } = (await maker.state(uuid)).own;
  expect([cancel?.attempted === true, takerPaymentSpend?.attempted === true]).toEqual([!isTraded, isTraded]);
});

test("a maker whose claim a reorganisation undid while it was away, and whose taker took both back, goes on until its own refund is final", async () => {
  world = await SwapWorld.open();
  const { maker, taker } = world;
  taker.rpcOf("AAA").instead.set("sendrawtransaction", { ok: false, error: { kind: "unreachable", message: "no" } });
  const uuid = await world.start({ confs: 1 });
  await world.until("the maker has its coin", async () => (await world.outcome(maker, uuid)) === "success");
  const claim = (await fact(maker, uuid, "takerPaymentSpend"))?.txid ?? "";
  await maker.stop();
  reorg("BBB", depth("BBB", claim), { forget: [claim] });
  await world.until("the taker has its own back", async () => (await world.outcome(taker, uuid)) === "refunded", 3_600);
  await taker.stop();
  await world.advance(3_600);
  // The mempools forget its refund: who is done with the swap sends it no more.
  world.chain("AAA").autoMine(600_000);
  await maker.restart();
  const refund = async (): Promise<string> => (await maker.state(uuid)).own.makerPaymentRefund?.txid ?? "";
  await world.until("its refund is out", async () => world.chain("AAA").mempool.graph.get(await refund()) !== undefined, 600);
  world.chain("AAA").mempool.graph.removeWithDescendants(await refund());
  await world.until("the end", async () => (await world.outcome(maker, uuid)) === "refunded", 7_200);
});
