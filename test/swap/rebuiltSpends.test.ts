import { afterEach, describe, expect, test } from "vitest";
import { type ChainTx, txToChainTx } from "../../src/chain/chainTx.ts";
import { ownPayment, ownRefund, type Role, type Slot } from "../../src/core/swap/events.ts";
import { versionsOf } from "../../src/core/swap/swapState.ts";
import { fromHex } from "../../src/core/util/bytes.ts";
import type { Tx } from "../../src/core/utxo/tx.ts";
import { parseTx } from "../../src/core/utxo/txCodec.ts";
import { malleate } from "../fakes/malleate.ts";
import { type SwapSide, SwapWorld, type Ticker } from "../fakes/swapWorld.ts";

// A payment that a reorg takes away and brings back under another id leaves every spend that was signed for it worthless.

let world: SwapWorld;
afterEach(() => world.close());

const txOf = (ticker: Ticker, raw: string): Tx => {
  const tx = parseTx(fromHex(raw), world.chain(ticker).params.template.format);
  if (!tx.ok) throw new Error(tx.error.detail);
  return tx.value;
};
const own = async (side: SwapSide, uuid: string, slot: Slot) => (await side.state(uuid)).own[slot];
const raw = async (side: SwapSide, uuid: string, slot: Slot): Promise<string> => {
  const tx = await own(side, uuid, slot);
  if (!tx) throw new Error(`no ${slot}`);
  return tx.raw;
};
/** What the versions of a claim or refund spend, oldest first. */
async function spent(side: SwapSide, uuid: string, slot: Slot, ticker: Ticker): Promise<readonly (string | undefined)[]> {
  const tx = await own(side, uuid, slot);
  return (tx ? versionsOf(tx) : []).map((v) => txOf(ticker, v.raw).inputs[0]?.txid);
}
/** Takes away every block from the transaction's on; one that comes in their place has `txs`. */
function replaceFrom(ticker: Ticker, txid: string, txs: readonly ChainTx[], forget: readonly string[]): void {
  const chain = world.chain(ticker);
  const at = chain.state.blockOfTx(txid);
  if (!at) throw new Error("in no block");
  const done = chain.reorg({ depth: chain.state.tip.height - at.height + 1, txs, forget });
  if (!done.ok) throw new Error(`${done.error.reason} ${done.error.detail ?? ""}`);
}
/** Whether anything in a block or the mempool has the maker's secret in it. */
function isRevealed(ticker: Ticker, secretHash: string): boolean {
  const { state, mempool } = world.chain(ticker);
  const coin = world.taker.coin(ticker);
  const txs = mempool.graph.entries().map((e) => e.chainTx);
  for (let h = 0; h <= state.tip.height; h++) txs.push(...(state.at(h)?.block.txs ?? []));
  return txs.some((tx) => coin.findSecret({ txid: "", raw: tx.raw }, fromHex(secretHash)) !== null);
}
async function mineBoth(times: number): Promise<void> {
  for (let i = 0; i < times; i++) {
    await world.advance(20);
    world.mine("AAA");
    world.mine("BBB");
  }
}

describe("the maker's claim is signed and has not left when the taker payment changes its id", () => {
  /** The maker cannot store that its claim leaves; meanwhile the payment comes back as `other`. */
  async function changed(blocks: "mined" | "in no block"): Promise<{ uuid: string; old: string; other: ChainTx; secretHash: string }> {
    world = await SwapWorld.open({ blockSec: null });
    const uuid = await world.start();
    await world.until("the maker payment", async () => (await world.taker.state(uuid)).facts.makerPayment !== undefined);
    world.mine("AAA");
    await world.until("the taker payment", async () => (await world.maker.state(uuid)).facts.takerPayment !== undefined);
    const paid = await raw(world.taker, uuid, "takerPayment");
    const fee = txToChainTx(txOf("BBB", await raw(world.taker, uuid, "fee")));
    const { txid: old } = txToChainTx(txOf("BBB", paid));
    const other = malleate(txOf("BBB", paid));
    world.maker.refuse = (e) => (e.type === "tx_attempted" && e.slot === "takerPaymentSpend" ? "full" : null);
    world.mine("BBB");
    await world.until("the claim is signed", async () => (await own(world.maker, uuid, "takerPaymentSpend")) !== undefined);
    replaceFrom("BBB", old, blocks === "mined" ? [fee, other] : [fee], [old]);
    const { secretHash } = (await world.maker.state(uuid)).terms;
    return { uuid, old, other, secretHash: secretHash ?? "" };
  }

  test("it is made anew for the payment that is there, and nothing has the secret before", async () => {
    const { uuid, old, other, secretHash } = await changed("mined");
    await world.until("a second version", async () => (await spent(world.maker, uuid, "takerPaymentSpend", "BBB")).length === 2, 60);
    expect(await spent(world.maker, uuid, "takerPaymentSpend", "BBB")).toEqual([old, other.txid]);
    expect((await own(world.maker, uuid, "takerPaymentSpend"))?.attempted).toBe(false);
    expect(isRevealed("BBB", secretHash)).toBe(false);
    world.maker.refuse = () => null;
    await mineBoth(6);
    expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
    expect(isRevealed("BBB", secretHash)).toBe(true);
  });

  test("while it is in no block the secret stays home, and past the time to reveal it stays there for good", async () => {
    const { uuid, secretHash } = await changed("in no block");
    world.maker.refuse = () => null;
    await world.advance(60);
    expect((await own(world.maker, uuid, "takerPaymentSpend"))?.attempted).toBe(false);
    await world.advance(1_000);
    const { own: mine, refund } = await world.maker.state(uuid);
    expect([mine.takerPaymentSpend, refund?.event]).toEqual([undefined, "TakerPaymentSpendFailed"]);
    expect(isRevealed("BBB", secretHash)).toBe(false);
  });
});

test("the maker payment changes its id under the taker's claim: the claim is made anew, and the swap succeeds", async () => {
  world = await SwapWorld.open({ blockSec: null });
  const uuid = await world.start();
  await world.until("the maker payment", async () => (await world.taker.state(uuid)).facts.makerPayment !== undefined);
  world.mine("AAA");
  await world.until("the taker payment", async () => (await world.maker.state(uuid)).facts.takerPayment !== undefined);
  world.mine("BBB");
  await world.until("the claim leaves", async () => (await own(world.taker, uuid, "makerPaymentSpend"))?.attempted === true);
  const paid = txOf("AAA", await raw(world.maker, uuid, "makerPayment"));
  const first = (await own(world.taker, uuid, "makerPaymentSpend"))?.txid ?? "";
  const old = txToChainTx(paid).txid;
  const other = malleate(paid);
  replaceFrom("AAA", old, [other], [old, first]);
  await world.until("a second version", async () => (await spent(world.taker, uuid, "makerPaymentSpend", "AAA")).length === 2, 60);
  expect(await spent(world.taker, uuid, "makerPaymentSpend", "AAA")).toEqual([old, other.txid]);
  await mineBoth(6);
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});

test.each(["maker", "taker"] as const)(
  "the %s's own payment changes its id under its refund: the refund is made anew",
  async (role: Role) => {
    world = await SwapWorld.open({ blockSec: null });
    const [side, other] = role === "maker" ? [world.maker, world.taker] : [world.taker, world.maker];
    const ticker: Ticker = role === "maker" ? "AAA" : "BBB";
    const [payment, refund] = [ownPayment(role), ownRefund(role)] as const;
    const uuid = await world.start();
    if (role === "taker") {
      await world.until("the maker payment", async () => (await world.taker.state(uuid)).facts.makerPayment !== undefined);
      world.mine("AAA");
    }
    await world.until("the payment", async () => (await own(side, uuid, payment))?.attempted === true);
    await other.stop();
    const paid = txOf(ticker, await raw(side, uuid, payment));
    const old = txToChainTx(paid).txid;
    const before = side.units(ticker);
    world.mine(ticker);
    // The median of eleven blocks' times has to pass the lock.
    for (let i = 0; i < 60 && (await own(side, uuid, refund))?.attempted !== true; i++) {
      await world.advance(40);
      world.mine("AAA");
      world.mine("BBB");
      const signed = await own(side, uuid, refund);
      if (signed) world.chain(ticker).held.add(signed.txid);
    }
    const first = (await own(side, uuid, refund))?.txid ?? "";
    expect(await spent(side, uuid, refund, ticker)).toEqual([old]);
    const fee = role === "taker" ? [txToChainTx(txOf(ticker, await raw(side, uuid, "fee")))] : [];
    const again = malleate(paid);
    replaceFrom(
      ticker,
      old,
      [
        ...fee.filter(
          (f) => (world.chain(ticker).state.blockOfTx(f.txid)?.height ?? 0) >= (world.chain(ticker).state.blockOfTx(old)?.height ?? 0),
        ),
        again,
      ],
      [old, first],
    );
    // Strangers may show what is not there: the refund of the former id is raised beside it, and may be first.
    await world.until("one of the new id", async () => (await spent(side, uuid, refund, ticker)).includes(again.txid), 120);
    expect(new Set(await spent(side, uuid, refund, ticker))).toEqual(new Set([old, again.txid]));
    for (let i = 0; i < 20 && (await world.outcome(side, uuid)) === null; i++) await mineBoth(1);
    expect(await world.outcome(side, uuid)).toBe("refunded");
    expect(side.units(ticker) - before).toBeGreaterThan(role === "maker" ? 199_000_000n : 99_000_000n);
    await other.restart();
  },
);
