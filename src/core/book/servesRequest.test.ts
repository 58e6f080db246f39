import { expect, test } from "vitest";
import type { OrderbookItem, TakerRequest } from "../message/types.ts";
import { rational } from "../money/rational.ts";
import { servesRequest } from "./servesRequest.ts";

const KEY_X = "11".repeat(32);
const item: OrderbookItem = {
  pubkey: `02${KEY_X}`,
  base: "AAA",
  rel: "BBB",
  price: rational(2n),
  minVolume: rational(1n),
  maxVolume: rational(5n),
  uuid: "00000000-0000-4000-8000-000000000001",
  createdAt: 0,
};
const buy: TakerRequest = {
  base: "AAA",
  rel: "BBB",
  baseAmount: rational(3n),
  relAmount: rational(6n),
  action: "Buy",
  uuid: "00000000-0000-4000-8000-000000000002",
  matchBy: { type: "Any" },
  conf: { baseConfs: 1, baseNota: false, relConfs: 1, relNota: false },
  swapVersion: 1,
};
const sell: TakerRequest = { ...buy, base: "BBB", rel: "AAA", baseAmount: rational(6n), relAmount: rational(3n), action: "Sell" };

test("a request at the maker's price or better, within its volume, is served", () => {
  expect(servesRequest(item, buy)).toBe(true);
  expect(servesRequest(item, { ...buy, relAmount: rational(7n) })).toBe(true);
  expect(servesRequest(item, sell)).toBe(true);
  expect(servesRequest(item, { ...sell, relAmount: rational(2n) })).toBe(true);
});

test("a worse price, a volume outside the order or the other direction is not", () => {
  expect(servesRequest(item, { ...buy, relAmount: rational(599n, 100n) })).toBe(false);
  expect(servesRequest(item, { ...sell, relAmount: rational(301n, 100n) })).toBe(false);
  expect(servesRequest(item, { ...buy, baseAmount: rational(6n), relAmount: rational(12n) })).toBe(false);
  expect(servesRequest(item, { ...sell, baseAmount: rational(1n), relAmount: rational(1n, 2n) })).toBe(false);
  expect(servesRequest(item, { ...buy, base: "BBB", rel: "AAA" })).toBe(false);
  expect(servesRequest(item, { ...buy, baseAmount: rational(0n) })).toBe(false);
});

test("match_by is honoured by order uuid and by X coordinate", () => {
  expect(servesRequest(item, { ...buy, matchBy: { type: "Orders", data: [item.uuid] } })).toBe(true);
  expect(servesRequest(item, { ...buy, matchBy: { type: "Orders", data: [buy.uuid] } })).toBe(false);
  expect(servesRequest(item, { ...buy, matchBy: { type: "Pubkeys", data: [KEY_X] } })).toBe(true);
  expect(servesRequest(item, { ...buy, matchBy: { type: "Pubkeys", data: ["22".repeat(32)] } })).toBe(false);
});
