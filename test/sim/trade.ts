import type { SimNode } from "../../sim/world/simNode.ts";
import { type SimOptions, SimWorld } from "../../sim/world/simWorld.ts";
import { decimal } from "../../src/core/money/rational.ts";

/** The maker sells DOC for MARTY; the taker buys some. */
export const BASE = "DOC";
export const REL = "MARTY";
export const COINS = [BASE, REL] as const;
const COIN_UNITS = 100_000_000n;

export type TradingWorld = { readonly world: SimWorld; readonly maker: SimNode; readonly taker: SimNode };
export type TradingOptions = SimOptions & { readonly makerSkewMs?: number; readonly takerSkewMs?: number };

/**
 * A maker and a taker with 1000 of each coin, running and connected.
 * @param onWorld called before the two are started
 * @param seeds addresses of relays, when there is more than the one
 */
export async function tradingWorld(
  options: TradingOptions,
  onWorld: (world: SimWorld) => void = () => undefined,
  seeds?: readonly string[],
): Promise<TradingWorld> {
  const world = await SimWorld.create(options);
  onWorld(world);
  const relays = seeds ? { seeds } : {};
  const maker = world.addNode("maker", { skewMs: options.makerSkewMs ?? 0, ...relays });
  const taker = world.addNode("taker", { skewMs: options.takerSkewMs ?? 0, ...relays });
  for (const node of [maker, taker]) for (const coin of COINS) world.fund(node, coin, 1_000n * COIN_UNITS);
  // Deep enough that no reorg of a test takes the funds themselves.
  for (const { chain } of world.chains.values()) chain.mine(6);
  for (const node of [maker, taker]) await node.start(COINS);
  await world.runUntil("both have a relay", () => [maker, taker].every((n) => n.p2p.relays().length > 0));
  return { world, maker, taker };
}

/** Places the maker's order. @returns its uuid */
export async function offer(world: SimWorld, maker: SimNode, volume: string, price: string): Promise<string> {
  const placed = await world.settle(
    maker.node.orders.placeMakerOrder({ base: BASE, rel: REL, price: decimal(price), volume: decimal(volume), cancelPrevious: false }),
  );
  if (!placed.ok) throw new Error(`setprice refused: ${placed.error.kind}`);
  return placed.value.uuid;
}

/** The taker buys from the book. @returns the uuid of its order, which is the swap's */
export async function buy(world: SimWorld, taker: SimNode, volume: string, price: string): Promise<string> {
  const placed = await world.settle(
    taker.node.orders.placeTakerOrder({ action: "Buy", base: BASE, rel: REL, price: decimal(price), volume: decimal(volume) }),
  );
  if (!placed.ok) throw new Error(`buy refused: ${placed.error.kind}`);
  return placed.value.uuid;
}

/** Offer and request for `volume` DOC at `price`; resolves when both sides have stored the swap. @returns its uuid */
export async function match({ world, maker, taker }: TradingWorld, volume: string, price: string): Promise<string> {
  await offer(world, maker, volume, price);
  const uuid = await buy(world, taker, volume, price);
  await world.runUntil("the orders match", () => maker.swaps.has(uuid) && taker.swaps.has(uuid), 60_000);
  return uuid;
}
