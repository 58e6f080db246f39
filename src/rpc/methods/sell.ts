import { defineMethod } from "../define.ts";
import { takerResult } from "../orderShapes.ts";
import { type PlaceOrderFailure, TAKER_FAULTS } from "../placeOrderFaults.ts";
import { placeTaker, takerParams } from "../placeTaker.ts";

export const sell = defineMethod<PlaceOrderFailure>()({
  name: "sell",
  style: "flat",
  summary:
    "Issue a taker request to sell `base` for `rel`. It is matched against the orderbook; `rel_amount` is the least that is received.",
  source: "interface document, sell; reference rpc.md 4.1",
  params: takerParams,
  result: takerResult,
  handle: (params, ctx) => placeTaker("Sell", params, ctx),
  errors: TAKER_FAULTS,
  examples: [
    {
      title: "Sell half a DOC for at least 0.9 MARTY each",
      style: "flat",
      params: { base: "DOC", rel: "MARTY", price: "0.9", volume: { numer: "1", denom: "2" } },
      result: {
        base: "DOC",
        rel: "MARTY",
        base_amount: "0.5",
        base_amount_rat: [
          [1, [1]],
          [1, [2]],
        ],
        rel_amount: "0.45",
        rel_amount_rat: [
          [1, [9]],
          [1, [20]],
        ],
        action: "Sell",
        uuid: "00000000-0000-4000-8000-000000000001",
        method: "request",
        sender_pubkey: "fa9e4fb4432e2d1d0fef27cec588ea4ca580dfe29fa279831913f5ee5f9970ac",
        dest_pub_key: "0000000000000000000000000000000000000000000000000000000000000000",
        match_by: { type: "Any" },
        conf_settings: { base_confs: 1, base_nota: false, rel_confs: 1, rel_nota: false },
        order_type: { type: "GoodTillCancelled" },
        min_volume: "0.0001111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111",
        min_volume_rat: [
          [1, [1]],
          [1, [9_000]],
        ],
        min_volume_fraction: { numer: "1", denom: "9000" },
        base_orderbook_ticker: null,
        rel_orderbook_ticker: null,
      },
    },
    {
      title: "The price is below the least",
      style: "flat",
      params: { base: "DOC", rel: "MARTY", price: "1e-9", volume: "1" },
      error: "PriceTooLow",
    },
  ],
});
