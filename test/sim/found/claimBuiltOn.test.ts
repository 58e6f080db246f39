import { expect, test } from "vitest";
import { SIM_COINS } from "../../../sim/run/simCoins.ts";
import { type SimCoin, SimWorld } from "../../../sim/world/simWorld.ts";
import { decimal } from "../../../src/core/money/rational.ts";

const COIN_UNITS = 100_000_000n;
const HOUR_MS = 3_600_000;
/** The segwit coin, where claims are replaced, and the legacy one; a confirmation each. */
const COINS = SIM_COINS.slice(0, 2).map(({ entry }): SimCoin => ({ ...entry, avg_blocktime: 60, required_confirmations: 1 }));
const [SEG, LEG] = ["SEG", "LEG"];

// Found by the simulator, seed 3 of `npm run sim -- --seeds 3 --orders 80`: the second swap stayed open for ever and its coins
// were held, for its payment could neither confirm nor be cancelled.
test("a reorg takes a claim out of its block when the payment of another swap is built on it: the claim is sent again as it was, and both swaps succeed", async () => {
  const world = await SimWorld.create({ seed: 77, coins: COINS, initialBlocks: () => 140 });
  const [maker, taker] = [world.addNode("maker"), world.addNode("taker")];
  world.fund(maker, LEG, 20n * COIN_UNITS);
  world.fund(taker, SEG, 20n * COIN_UNITS);
  world.fund(taker, LEG, 20n * COIN_UNITS);
  for (const node of [maker, taker]) await node.start([SEG, LEG]);
  await world.runUntil("both have a relay", () => [maker, taker].every((n) => n.p2p.relays().length > 0));
  const trade = async (base: string, rel: string, volume: string): Promise<string> => {
    const price = decimal("1");
    await world.settle(maker.node.orders.placeMakerOrder({ base, rel, price, volume: decimal(volume) }));
    const placed = await world.settle(taker.node.orders.placeTakerOrder({ action: "Buy", base, rel, price, volume: decimal(volume) }));
    if (!placed.ok) throw new Error(`buy refused: ${placed.error.kind}`);
    return placed.value.uuid;
  };
  const ended = (uuid: string) => (): boolean => [maker, taker].every((n) => n.outcome(uuid) !== null);

  const first = await trade(LEG, SEG, "2");
  await world.runUntil("the first swap ends", ended(first), HOUR_MS);
  const claim = maker.events(first).find((e) => e.type === "tx_seen" && e.slot === "takerPaymentSpend" && e.block);
  if (claim?.type !== "tx_seen") throw new Error("the maker did not claim");
  // All the maker has of this coin is what it claimed: its payment is built on it.
  const second = await trade(SEG, LEG, "1");
  await world.runUntil("the maker pays", () => maker.has(second, (e) => e.type === "tx_seen" && e.slot === "makerPayment"));
  const { chain } = world.chain(SEG);
  const depth = chain.state.tip.height - (chain.state.blockOfTx(claim.txid)?.height ?? 0) + 1;
  const payment = maker.events(second).find((e) => e.type === "tx_signed" && e.slot === "makerPayment");
  const undone = payment?.type === "tx_signed" ? [claim.txid, payment.txid] : [];
  world.chain(SEG).reorg(depth, undone);
  chain.mempool.graph.removeWithDescendants(claim.txid);
  await world.runUntil("the second swap ends", ended(second), 8 * HOUR_MS);
  expect(chain.state.blockOfTx(claim.txid)).toBeDefined();
  expect([first, second].map((uuid) => [maker.outcome(uuid), taker.outcome(uuid)])).toEqual([
    ["success", "success"],
    ["success", "success"],
  ]);
  await world.close();
});
