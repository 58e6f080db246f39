import { defineMethod } from "../define.ts";
import { takerResult } from "../orderShapes.ts";
import { type PlaceOrderFailure, TAKER_FAULTS } from "../placeOrderFaults.ts";
import { placeTaker, takerParams } from "../placeTaker.ts";

export const buy = defineMethod<PlaceOrderFailure>()({
  name: "buy",
  style: "flat",
  summary:
    "Issue a taker request to receive `base` for `rel`. It is matched against the orderbook; `rel_amount` is the most that is spent.",
  source: "interface document, buy; reference rpc.md 4.1",
  params: takerParams,
  result: takerResult,
  handle: (params, ctx) => placeTaker("Buy", params, ctx),
  errors: TAKER_FAULTS,
  examples: [
    {
      title: "Buy 1 DOC for at most 2 MARTY, or nothing",
      style: "flat",
      params: { base: "DOC", rel: "MARTY", price: "2", volume: "1", order_type: { type: "FillOrKill" } },
      result: {
        base: "DOC",
        rel: "MARTY",
        base_amount: "1",
        base_amount_rat: [
          [1, [1]],
          [1, [1]],
        ],
        rel_amount: "2",
        rel_amount_rat: [
          [1, [2]],
          [1, [1]],
        ],
        action: "Buy",
        uuid: "00000000-0000-4000-8000-000000000001",
        method: "request",
        sender_pubkey: "fa9e4fb4432e2d1d0fef27cec588ea4ca580dfe29fa279831913f5ee5f9970ac",
        dest_pub_key: "0000000000000000000000000000000000000000000000000000000000000000",
        match_by: { type: "Any" },
        conf_settings: { base_confs: 1, base_nota: false, rel_confs: 1, rel_nota: false },
        order_type: { type: "FillOrKill" },
        min_volume: "0.0001",
        min_volume_rat: [
          [1, [1]],
          [1, [10_000]],
        ],
        min_volume_fraction: { numer: "1", denom: "10000" },
        base_orderbook_ticker: null,
        rel_orderbook_ticker: null,
      },
    },
    { title: "Base and rel are one coin", style: "flat", params: { base: "DOC", rel: "DOC", price: "1", volume: "1" }, error: "SameCoin" },
    {
      title: "The balance is too small",
      style: "flat",
      params: { base: "DOC", rel: "MARTY", price: "1", volume: "1000" },
      error: "NotSufficientBalance",
    },
  ],
});
