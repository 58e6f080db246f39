import { afterEach, expect, test } from "vitest";
import { type ChainTx, txToChainTx } from "../../src/chain/chainTx.ts";
import { whyNotRecoverable } from "../../src/core/swap/recovery.ts";
import { deadlinesOf } from "../../src/core/swap/timelocks.ts";
import { fromHex } from "../../src/core/util/bytes.ts";
import { parseTx } from "../../src/core/utxo/txCodec.ts";
import { SwapWorld } from "../fakes/swapWorld.ts";

let world: SwapWorld;
afterEach(() => world.close());

const BLOCK_MS = 300_000;
const DAY_SEC = 86_400;

/**
 * The maker has claimed, and before the taker could, a block without the maker's payment took the place of the one that had it: its coin went
 * elsewhere. @returns the swap, and the payment
 */
async function cheated(): Promise<{ readonly uuid: string; readonly payment: string }> {
  world = await SwapWorld.open({ blockSec: null });
  const { maker, taker } = world;
  const uuid = await world.start();
  const chain = world.chain("AAA");
  const has = async (side: typeof maker, slot: "makerPayment" | "takerPayment" | "takerPaymentSpend"): Promise<void> =>
    world.until(slot, async () => (await side.state(uuid)).facts[slot] !== undefined);
  await has(taker, "makerPayment");
  world.mine("AAA");
  await has(maker, "takerPayment");
  taker.rpcOf("AAA").instead.set("sendrawtransaction", { ok: false, error: { kind: "unreachable", message: "no" } });
  world.mine("BBB");
  await has(taker, "takerPaymentSpend");
  const payment = (await maker.state(uuid)).own.makerPayment?.raw ?? "";
  const other = maker.coin("AAA").buildCancel(fromHex(payment));
  if (!other.ok) throw new Error("no other spend");
  const tx = parseTx(other.value.raw, chain.params.template.format);
  if (!tx.ok) throw new Error(tx.error.detail);
  const txid = (await maker.state(uuid)).own.makerPayment?.txid ?? "";
  expect(chain.reorg({ depth: 1, txs: [txToChainTx(tx.value)], forget: [txid] })).toMatchObject({ ok: true });
  taker.rpcOf("AAA").instead.clear();
  for (const ticker of ["AAA", "BBB"] as const) world.chain(ticker).autoMine(BLOCK_MS);
  return { uuid, payment };
}

const isLost = (uuid: string) => async (): Promise<boolean> => (await world.outcome(world.taker, uuid)) === "lost";

test("a payment that is gone for good after ours was claimed ends the swap as lost, an hour past the later lock and not before", async () => {
  const { uuid } = await cheated();
  const { taker } = world;
  await world.advance(2 * 600 + 3_000);
  expect(await world.outcome(taker, uuid)).toBeNull();
  expect((await taker.status(uuid)).swapnode).toMatchObject({
    danger: "the other side took our payment, and its own is on the chain no more: it is claimed should it come back",
  });
  await world.until("the loss is told", isLost(uuid), 3_600);
  expect(await taker.status(uuid)).toMatchObject({
    is_finished: true,
    is_success: false,
    swapnode: { outcome: "lost", on_chain: "lost", danger: "the other side took our payment, and its own is gone from the chain" },
  });
  expect(whyNotRecoverable(await taker.state(uuid))).toBe("Maker payment is gone from the AAA chain, swap is not recoverable");
  await world.advance(3_600);
  expect(await taker.store.unsettled()).toHaveLength(1);
  for (const side of [taker, world.maker]) await side.stop();
  await world.advance(DAY_SEC);
  for (const side of [taker, world.maker]) await side.restart();
  await world.until("it is settled", async () => (await taker.store.unsettled()).length === 0, 900);
  expect(await world.outcome(taker, uuid)).toBe("lost");
});

test("a daemon that was away all the time is no proof: the hour begins anew when it is back", async () => {
  const { uuid } = await cheated();
  const { taker } = world;
  await world.until(
    "the claim of the other side is deep",
    async () => (await taker.state(uuid)).facts.takerPaymentSpend?.confirmed === true,
  );
  taker.rpcOf("AAA").down = true;
  await world.advance(10_000);
  taker.rpcOf("AAA").down = false;
  await world.advance(3_000);
  expect(await world.outcome(taker, uuid)).toBeNull();
  await world.until("the loss is told", isLost(uuid), 900);
});

test("a payment that comes back after it was given up is claimed: what the chain says last is true", async () => {
  const { uuid, payment } = await cheated();
  const { taker } = world;
  const chain = world.chain("AAA");
  await world.until("the loss is told", isLost(uuid), 8_000);
  const tx = parseTx(fromHex(payment), chain.params.template.format);
  if (!tx.ok) throw new Error(tx.error.detail);
  const { txid } = (await taker.state(uuid)).received.makerPayment ?? { txid: "" };
  const first = chain.state.tip.height;
  const rival = Array.from({ length: first }, (_, i) => chain.state.at(first - i)).find((at) => at && at.block.txs.length > 1);
  const depth = first - (rival?.height ?? first) + 1;
  expect(chain.reorg({ depth, txs: [txToChainTx(tx.value)], forget: rival?.block.txs.map((t) => t.txid) ?? [] })).toMatchObject({
    ok: true,
  });
  expect(chain.state.blockOfTx(txid)).toBeDefined();
  await world.until("the taker has its coin", async () => (await world.outcome(taker, uuid)) === "success", 3_000);
});

test.each([
  ["a payment is cancelled", "makerPayment"],
  ["a cancellation is made anew", "cancel"],
] as const)("where a reorganisation leaves nothing of a coin it spends, %s with what else there is", async (_what, last) => {
  world = await SwapWorld.open({ blockSec: null, funds: 150_000_000n });
  const { maker } = world;
  const chain = world.chain("AAA");
  const lost = chain.payFromFaucet(maker.script, 100_000_000n);
  if (!lost.ok) throw new Error("the faucet failed");
  world.mine("AAA");
  await world.advance(10);
  const uuid = await world.start();
  await world.withheld(maker, uuid, "makerPayment");
  if (last === "cancel") await world.withheld(maker, uuid, "cancel");
  const sent = (await maker.state(uuid)).own;
  const forget = [lost.value.txid, sent.makerPayment?.txid ?? "", sent.cancel?.txid ?? ""];
  expect(chain.reorg({ depth: 1, forget })).toMatchObject({ ok: true });
  for (const ticker of ["AAA", "BBB"] as const) world.chain(ticker).autoMine(20_000);
  await world.until("the swap ends", async () => (await world.outcome(maker, uuid)) !== null, 8_000);
  expect(await world.outcome(maker, uuid)).toBe("cancelled");
  const { own } = await maker.state(uuid);
  expect(Number(own.cancel?.fee)).toBeGreaterThan(Number(own.makerPayment?.fee));
  expect([maker.coin("AAA").ledger.held(), maker.units("AAA")]).toEqual([0n, 150_000_000n - BigInt(own.cancel?.fee ?? 0)]);
});

/** A reorganisation leaves nothing of the coin that a transaction spends first, nor of that, nor of what else is named. */
function takeAway(ticker: "AAA" | "BBB", raw: string, ...also: readonly string[]): { readonly coin: ChainTx; readonly tx: ChainTx } {
  const chain = world.chain(ticker);
  const read = parseTx(fromHex(raw), chain.params.template.format);
  if (!read.ok) throw new Error(read.error.detail);
  const tx = txToChainTx(read.value);
  const [spent] = read.value.inputs;
  const tip = chain.state.tip.height;
  const at =
    Array.from({ length: tip }, (_, i) => tip - i).find((h) => chain.state.at(h)?.block.txs.some((t) => t.txid === spent?.txid)) ?? 0;
  const coin = chain.state.at(at)?.block.txs.find((t) => t.txid === spent?.txid);
  if (!coin) throw new Error("the coin is in no block");
  expect(chain.reorg({ depth: tip - at + 1, forget: [coin.txid, tx.txid, ...also] })).toMatchObject({ ok: true });
  return { coin, tx };
}

/**
 * A maker's payment spends one coin, which a reorganisation takes away, and with it the payment: nothing is left to cancel it with.
 * @returns the swap, the coin's transaction, and the payment
 */
async function unfounded(): Promise<{ readonly uuid: string; readonly coin: ChainTx; readonly payment: ChainTx }> {
  world = await SwapWorld.open({ blockSec: null, funds: 250_000_000n });
  const { maker } = world;
  const uuid = await world.start();
  await world.withheld(maker, uuid, "makerPayment");
  const { coin, tx: payment } = takeAway("AAA", (await maker.state(uuid)).own.makerPayment?.raw ?? "");
  for (const ticker of ["AAA", "BBB"] as const) world.chain(ticker).autoMine(BLOCK_MS);
  return { uuid, coin, payment };
}

/** Once it has ended, and after a restart. */
async function ended({ uuid }: { readonly uuid: string }): Promise<void> {
  const { maker } = world;
  const { makerLock } = deadlinesOf(await maker.state(uuid));
  await world.until("it ends", async () => (await world.outcome(maker, uuid)) !== null, 12_000);
  expect(await world.outcome(maker, uuid)).toBe("failed");
  expect(Math.floor(world.clock.nowMs() / 1_000)).toBeGreaterThan(makerLock + 3_600);
  expect(await maker.status(uuid)).toMatchObject({
    is_finished: true,
    is_success: false,
    swapnode: { outcome: "failed", danger: expect.stringContaining("gone from the chain") },
  });
  // What it would pay back pays for nothing.
  expect(maker.coin("AAA").ledger.spendable()).toHaveLength(0);
  await maker.stop();
  await world.advance(2 * DAY_SEC);
  await maker.restart();
  await world.advance(600);
  expect(await maker.store.unsettled()).toHaveLength(1);
}

test.each([
  ["the coin it spent", "cancelled"],
  ["the payment, too,", "refunded"],
] as const)("a payment that spends only what is gone ends its swap, and when %s comes back, it is %s", async (_back, how) => {
  const { uuid, coin, payment } = await unfounded();
  await ended({ uuid });
  const { maker } = world;
  const chain = world.chain("AAA");
  expect(maker.units("AAA")).toBe(0n);
  chain.held.clear();
  const txs = how === "cancelled" ? [coin] : [coin, payment];
  expect(chain.reorg({ depth: 1, txs })).toMatchObject({ ok: true });
  await world.until("its own again", async () => (await world.outcome(maker, uuid)) === how, 7_200);
  const spend = (await maker.state(uuid)).own[how === "cancelled" ? "cancel" : "makerPaymentRefund"];
  await world.until("it is settled", async () => (await maker.store.unsettled()).length === 0, 7_200);
  const paid = BigInt((await maker.state(uuid)).own.makerPayment?.fee ?? 0) + BigInt(spend?.fee ?? 0);
  expect([maker.coin("AAA").ledger.held(), maker.units("AAA")]).toEqual([
    0n,
    how === "cancelled" ? 250_000_000n - BigInt(spend?.fee ?? 0) : 250_000_000n - paid,
  ]);
});

test("a maker's swap ends, too, whose claim was marked, and of which neither payment is there any more", async () => {
  world = await SwapWorld.open({ funds: 250_000_000n });
  const { maker, taker } = world;
  maker.rpcOf("BBB").instead.set("sendrawtransaction", { ok: false, error: { kind: "unreachable", message: "no" } });
  const uuid = await world.start();
  await world.until("the mark", async () => (await maker.state(uuid)).own.takerPaymentSpend?.attempted === true);
  await taker.stop();
  const { own, facts, received } = await maker.state(uuid);
  takeAway("AAA", own.makerPayment?.raw ?? "");
  takeAway("BBB", received.fee?.raw ?? "", facts.takerPayment?.txid ?? "");
  maker.rpcOf("BBB").instead.clear();
  await world.until("it ends", async () => (await world.outcome(maker, uuid)) !== null, 12_000);
  expect(await world.outcome(maker, uuid)).toBe("failed");
});

test("so does one whose claim was seen, though the taker, which is away, has not taken its own back", async () => {
  world = await SwapWorld.open({ funds: 250_000_000n });
  const { maker, taker } = world;
  taker.rpcOf("AAA").instead.set("sendrawtransaction", { ok: false, error: { kind: "unreachable", message: "no" } });
  const uuid = await world.start();
  await world.until("the claim", async () => (await maker.state(uuid)).facts.takerPaymentSpend?.block != null);
  await taker.stop();
  const { own, facts, received } = await maker.state(uuid);
  takeAway("AAA", own.makerPayment?.raw ?? "");
  takeAway("BBB", received.fee?.raw ?? "", facts.takerPayment?.txid ?? "", facts.takerPaymentSpend?.txid ?? "");
  await world.until("it ends otherwise", async () => (await world.outcome(maker, uuid)) === "failed", 14_000);
});

/** The taker knows the secret and its claim reaches nobody, when a reorganisation takes its payment; the maker takes its own back. @returns the swap */
async function claimedInVain(takeIt: (fee: string, payment: string, claim: string) => void): Promise<string> {
  world = await SwapWorld.open({ funds: 250_000_000n });
  const { taker } = world;
  taker.rpcOf("AAA").instead.set("sendrawtransaction", { ok: false, error: { kind: "unreachable", message: "no" } });
  const uuid = await world.start();
  await world.until("the mark", async () => (await taker.state(uuid)).own.makerPaymentSpend?.attempted === true);
  const { own, facts } = await taker.state(uuid);
  takeIt(own.fee?.raw ?? "", own.takerPayment?.txid ?? "", facts.takerPaymentSpend?.txid ?? "");
  await world.until("it is back", async () => (await taker.state(uuid)).facts.makerPaymentRefund?.confirmed === true, 12_000);
  return uuid;
}

test("a taker that claimed in vain has its swap ended where nothing is left of its own payment", async () => {
  const uuid = await claimedInVain((fee, payment, claim) => void takeAway("BBB", fee, payment, claim));
  await world.until("it ends", async () => (await world.outcome(world.taker, uuid)) !== null, 12_000);
  expect(await world.outcome(world.taker, uuid)).toBe("failed");
});

test("a taker that claimed in vain takes its payment back before anybody else has it, and sends it no more", async () => {
  const sent: string[] = [];
  const uuid = await claimedInVain((fee, payment, claim) => {
    const chain = world.chain("BBB");
    const raw = parseTx(fromHex(fee), chain.params.template.format);
    if (!raw.ok) throw new Error(raw.error.detail);
    const gone = [txToChainTx(raw.value).txid, payment, claim];
    const at = Array.from({ length: chain.state.tip.height }, (_, i) => chain.state.tip.height - i);
    const depth = at.findIndex((h) => chain.state.at(h)?.block.txs.some(({ txid }) => txid === gone[0])) + 1;
    for (const side of [world.maker, world.taker])
      side.rpcOf("BBB").judge = (method) =>
        method === "sendrawtransaction" ? { ok: false, error: { kind: "rpc", code: -26, message: "mempool full" } } : null;
    expect(chain.reorg({ depth, forget: gone })).toMatchObject({ ok: true });
  });
  const { own } = await world.taker.state(uuid);
  world.maker.rpcOf("BBB").judge = () => null;
  world.taker.rpcOf("BBB").judge = (method, [raw]) => {
    if (method === "sendrawtransaction") sent.push(String(raw));
    return null;
  };
  await world.until("it ends", async () => (await world.outcome(world.taker, uuid)) !== null, 12_000);
  expect(await world.outcome(world.taker, uuid)).toBe("cancelled");
  expect(sent).not.toContain(own.takerPayment?.raw);
});
