import type { MakerOrderInput, TakerOrderInput } from "../../src/app/orders/orderInputs.ts";
import { decimal, toDecimalString } from "../../src/core/money/rational.ts";
import { availableVolume } from "../../src/core/order/makerOrder.ts";
import { OrderWorld, type TestNode } from "./orderWorld.ts";

/** An order of 10 AAA at 2 BBB, but for what is changed. */
export const sell = (over: Partial<MakerOrderInput> = {}): MakerOrderInput => ({
  base: "AAA",
  rel: "BBB",
  price: decimal("2"),
  volume: decimal("10"),
  ...over,
});

/** A request for so much AAA at 2 BBB, but for what is changed. */
export const buy = (volume: string, over: Partial<TakerOrderInput> = {}): TakerOrderInput => ({
  action: "Buy",
  base: "AAA",
  rel: "BBB",
  price: decimal("2"),
  volume: decimal(volume),
  ...over,
});

/** @returns the order's uuid; throws when it is refused */
export async function place(node: TestNode, input: MakerOrderInput = sell()): Promise<string> {
  const placed = await node.orders.placeMakerOrder(input);
  if (!placed.ok) throw new Error(placed.error.kind);
  return placed.value.uuid;
}

/** @returns the order's uuid; throws when it is refused */
export async function take(node: TestNode, input: TakerOrderInput): Promise<string> {
  const placed = await node.orders.placeTakerOrder(input);
  if (!placed.ok) throw new Error(placed.error.kind);
  return placed.value.uuid;
}

export async function pair(): Promise<{ world: OrderWorld; maker: TestNode; taker: TestNode }> {
  const world = new OrderWorld();
  return { world, maker: await world.node("maker"), taker: await world.node("taker") };
}

/** What an own order still offers, as a decimal; "gone" when it is no more. */
export function available(node: TestNode, uuid: string): string {
  const order = node.orders.myOrders().makers.find((o) => o.uuid === uuid);
  return order ? toDecimalString(availableVolume(order)) : "gone";
}
