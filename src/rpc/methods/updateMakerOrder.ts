import { z } from "zod";
import type { UpdateOrderError } from "../../app/orders/updateMaker.ts";
import { toDecimalString } from "../../core/money/rational.ts";
import { err, ok } from "../../core/util/result.ts";
import { AWAITED, withWhy } from "../coinFaults.ts";
import { defineMethod } from "../define.ts";
import { optionalFlag, uuid } from "../field.ts";
import { optionalMmNumber } from "../mmNumber.ts";
import { confFields, confOverrides } from "../orderInputs.ts";
import { makerResult, makerResultToJson } from "../orderShapes.ts";
import { MAKER_FAULTS } from "../placeOrderFaults.ts";

const {
  CoinNotActive: _active,
  WalletOnly: _wallet,
  SameCoin: _same,
  OneChain: _chain,
  TooManyOrders: _many,
  Internal: _negative,
  ...SHARED_FAULTS
} = MAKER_FAULTS;

type NotActive = Extract<UpdateOrderError, { readonly kind: "CoinsNotActive" }>;
type Failure = Exclude<UpdateOrderError, NotActive> | (NotActive & { readonly why: string | null });

export const updateMakerOrder = defineMethod<Failure>()({
  name: "update_maker_order",
  style: "flat",
  summary: "Change a maker order of this node in place. What is left out stays as it is; a refusal changes nothing.",
  source: "reference rpc.md 5.2",
  params: z.object({
    uuid: uuid().describe("The order."),
    new_price: optionalMmNumber().describe("Rel per one base."),
    max: optionalFlag().describe("Sell the whole balance but a reserve, as `setprice` does. `volume_delta` is ignored then."),
    volume_delta: optionalMmNumber().describe("Base coins added to the order's volume; negative: taken off."),
    min_volume: optionalMmNumber().describe("Least base coins one match may take."),
    ...confFields(),
  }),
  result: makerResult,
  async handle(p, { orders, node, coins, compatibility }) {
    const updated = await orders.updateMakerOrder({
      uuid: p.uuid,
      price: p.new_price,
      volumeDelta: p.max ? "max" : p.volume_delta,
      feeReserveOnly: compatibility === "kdf",
      minVolume: p.min_volume,
      conf: confOverrides(p),
    });
    if (updated.ok) return ok(makerResultToJson(updated.value, node.publicKey));
    const { error } = updated;
    return err(error.kind === "CoinsNotActive" ? { ...error, why: coins.whyAway(error.base) ?? coins.whyAway(error.rel) } : error);
  },
  errors: {
    OrderNotFound: {
      http: 404,
      when: "No active maker order of this node has the uuid.",
      text: (e) => `There is no order with UUID ${e.uuid}`,
    },
    OngoingMatches: {
      http: 409,
      when: "The order is being matched: a taker's request was answered, and the swap has not begun yet.",
      text: () => "Can't update an order that has ongoing matches",
    },
    CoinsNotActive: {
      http: 400,
      when: `A coin of the order is not enabled. ${AWAITED}`,
      text: (e) => withWhy(`Base coin ${e.base} and/or rel coin ${e.rel} are not activated`, e.why),
    },
    VolumeNotPositive: {
      http: 400,
      when: "`volume_delta` takes off all there is.",
      text: (e) => `New volume ${toDecimalString(e.volume)} should be more than zero`,
    },
    VolumeNotAboveReserved: {
      http: 400,
      when: "The new volume is not more than what matches of the order hold.",
      text: (e) =>
        `New volume ${toDecimalString(e.volume)} should be more than reserved amount for order matches ${toDecimalString(e.reserved)}`,
    },
    ...SHARED_FAULTS,
  },
  examples: [
    {
      title: "A lower price and 1 DOC more",
      style: "flat",
      params: { uuid: "144ce75d-d765-4ecc-b29a-1504c99c1112", new_price: "2.25", volume_delta: "1" },
      result: {
        base: "DOC",
        rel: "MARTY",
        price: "2.25",
        price_rat: [
          [1, [9]],
          [1, [4]],
        ],
        max_base_vol: "4",
        max_base_vol_rat: [
          [1, [4]],
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
        uuid: "144ce75d-d765-4ecc-b29a-1504c99c1112",
        conf_settings: { base_confs: 1, base_nota: false, rel_confs: 1, rel_nota: false },
        base_orderbook_ticker: null,
        rel_orderbook_ticker: null,
      },
    },
    {
      title: "No such order",
      style: "flat",
      params: { uuid: "00000000-0000-0000-0000-000000000001", new_price: "3" },
      error: "OrderNotFound",
    },
    {
      title: "An order that is being matched",
      style: "flat",
      params: { uuid: "5f2c6a2e-7a44-4b6f-9f0b-6a0d5b1c0e01", new_price: "3" },
      error: "OngoingMatches",
    },
    { title: "No price", style: "flat", params: { uuid: "144ce75d-d765-4ecc-b29a-1504c99c1112", new_price: "0" }, error: "PriceTooLow" },
    {
      title: "More taken off than there is",
      style: "flat",
      params: { uuid: "144ce75d-d765-4ecc-b29a-1504c99c1112", volume_delta: "-3" },
      error: "VolumeNotPositive",
    },
    {
      title: "More than the balance",
      style: "flat",
      params: { uuid: "144ce75d-d765-4ecc-b29a-1504c99c1112", volume_delta: "1000" },
      error: "NotSufficientBalance",
    },
  ],
});
