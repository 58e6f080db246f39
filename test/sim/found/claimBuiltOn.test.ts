import { expect, test } from "vitest";
import { SIM_COINS } from "../../../sim/run/simCoins.ts";
import { Watch } from "../../../sim/run/watch.ts";
import type { SimNode } from "../../../sim/world/simNode.ts";
import { type SimCoin, SimWorld } from "../../../sim/world/simWorld.ts";
import { txToChainTx } from "../../../src/chain/chainTx.ts";
import { decimal } from "../../../src/core/money/rational.ts";
import type { SwapEvent } from "../../../src/core/swap/events.ts";
import { fromHex } from "../../../src/core/util/bytes.ts";
import { parseTx } from "../../../src/core/utxo/txCodec.ts";

const COIN_UNITS = 100_000_000n;
const HOUR_MS = 3_600_000;
/** The segwit coin, where claims are replaced, the legacy one and another. */
const coins = (confs: number): SimCoin[] =>
  SIM_COINS.slice(0, 3).map(({ entry }) => ({ ...entry, avg_blocktime: 60, required_confirmations: confs }));
const [SEG, LEG, THIRD] = ["SEG", "LEG", "KMD"];

type Trade = {
  readonly world: SimWorld;
  /** What breaks a rule of the simulator. */
  readonly watch: Watch;
  readonly maker: SimNode;
  readonly taker: SimNode;
  /** The maker sells, the taker buys. @returns the swap's uuid */
  readonly trade: (base: string, rel: string, volume: string) => Promise<string>;
  readonly first: string;
  readonly second: string;
  /** The maker's claim in the first swap. */
  readonly claim: string;
  readonly ended: (uuid: string) => () => boolean;
};

/**
 * The maker's payment of the second swap is built on what it claimed in the first, and a reorg has just undone both.
 * @param outbid whether the claim was replaced before it was in a block, its older version is in one now, and the payment spends
 *   another output, too
 */
async function claimUndone(rel = LEG, confs = 1, outbid = false): Promise<Trade> {
  const world = await SimWorld.create({ seed: 77, coins: coins(confs), initialBlocks: () => 140 });
  const [maker, taker] = [world.addNode("maker"), world.addNode("taker")];
  const watch = new Watch(world);
  for (const node of [maker, taker]) {
    node.onStored = (batch) => watch.onStored(node.name, batch);
    node.onBroadcast = (ticker, when, raw) => void (when === "before" && watch.onBroadcast(node.name, ticker, raw));
  }
  world.fund(maker, LEG, 20n * COIN_UNITS);
  if (outbid) world.fund(maker, SEG, COIN_UNITS);
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

  const { chain } = world.chain(SEG);
  const first = await trade(LEG, SEG, "2");
  const signed = (): Extract<SwapEvent, { type: "tx_signed" }> | undefined =>
    maker.events(first).flatMap((e) => (e.type === "tx_signed" && e.slot === "takerPaymentSpend" ? e : []))[0];
  if (outbid) {
    await world.runUntil("the maker claims", () => signed() !== undefined, HOUR_MS);
    chain.held.add(signed()?.txid ?? "");
  }
  await world.runUntil("the first swap ends", ended(first), HOUR_MS);
  const claim = maker.events(first).find((e) => e.type === "tx_seen" && e.slot === "takerPaymentSpend" && e.block);
  if (claim?.type !== "tx_seen") throw new Error("the maker did not claim");
  // All that the maker has of this coin is needed: its payment is built on what it claimed.
  const second = await trade(SEG, rel, outbid ? "2.5" : "1");
  await world.runUntil("the maker pays", () => maker.has(second, (e) => e.type === "tx_seen" && e.slot === "makerPayment"));
  const depth = chain.state.tip.height - (chain.state.blockOfTx(claim.txid)?.height ?? 0) + 1;
  const payment = maker.events(second).find((e) => e.type === "tx_signed" && e.slot === "makerPayment");
  const undone = payment?.type === "tx_signed" ? [claim.txid, payment.txid] : [];
  world.chain(SEG).reorg(depth, undone);
  chain.mempool.graph.removeWithDescendants(claim.txid);
  if (outbid) {
    const older = parseTx(fromHex(signed()?.raw ?? ""), chain.params.template.format);
    if (!older.ok || !chain.mineExactly(chain.faucetScript, [txToChainTx(older.value)]).ok)
      throw new Error("no block takes the older claim");
  }
  return { world, watch, maker, taker, trade, first, second, claim: claim.txid, ended };
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

// Seed 300006 of `npm run sim:soak -- --orders 470`: the rule took what was left of the lost payment's inputs for an output of two swaps.
test(
  "the same when an older version of the claim is in a block now: what else the payment spent serves the next swap",
  async () => {
    const { world, watch, maker, taker, trade, second, ended } = await claimUndone(THIRD, 1, true);
    await world.runUntil("the second swap ends", ended(second), 8 * HOUR_MS);
    const third = await trade(SEG, LEG, "2.5");
    await world.runUntil("the third swap ends", ended(third), 8 * HOUR_MS);
    expect([second, third].map((uuid) => [maker.outcome(uuid), taker.outcome(uuid)])).toEqual([
      ["cancelled", "failed"],
      ["success", "success"],
    ]);
    expect(watch.violations).toEqual([]);
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
