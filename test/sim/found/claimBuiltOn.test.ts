import { expect, test } from "vitest";
import { SIM_COINS } from "../../../sim/run/simCoins.ts";
import type { SimNode } from "../../../sim/world/simNode.ts";
import { type SimCoin, SimWorld } from "../../../sim/world/simWorld.ts";
import { decimal } from "../../../src/core/money/rational.ts";
import type { SwapEvent } from "../../../src/core/swap/events.ts";

const COIN_UNITS = 100_000_000n;
const HOUR_MS = 3_600_000;
/** The segwit coin, where claims are replaced, the legacy one and another. */
const coins = (confs: number): SimCoin[] =>
  SIM_COINS.slice(0, 3).map(({ entry }) => ({ ...entry, avg_blocktime: 60, required_confirmations: confs }));
const [SEG, LEG, THIRD] = ["SEG", "LEG", "NOT"];

type Trade = {
  readonly world: SimWorld;
  readonly maker: SimNode;
  readonly taker: SimNode;
  readonly first: string;
  readonly second: string;
  /** The maker's claim in the first swap. */
  readonly claim: string;
  readonly ended: (uuid: string) => () => boolean;
};

/** The maker's payment of the second swap is built on what it claimed in the first, and a reorg has just undone both. */
async function claimUndone(rel = LEG, confs = 1): Promise<Trade> {
  const world = await SimWorld.create({ seed: 77, coins: coins(confs), initialBlocks: () => 140 });
  const [maker, taker] = [world.addNode("maker"), world.addNode("taker")];
  world.fund(maker, LEG, 20n * COIN_UNITS);
  world.fund(taker, SEG, 20n * COIN_UNITS);
  world.fund(taker, LEG, 20n * COIN_UNITS);
  world.fund(taker, THIRD, 20n * COIN_UNITS);
  for (const node of [maker, taker]) await node.start([SEG, LEG, THIRD]);
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
  const second = await trade(SEG, rel, "1");
  await world.runUntil("the maker pays", () => maker.has(second, (e) => e.type === "tx_seen" && e.slot === "makerPayment"));
  const { chain } = world.chain(SEG);
  const depth = chain.state.tip.height - (chain.state.blockOfTx(claim.txid)?.height ?? 0) + 1;
  const payment = maker.events(second).find((e) => e.type === "tx_signed" && e.slot === "makerPayment");
  const undone = payment?.type === "tx_signed" ? [claim.txid, payment.txid] : [];
  world.chain(SEG).reorg(depth, undone);
  chain.mempool.graph.removeWithDescendants(claim.txid);
  return { world, maker, taker, first, second, claim: claim.txid, ended };
}

// Found by the simulator, seed 3 of `npm run sim -- --seeds 3 --orders 80`: the second swap stayed open for ever and its coins
// were held, for its payment could neither confirm nor be cancelled.
test("a reorg takes a claim out of its block when the payment of another swap is built on it: the claim is sent again as it was, and both swaps succeed", async () => {
  const { world, maker, taker, first, second, claim, ended } = await claimUndone();
  await world.runUntil("the second swap ends", ended(second), 8 * HOUR_MS);
  expect(world.chain(SEG).chain.state.blockOfTx(claim)).toBeDefined();
  expect([first, second].map((uuid) => [maker.outcome(uuid), taker.outcome(uuid)])).toEqual([
    ["success", "success"],
    ["success", "success"],
  ]);
  await world.close();
});

const LIMIT_MS = 120_000;

test(
  "the same when miners leave the claim out until it has to pay more: the payment that was built on it is lost, its swap is given up and nothing of it stays taken",
  async () => {
    const { world, maker, taker, first, second, claim, ended } = await claimUndone(THIRD);
    world.chain(SEG).chain.held.add(claim);
    await world.runUntil("the second swap ends", ended(second), 8 * HOUR_MS);
    expect([maker.outcome(first), taker.outcome(first)]).toEqual(["success", "success"]);
    expect([maker.outcome(second), taker.outcome(second)]).toEqual(["cancelled", "failed"]);
    expect(world.chain(SEG).chain.state.blockOfTx(claim)).toBeUndefined();
    // What it claimed can be paid again.
    const price = decimal("1");
    const placed = await world.settle(maker.node.orders.placeMakerOrder({ base: SEG, rel: LEG, price, volume: decimal("1.9") }));
    expect(placed.ok).toBe(true);
    await world.close();
  },
  LIMIT_MS,
);

test(
  "the same when the node is down while the dearer claim goes deep, and the claim's swap is done with before the payment's is taken up",
  async () => {
    const { world, maker, first, second, claim } = await claimUndone(THIRD);
    world.chain(SEG).chain.held.add(claim);
    const isDearer = (e: SwapEvent): boolean => e.type === "tx_seen" && e.slot === "takerPaymentSpend" && e.txid !== claim;
    await world.runUntil("the claim pays more", () => maker.has(first, isDearer), 8 * HOUR_MS);
    await maker.stop();
    world.chain(SEG).chain.mine(30);
    await maker.start([SEG, LEG]);
    await world.advance(120_000);
    expect(maker.events(first).findLast((e) => e.type === "tx_confirmed")).toMatchObject({ slot: "takerPaymentSpend" });
    await maker.enable([THIRD]);
    await world.runUntil("the second swap ends", () => maker.outcome(second) !== null, 600_000);
    expect([maker.outcome(first), maker.outcome(second)]).toEqual(["success", "cancelled"]);
    await world.close();
  },
  LIMIT_MS,
);

test(
  "the same when the node stops with its loss not deep yet, and no run after that knows of the claim's swap",
  async () => {
    const { world, maker, second, claim } = await claimUndone(THIRD, 2);
    world.chain(SEG).chain.held.add(claim);
    const isLost = (e: SwapEvent): boolean => e.type === "tx_seen" && e.slot === "cancel" && e.block !== null;
    await world.runUntil("the payment is lost", () => maker.has(second, isLost), 8 * HOUR_MS);
    expect(maker.outcome(second)).toBeNull();
    await maker.stop();
    world.chain(SEG).chain.mine(30);
    await maker.start([SEG, LEG]);
    await world.advance(120_000);
    await maker.stop();
    await maker.start([SEG, LEG, THIRD]);
    await world.runUntil("the second swap ends", () => maker.outcome(second) !== null, 600_000);
    expect(maker.outcome(second)).toBe("cancelled");
    await world.close();
  },
  LIMIT_MS,
);
