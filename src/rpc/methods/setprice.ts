import { z } from "zod";
import { ZERO } from "../../core/money/rational.ts";
import { err, ok } from "../../core/util/result.ts";
import { defineMethod } from "../define.ts";
import { flag, optional, readU16, ticker } from "../field.ts";
import { defaultedMmNumber, mmNumber, optionalMmNumber } from "../mmNumber.ts";
import { confFields, confOverrides } from "../orderInputs.ts";
import { makerResult, makerResultToJson } from "../orderShapes.ts";
import { MAKER_FAULTS, type PlaceOrderFailure, placeOrderFailure } from "../placeOrderFaults.ts";

export const setprice = defineMethod<PlaceOrderFailure>()({
  name: "setprice",
  style: "flat",
  summary: "Place a maker order on the orderbook. It always sells `base`, and this node acts as maker.",
  source: "interface document, setprice; reference rpc.md 4.2",
  params: z.object({
    base: ticker().describe("Coin to sell."),
    rel: ticker().describe("Coin to receive."),
    price: mmNumber().describe("Rel per one base."),
    volume: defaultedMmNumber(ZERO).describe("Most base coins the order sells. Ignored with `max`."),
    max: flag(false).describe(
      "Sell the whole balance but a reserve: the greater of 0.001 coins and the worst-case fees (`compatibility: kdf`: the fees).",
    ),
    min_volume: optionalMmNumber().describe("Least base coins one match may take; at most `volume`."),
    cancel_previous: flag(true).describe("Cancel all own orders of this base and rel first."),
    timeout_in_minutes: optional(readU16, { type: "integer", minimum: 0, maximum: 65_535 }).describe(
      "Cancel the order so many minutes after this call, whatever is updated and however often the node is started.",
    ),
    ...confFields(),
    save_in_history: flag(true).describe("Keep the order in the history."),
  }),
  result: makerResult,
  async handle(p, ctx) {
    const placed = await ctx.orders.placeMakerOrder({
      base: p.base,
      rel: p.rel,
      price: p.price,
      volume: p.max ? "max" : p.volume,
      feeReserveOnly: ctx.compatibility === "kdf",
      minVolume: p.min_volume,
      cancelPrevious: p.cancel_previous,
      timeoutMinutes: p.timeout_in_minutes ?? null,
      conf: confOverrides(p),
      saveInHistory: p.save_in_history,
    });
    return placed.ok ? ok(makerResultToJson(placed.value, ctx.node.publicKey)) : err(placeOrderFailure(placed.error, ctx));
  },
  errors: MAKER_FAULTS,
  examples: [
    {
      title: "Offer 3 DOC at 2.5 MARTY each",
      style: "flat",
      params: { base: "DOC", rel: "MARTY", price: "2.5", volume: "3" },
      result: {
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
          [1, [10_000]],
        ],
        created_at: 1_795_228_902_004,
        updated_at: 1_795_228_902_004,
        matches: {},
        started_swaps: [],
        uuid: "00000000-0000-4000-8000-000000000001",
        conf_settings: { base_confs: 1, base_nota: false, rel_confs: 1, rel_nota: false },
        base_orderbook_ticker: null,
        rel_orderbook_ticker: null,
      },
    },
    {
      title: "More than the balance",
      style: "flat",
      params: { base: "DOC", rel: "MARTY", price: "2.5", volume: "1000" },
      error: "NotSufficientBalance",
    },
    { title: "No price", style: "flat", params: { base: "DOC", rel: "MARTY", price: "0", volume: "1" }, error: "PriceTooLow" },
  ],
});
