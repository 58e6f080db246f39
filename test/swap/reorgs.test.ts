import { afterEach, describe, expect, test } from "vitest";
import type { Role, Slot } from "../../src/core/swap/events.ts";
import { type SwapSide, SwapWorld, type Ticker } from "../fakes/swapWorld.ts";

let world: SwapWorld;
afterEach(() => world.close());

const CHAIN: { readonly [S in Slot]?: Ticker } = {
  makerPayment: "AAA",
  makerPaymentSpend: "AAA",
  fee: "BBB",
  takerPayment: "BBB",
  takerPaymentSpend: "BBB",
};
const OWNER: { readonly [S in Slot]?: Role } = {
  makerPayment: "maker",
  makerPaymentSpend: "taker",
  fee: "taker",
  takerPayment: "taker",
  takerPaymentSpend: "maker",
};

const inBlock = async (side: SwapSide, uuid: string, slot: Slot): Promise<boolean> => (await side.state(uuid)).facts[slot]?.block != null;

/** A swap; when its transaction in `slot` is in a block, that block is taken away. @returns what it ended with */
async function reorged(slot: Slot, confs: number, forget: boolean): Promise<unknown> {
  world = await SwapWorld.open();
  const ticker = CHAIN[slot] ?? "AAA";
  const side = world.side(OWNER[slot] ?? "maker");
  const uuid = await world.start({ confs });
  await world.until(`${slot} is in a block`, () => inBlock(side, uuid, slot));
  const txid = (await side.state(uuid)).facts[slot]?.txid ?? "";
  const done = world.chain(ticker).reorg({ depth: 1, forget: forget ? [txid] : [] });
  if (!done.ok) throw new Error(done.error.reason);
  return world.finish(uuid);
}

for (const slot of ["fee", "makerPayment", "takerPayment", "takerPaymentSpend", "makerPaymentSpend"] as const) {
  describe(`a reorg takes the block of ${slot} away, one block deep where two are asked for`, () => {
    test("and its transaction goes back to the mempool: the swap succeeds", async () => {
      expect(await reorged(slot, 2, false)).toEqual({ maker: "success", taker: "success" });
    });
    test("and every mempool forgets it: whoever needs it sends it again, and the swap succeeds", async () => {
      expect(await reorged(slot, 2, true)).toEqual({ maker: "success", taker: "success" });
    });
  });
}

test("a claim whose block is taken away after the end goes out again, and the status says what the chain says", async () => {
  world = await SwapWorld.open();
  const uuid = await world.start();
  await world.finish(uuid);
  const claim = (await world.taker.state(uuid)).facts.makerPaymentSpend?.txid ?? "";
  const depth = world.chain("AAA").state.tip.height - (world.chain("AAA").state.blockOfTx(claim)?.height ?? 0) + 1;
  world.chain("AAA").reorg({ depth, forget: [claim] });
  await world.until(
    "the status says it",
    async () => (await world.taker.state(uuid)).withdrawnAfterFinish.includes("makerPaymentSpend"),
    60,
  );
  expect(await world.taker.status(uuid)).toMatchObject({ is_finished: true, swapnode: { outcome: "success", on_chain: null } });
  await world.until("it is back", () => world.chain("AAA").state.blockOfTx(claim) !== undefined, 300);
  await world.advance(30);
  expect(await world.taker.status(uuid)).toMatchObject({ swapnode: { outcome: "success", on_chain: "success" } });
});

test("the maker does not reveal the secret while a reorg has made the taker payment shallow again", async () => {
  world = await SwapWorld.open({ blockSec: null });
  const uuid = await world.start({ confs: 2 });
  const mined = async (ticker: Ticker, slot: "makerPayment" | "takerPayment", side: SwapSide): Promise<void> => {
    await world.until(slot, async () => (await side.state(uuid)).facts[slot] !== undefined);
    world.mine(ticker, 2);
  };
  await mined("AAA", "makerPayment", world.taker);
  await world.until("the taker payment", async () => (await world.maker.state(uuid)).facts.takerPayment !== undefined);
  world.maker.refuse = (e) => (e.type === "tx_attempted" && e.slot === "takerPaymentSpend" ? "full" : null);
  world.mine("BBB", 2);
  await world.until("the claim is signed", async () => (await world.maker.state(uuid)).own.takerPaymentSpend !== undefined);
  world.chain("BBB").reorg({ depth: 2, blocks: 3 });
  await world.advance(5);
  world.maker.refuse = () => null;
  await world.advance(60);
  expect((await world.maker.state(uuid)).own.takerPaymentSpend?.attempted).toBe(false);
  world.mine("BBB", 2);
  await world.until("the claim leaves", async () => (await world.maker.state(uuid)).own.takerPaymentSpend?.attempted === true);
});
