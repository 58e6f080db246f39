import { afterEach, expect, test } from "vitest";
import { SwapWorld } from "../fakes/swapWorld.ts";

let world: SwapWorld;
afterEach(() => world.close());

/** Less than any pause between two looks of a waiting side at its chains. */
const SOON_SEC = 4;

test("what a chain says of a swap between two blocks is heard at once: each payment in the mempool, and the secret", async () => {
  world = await SwapWorld.open();
  // Nobody is told of a payment: the chain is all there is.
  world.lose(world.taker, (m) => m.type === "MakerPayment");
  world.lose(world.maker, (m) => m.type === "TakerPayment");
  const uuid = await world.start();
  const sees = (side: "maker" | "taker", slot: "makerPayment" | "takerPayment") => async () =>
    (await world.side(side).state(uuid)).facts[slot] !== undefined;
  for (const [payer, other, slot, ticker] of [
    ["maker", "taker", "makerPayment", "AAA"],
    ["taker", "maker", "takerPayment", "BBB"],
  ] as const) {
    await world.until(`the ${payer} sees its own ${slot}`, sees(payer, slot));
    world.chain(ticker).autoMine(null);
    await world.until(`the ${other} sees it, too`, sees(other, slot), SOON_SEC);
    world.chain(ticker).autoMine(5_000);
  }
  await world.until("the claim is sent", async () => (await world.maker.state(uuid)).own.takerPaymentSpend?.attempted === true);
  world.chain("BBB").autoMine(null);
  await world.until("the taker has the secret", async () => (await world.taker.state(uuid)).secret !== null, SOON_SEC);
  expect((await world.taker.state(uuid)).facts.takerPaymentSpend?.block ?? null).toBeNull();
  world.chain("BBB").autoMine(5_000);
  expect(await world.finish(uuid)).toEqual({ maker: "success", taker: "success" });
});
