import { expect, test } from "vitest";
import { rational } from "../money/rational.ts";
import type { BookOrder } from "./bookOrder.ts";
import { ordersFrom, selectBest } from "./selection.ts";

function order(n: number, price: bigint, min: bigint, max: bigint, base = "AAA", rel = "BBB"): BookOrder {
  return {
    item: {
      pubkey: `02${"11".repeat(32)}`,
      base,
      rel,
      price: rational(price, 10n),
      minVolume: rational(min),
      maxVolume: rational(max),
      uuid: `00000000-0000-4000-8000-00000000000${n}`,
      createdAt: 0,
    },
    conf: null,
    baseProtocolInfo: new Uint8Array(),
    relProtocolInfo: new Uint8Array(),
    confirmed: true,
    source: null,
    signedAt: 0,
  };
}
const numbers = (orders: readonly BookOrder[]): number[] => orders.map(({ item }) => Number(item.uuid.slice(-1)));

const book = [order(4, 30n, 1n, 9n), order(2, 20n, 1n, 2n), order(1, 20n, 5n, 9n), order(3, 10n, 1n, 1n)];

test("best orders by volume: cheapest first, equal prices by uuid, too large minima passed over, stops when filled", () => {
  expect(numbers(selectBest(book, "buy", { volume: rational(3n) }))).toEqual([3, 2]);
  expect(numbers(selectBest(book, "buy", { volume: rational(5n) }))).toEqual([3, 1]);
  expect(numbers(selectBest(book, "buy", { volume: rational(100n) }))).toEqual([3, 1, 2, 4]);
});

test("for sell the volumes count in the rel coin", () => {
  // order 3 holds 1 rel, order 1 needs at least 10 rel, order 2 holds 4 rel
  expect(numbers(selectBest(book, "sell", { volume: rational(3n) }))).toEqual([3, 2]);
  expect(numbers(selectBest(book, "sell", { volume: rational(10n) }))).toEqual([3, 1]);
});

test("by number the first ones are taken whatever their volume", () => {
  expect(numbers(selectBest(book, "buy", { count: 2 }))).toEqual([3, 1]);
  expect(numbers(selectBest(book, "buy", { count: 0 }))).toEqual([]);
});

test("orders of the other direction are told apart", () => {
  expect(numbers(ordersFrom([order(1, 1n, 1n, 1n), order(2, 1n, 1n, 1n, "BBB", "AAA")], "BBB", "AAA"))).toEqual([2]);
});

test("volumes with odd denominators do not make the answer to a stranger slow", { timeout: 5_000 }, () => {
  const odd = (n: number): BookOrder => {
    const plain = order(1, 1n, 0n, 1n);
    return { ...plain, item: { ...plain.item, maxVolume: { n: 1n, d: (1n << 600n) + BigInt(2 * n + 1) } } };
  };
  expect(
    selectBest(
      Array.from({ length: 300 }, (_, n) => odd(n)),
      "buy",
      { volume: rational(1n) },
    ),
  ).toHaveLength(300);
});
