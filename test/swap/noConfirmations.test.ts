import { afterEach, expect, test } from "vitest";
import { SwapWorld } from "../fakes/swapWorld.ts";

// Settings may ask for no confirmation of a payment: the taker's wish counts for the maker's own payment (swap-protocol.md 2.1).

let world: SwapWorld;
afterEach(() => world.close());

async function paid(): Promise<{ readonly uuid: string; readonly txid: string }> {
  world = await SwapWorld.open({ blockSec: null });
  const uuid = await world.start({ confs: 0 });
  world.lose(world.taker, (message) => message.type === "MakerPayment");
  await world.until("the taker's fee", async () => (await world.maker.state(uuid)).received.fee !== undefined);
  await world.taker.stop();
  await world.until("the maker's payment is seen", async () => (await world.maker.state(uuid)).facts.makerPayment !== undefined);
  return { uuid, txid: (await world.maker.state(uuid)).own.makerPayment?.txid ?? "" };
}

test("an own payment that nobody asks a block for is sent again until it has one", async () => {
  const { txid } = await paid();
  world.chain("AAA").mempool.graph.removeWithDescendants(txid);
  await world.advance(300);
  expect(world.chain("AAA").mempool.graph.get(txid)).toBeDefined();
});

test("an own payment that no block takes in its time is cancelled, though nobody asks a block for it", async () => {
  const { uuid, txid } = await paid();
  world.chain("AAA").held.add(txid);
  world.chain("AAA").autoMine(20_000);
  world.chain("BBB").autoMine(20_000);
  await world.until("it is taken back", async () => (await world.maker.state(uuid)).own.cancel?.attempted === true);
  // The mempools that have the payment forget it some day.
  world.chain("AAA").mempool.graph.removeWithDescendants(txid);
  await world.until("the maker has its coin back", async () => (await world.outcome(world.maker, uuid)) !== null);
  expect(await world.outcome(world.maker, uuid)).toBe("cancelled");
});

test("so is a taker's, where the maker asked for no block", async () => {
  world = await SwapWorld.open();
  const uuid = await world.start({ confs: 0 });
  await world.withheld(world.taker, uuid, "takerPayment");
  await world.maker.stop();
  const { txid = "" } = (await world.taker.state(uuid)).own.takerPayment ?? {};
  world.chain("BBB").mempool.graph.removeWithDescendants(txid);
  await world.until("it is sent again", () => world.chain("BBB").mempool.graph.get(txid) !== undefined, 300);
  await world.until("it is taken back", async () => (await world.taker.state(uuid)).own.cancel?.attempted === true);
  world.chain("BBB").mempool.graph.removeWithDescendants(txid);
  await world.until("the taker has its coin back", async () => (await world.outcome(world.taker, uuid)) !== null);
  expect(await world.outcome(world.taker, uuid)).toBe("cancelled");
});
