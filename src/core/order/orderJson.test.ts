import { expect, test } from "vitest";
import type { MakerReserved, TakerRequest } from "../message/types.ts";
import { decimal } from "../money/rational.ts";
import { createMakerOrder, type MakerOrder } from "./makerOrder.ts";
import { makerFileJson, takerFileJson } from "./orderFileJson.ts";
import { liveMakerToJson, makerResultToJson, takerOrderToJson, takerResultToJson } from "./orderJson.ts";
import type { TakerOrder } from "./takerOrder.ts";

const OWN = `027ca4eaaa2db004ff3121670f60fd35eb692361fea7bf6715e10f8259f9cb4f19`;
const PEER = `03${"ab".repeat(32)}`;
const conf = { baseConfs: 1, baseNota: false, relConfs: 1, relNota: false };
const confJson = { base_confs: 1, base_nota: false, rel_confs: 1, rel_nota: false };

const taker: TakerOrder = {
  uuid: "e770f5e6-28a3-46ec-ad5b-9be412d083f1",
  action: "Buy",
  base: "LTA",
  rel: "LTB",
  baseOrderbookTicker: null,
  relOrderbookTicker: null,
  baseAmount: decimal("0.7"),
  relAmount: decimal("0.175"),
  matchBy: { type: "Any" },
  conf,
  orderType: "GoodTillCancelled",
  minVolume: decimal("0.0004"),
  createdAtMs: 1_795_231_417_000,
  timeoutSec: 30,
  saveInHistory: true,
  match: null,
};

// what KDF 2.5.1 answered to this buy
const requestJson = {
  base: "LTA",
  rel: "LTB",
  base_amount: "0.7",
  base_amount_rat: [
    [1, [7]],
    [1, [10]],
  ],
  rel_amount: "0.175",
  rel_amount_rat: [
    [1, [7]],
    [1, [40]],
  ],
  action: "Buy",
  uuid: "e770f5e6-28a3-46ec-ad5b-9be412d083f1",
  method: "request",
  sender_pubkey: "7ca4eaaa2db004ff3121670f60fd35eb692361fea7bf6715e10f8259f9cb4f19",
  dest_pub_key: "0000000000000000000000000000000000000000000000000000000000000000",
  match_by: { type: "Any" },
  conf_settings: confJson,
};

test("the result of buy is KDF's, key for key", () => {
  expect(takerResultToJson(taker, OWN)).toEqual({
    ...requestJson,
    order_type: { type: "GoodTillCancelled" },
    min_volume: "0.0004",
    min_volume_fraction: { numer: "1", denom: "2500" },
    min_volume_rat: [
      [1, [1]],
      [1, [2500]],
    ],
    base_orderbook_ticker: null,
    rel_orderbook_ticker: null,
  });
});

const maker: MakerOrder = createMakerOrder({
  uuid: "144ce75d-d765-4ecc-b29a-1504c99c1112",
  base: "DOC",
  rel: "MARTY",
  baseOrderbookTicker: null,
  relOrderbookTicker: null,
  price: decimal("2.5"),
  maxBaseVol: decimal("3"),
  minBaseVol: decimal("0.0001"),
  conf,
  createdAtMs: 1_795_228_902_004,
  timeoutMinutes: null,
  saveInHistory: true,
});
// what KDF 2.5.1 answered to this setprice, and showed in my_orders
const makerJson = {
  base: "DOC",
  rel: "MARTY",
  price: "2.5",
  price_rat: [
    [1, [5]],
    [1, [2]],
  ],
  max_base_vol: "3",
  max_base_vol_rat: [
    [1, [3]],
    [1, [1]],
  ],
  min_base_vol: "0.0001",
  min_base_vol_rat: [
    [1, [1]],
    [1, [10000]],
  ],
  created_at: 1795228902004,
  updated_at: 1795228902004,
  matches: {},
  started_swaps: [],
  uuid: "144ce75d-d765-4ecc-b29a-1504c99c1112",
  conf_settings: confJson,
  base_orderbook_ticker: null,
  rel_orderbook_ticker: null,
};

test("the result of setprice and the entry of my_orders are KDF's, key for key", () => {
  expect(makerResultToJson(maker, OWN)).toEqual(makerJson);
  expect(liveMakerToJson(maker, OWN)).toEqual({ ...makerJson, cancellable: true, available_amount: "3" });
});

const request: TakerRequest = {
  base: "DOC",
  rel: "MARTY",
  baseAmount: decimal("1"),
  relAmount: decimal("3"),
  action: "Buy",
  uuid: taker.uuid,
  matchBy: { type: "Orders", data: [maker.uuid] },
  conf,
  swapVersion: 1,
};
const reserved: MakerReserved = {
  base: "DOC",
  rel: "MARTY",
  baseAmount: decimal("1"),
  relAmount: decimal("2.5"),
  takerOrderUuid: taker.uuid,
  makerOrderUuid: maker.uuid,
  conf,
  swapVersion: 1,
};
const uuids = { taker_order_uuid: taker.uuid, maker_order_uuid: maker.uuid };
const [ownX, peerX] = [OWN.slice(2), PEER.slice(2)];

test("a maker's match: half-open without connect, then with both steps; never the counterparty's first key byte", () => {
  const match = { request, taker: PEER, reserved, reservedAtMs: 5, connectedAtMs: null };
  const half = liveMakerToJson({ ...maker, matches: new Map([[taker.uuid, match]]) }, OWN);
  expect(half).toMatchObject({ cancellable: false, available_amount: "2" });
  expect(half.matches[taker.uuid]).toMatchObject({
    request: { sender_pubkey: peerX, match_by: { type: "Orders", data: [maker.uuid] } },
    reserved: { ...uuids, base_amount: "1", rel_amount: "2.5", sender_pubkey: ownX, dest_pub_key: peerX, method: "reserved" },
    connect: null,
    connected: null,
    last_updated: 5,
  });
  const full = liveMakerToJson({ ...maker, matches: new Map([[taker.uuid, { ...match, connectedAtMs: 9 }]]) }, OWN);
  expect(full.matches[taker.uuid]).toMatchObject({
    connect: { ...uuids, method: "connect", sender_pubkey: peerX, dest_pub_key: ownX },
    connected: { ...uuids, method: "connected", sender_pubkey: ownX, dest_pub_key: peerX },
    last_updated: 9,
  });
});

test("a taker order shows its request and its one match by the maker's uuid", () => {
  expect(takerOrderToJson(taker, OWN)).toEqual({
    created_at: taker.createdAtMs,
    request: requestJson,
    matches: {},
    order_type: { type: "GoodTillCancelled" },
    cancellable: true,
    base_orderbook_ticker: null,
    rel_orderbook_ticker: null,
  });
  const matched = { ...taker, match: { reserved, maker: PEER, connectAtMs: 7, connectedAtMs: null } };
  expect(takerOrderToJson(matched, OWN)).toMatchObject({
    cancellable: false,
    matches: { [maker.uuid]: { connect: { method: "connect", sender_pubkey: ownX }, connected: null, last_updated: 7 } },
  });
});

test("files hold fractions under the plain names, and neither decimals nor method markers", () => {
  const match = { request, taker: PEER, reserved, reservedAtMs: 5, connectedAtMs: 9 };
  const file = makerFileJson({ ...maker, matches: new Map([[taker.uuid, match]]) }, OWN);
  expect(file).toMatchObject({
    price: [
      [1, [5]],
      [1, [2]],
    ],
    save_in_history: true,
    p2p_privkey: null,
    timeout_in_minutes: null,
    matches: {
      [taker.uuid]: {
        reserved: {
          base_amount: [
            [1, [1]],
            [1, [1]],
          ],
        },
      },
    },
  });
  const other = takerFileJson(taker, OWN);
  expect(other).toMatchObject({ timeout: 30, order_type: { type: "GoodTillCancelled" }, created_at: taker.createdAtMs });
  expect(other).not.toHaveProperty("cancellable");
  for (const text of [JSON.stringify(file), JSON.stringify(other)]) expect(text).not.toMatch(/_rat"|_fraction"|"method"/);
});
