import { z } from "zod";
import type { TakerAction } from "../core/message/types.ts";
import { err, ok, type Result } from "../core/util/result.ts";
import type { RpcContext } from "./ctx.ts";
import { defaulted, flag, optional, optionalCount, optionalText, readPubkeyX, readU32, ticker } from "./field.ts";
import { mmNumber, optionalMmNumber } from "./mmNumber.ts";
import { confFields, confOverrides, matchBy, orderType } from "./orderInputs.ts";
import { type takerResult, takerResultToJson } from "./orderShapes.ts";
import { type PlaceOrderFailure, placeOrderFailure } from "./placeOrderFaults.ts";

const NOBODY = "0".repeat(64);
const HASH = { type: "string", pattern: "^[0-9a-fA-F]{64}$", default: NOBODY };

/** What `buy` and `sell` have in common: everything but the direction. */
export const takerParams = z.object({
  base: ticker().describe("`buy`: coin to receive. `sell`: coin to sell."),
  rel: ticker().describe("`buy`: coin to sell. `sell`: coin to receive."),
  price: mmNumber().describe("Rel per one base."),
  volume: mmNumber().describe("In base coins; it and `volume` x `price` must reach the coins' `min_trading_vol`."),
  min_volume: optionalMmNumber().describe("Least volume after a conversion to a maker order, base coins."),
  match_by: matchBy().describe("Only match these makers or orders. Not applied after a conversion."),
  order_type: orderType().describe("`GoodTillCancelled` becomes a maker order when nobody takes it in time; `FillOrKill` ends."),
  timeout: optionalCount().describe("Seconds to wait for a match. Default 30."),
  ...confFields(),
  destpubkey: defaulted(readPubkeyX, NOBODY, HASH).describe("Accepted, without effect."),
  duration: optional(readU32, { type: "integer", minimum: 0, maximum: 0xffff_ffff }).describe("Accepted, without effect."),
  gui: optionalText().describe("Accepted, without effect."),
  save_in_history: flag(true).describe("Keep the order in the history."),
});

export async function placeTaker(
  action: TakerAction,
  p: z.output<typeof takerParams>,
  ctx: RpcContext,
): Promise<Result<z.input<typeof takerResult>, PlaceOrderFailure>> {
  const placed = await ctx.orders.placeTakerOrder({
    action,
    base: p.base,
    rel: p.rel,
    price: p.price,
    volume: p.volume,
    minVolume: p.min_volume,
    matchBy: p.match_by,
    orderType: p.order_type,
    timeoutSec: p.timeout,
    conf: confOverrides(p),
    saveInHistory: p.save_in_history,
  });
  return placed.ok ? ok(takerResultToJson(placed.value, ctx.node.publicKey)) : err(placeOrderFailure(placed.error, ctx));
}
