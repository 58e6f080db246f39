import { afterEach, expect, test } from "vitest";
import { asKdfFile, cutAfter, replaceByImport } from "../fakes/kdfSwaps.ts";
import { SwapWorld } from "../fakes/swapWorld.ts";

/** Claims of a maker that KDF began: ones of KDF's that nothing tells of, and what must hold before this node makes one. */

let world: SwapWorld;
afterEach(() => world.close());

const FUNDS = 1_000_000_000n;
test("a claim of KDF that nothing tells of and that is in a block ends the swap as what it is", async () => {
  world = await SwapWorld.open({ funds: FUNDS });
  const { maker, taker } = world;
  const uuid = await world.start();
  await world.until("taken", async () => (await taker.state(uuid)).facts.makerPaymentSpend?.confirmed === true);
  await maker.stop();
  await world.advance(600);
  const saved = cutAfter(await asKdfFile(maker, uuid), "TakerPaymentValidatedAndConfirmed");
  await replaceByImport(world, maker, uuid, saved);
  await maker.restart();
  await world.until("over", async () => (await world.outcome(maker, uuid)) !== null);
  const status = (await maker.status(uuid)) as { events: { event: { type: string } }[] };
  expect(status.events.map((e) => e.event.type).filter((type) => type.endsWith("Failed"))).toEqual([]);
  expect((await maker.state(uuid)).own.takerPaymentSpend).toBeUndefined();
  expect(status).toMatchObject({ is_success: true });
});

test("past the time to reveal, a claim of KDF that waits in the mempool is kept there: it shows the secret", async () => {
  world = await SwapWorld.open({ funds: FUNDS });
  const { maker, taker } = world;
  const uuid = await world.start();
  await world.withheld(maker, uuid, "takerPaymentSpend");
  await maker.stop();
  await taker.stop();
  const saved = cutAfter(await asKdfFile(maker, uuid), "TakerPaymentValidatedAndConfirmed");
  const claim = (await maker.state(uuid)).own.takerPaymentSpend?.txid ?? "";
  expect(world.chain("BBB").mempool.graph.get(claim)).toBeDefined();
  const { startedAt, lockDurationSec } = (await maker.state(uuid)).terms;
  await world.advance(startedAt + Math.floor(0.85 * lockDurationSec) - world.clock.nowMs() / 1_000);
  await replaceByImport(world, maker, uuid, saved);
  await maker.restart();
  await world.advance(60);
  // The mempool forgets it, and nobody holds it back any more.
  world.chain("BBB").mempool.graph.removeWithDescendants(claim);
  world.chain("BBB").held.clear();
  await world.until("the maker is paid", async () => (await world.outcome(maker, uuid)) !== null);
  expect(await world.outcome(maker, uuid)).toBe("success");
});

test("between coins with a value a maker of KDF shows its secret for no payment that is in no block, and not after the margin of every swap", async () => {
  world = await SwapWorld.open({ funds: FUNDS, blockSec: null, coin: { is_testnet: false } });
  const { maker } = world;
  maker.refuse = (e) => (e.type === "tx_signed" && e.slot === "takerPaymentSpend" ? "full" : null);
  const uuid = await world.start({ confs: 0 });
  await world.until("the taker has paid", async () => (await maker.state(uuid)).facts.takerPayment !== undefined);
  await maker.stop();
  maker.refuse = () => null;
  const saved = cutAfter(await asKdfFile(maker, uuid), "TakerPaymentReceived");
  await replaceByImport(world, maker, uuid, saved);
  await maker.restart();
  await world.advance(60);
  expect((await maker.state(uuid)).own.takerPaymentSpend).toBeUndefined();
  world.mine("BBB");
  await world.until("it claims", async () => (await maker.state(uuid)).own.takerPaymentSpend?.attempted === true);
  // Three average blocks of 20 s, and the two minutes of clocks and networks.
  expect((await maker.state(uuid)).terms.safety?.revealMarginSec).toBe(180);
});
