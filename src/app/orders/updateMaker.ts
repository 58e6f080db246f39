import type { ConfSettings } from "../../core/message/types.ts";
import { add, div, isPositive, lte, min, mul, type Rational, sub, ZERO } from "../../core/money/rational.ts";
import { isHalfMatched, type MakerOrder, reservedVolume } from "../../core/order/makerOrder.ts";
import { checkMakerTerms, checkMakerVolume, type OrderNumberError } from "../../core/order/orderRules.ts";
import { makerWishes } from "../../core/order/swapConfs.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import { claimOutage } from "../fees/tradeFunds.ts";
import type { Outage, TradingCoin, Unfunded } from "../tradingCoin.ts";
import { checkMakerFunds, coverSpends, MAX_RESERVE, maxMakerVolume } from "./fundsChecks.ts";
import type { MakerEndingDeps } from "./makerEnding.ts";
import type { ConfWishes, MakerOrderUpdate } from "./orderInputs.ts";
import type { KeyElsewhere, OrdersDeps } from "./ordersDeps.ts";
import { canBeSafe, type FeeKeyMissing, feeKeyMissing } from "./placeOrders.ts";
import { coinsOf, makerCap, type UnsafeTerms } from "./swapTerms.ts";

export type UpdateOrderError =
  | { readonly kind: "OrderNotFound"; readonly uuid: string }
  /** A request was answered and its taker has neither connected nor run out of time. */
  | { readonly kind: "OngoingMatches"; readonly uuid: string }
  | { readonly kind: "CoinsNotActive"; readonly base: string; readonly rel: string }
  /** All volumes in whole base coins. */
  | { readonly kind: "VolumeNotPositive"; readonly volume: Rational }
  | { readonly kind: "VolumeNotAboveReserved"; readonly volume: Rational; readonly reserved: Rational }
  | OrderNumberError
  | UnsafeTerms
  | Unfunded
  | Outage
  | FeeKeyMissing
  | KeyElsewhere;

const changedConf = (conf: ConfSettings, wishes: ConfWishes | undefined): ConfSettings => ({
  baseConfs: wishes?.baseConfs ?? conf.baseConfs,
  baseNota: wishes?.baseNota ?? conf.baseNota,
  relConfs: wishes?.relConfs ?? conf.relConfs,
  relNota: wishes?.relNota ?? conf.relNota,
});

/** Everything the order may sell from now on, the volumes of its matches included. Checked against the balance where it changes. */
function newVolume(
  deps: OrdersDeps,
  order: MakerOrder,
  coins: { readonly base: TradingCoin; readonly rel: TradingCoin },
  { volumeDelta, feeReserveOnly }: MakerOrderUpdate,
  { price, conf }: { readonly price: Rational; readonly conf: ConfSettings },
): Result<Rational, UpdateOrderError> {
  const reserved = reservedVolume(order);
  if (volumeDelta === undefined) return ok(order.maxBaseVol);
  const outage = coins.base.outage() ?? claimOutage(coins.rel);
  if (outage) return err(outage);
  const sides = { coin: coins.base, other: coins.rel };
  if (volumeDelta === "max") {
    const most = maxMakerVolume(sides, feeReserveOnly ? ZERO : MAX_RESERVE);
    if (!most.ok) return most;
    const cap = makerCap(deps.rules, coinsOf(coins.base, coins.rel), makerWishes(conf));
    return ok(add(reserved, cap ? min(most.value, div(cap, price)) : most.value));
  }
  const volume = add(order.maxBaseVol, volumeDelta);
  if (!isPositive(volume)) return err({ kind: "VolumeNotPositive", volume });
  const left = sub(volume, reserved);
  const unmovable = coins.base.unmovable?.(left);
  if (unmovable) return err(unmovable);
  const funds = isPositive(left) ? checkMakerFunds(sides, left) : ok(undefined);
  return funds.ok ? ok(volume) : funds;
}

/**
 * `update_maker_order`: checks in KDF's order (reference rpc.md 5.2), then stores the order and tells the network. Run in the
 * mailbox: no match can come in between. A refusal changes nothing.
 */
export async function updateMakerOrder(
  deps: OrdersDeps,
  orders: MakerEndingDeps,
  update: MakerOrderUpdate,
): Promise<Result<MakerOrder, UpdateOrderError>> {
  const order = orders.ledger.makers.get(update.uuid);
  if (!order) return err({ kind: "OrderNotFound", uuid: update.uuid });
  if (isHalfMatched(order)) return err({ kind: "OngoingMatches", uuid: order.uuid });
  const [base, rel] = [deps.coin(order.base), deps.coin(order.rel)];
  if (!base || !rel) return err({ kind: "CoinsNotActive", base: order.base, rel: order.rel });
  const elsewhere = deps.keyElsewhere();
  if (elsewhere) return err(elsewhere);
  const noKey = feeKeyMissing(deps, rel.ticker);
  if (noKey) return noKey;
  const conf = changedConf(order.conf, update.conf);
  const price = update.price ?? order.price;
  const least = { minTradingVolBase: base.minTradingVol, minTradingVolRel: rel.minTradingVol };
  const terms = checkMakerTerms({ price, minVolume: update.minVolume, ...least });
  if (!terms.ok) return terms;
  const volume = newVolume(deps, order, { base, rel }, update, { price, conf });
  if (!volume.ok) return volume;
  const reserved = reservedVolume(order);
  if (lte(volume.value, reserved)) return err({ kind: "VolumeNotAboveReserved", volume: volume.value, reserved });
  const left = sub(volume.value, reserved);
  const minBaseVol = update.minVolume ?? order.minBaseVol;
  const sells = checkMakerVolume({ price, volume: left, minVolume: minBaseVol, ...least });
  if (!sells.ok) return sells;
  const amount = mul(left, price);
  const fits = canBeSafe(deps, coinsOf(base, rel), makerWishes(conf), { role: "maker", amount });
  if (!fits.ok) return fits;
  const covered = coverSpends([base, left], [rel, amount]);
  if (!covered.ok) return covered;
  const updated: MakerOrder = { ...order, price, maxBaseVol: volume.value, minBaseVol, conf, updatedAtMs: deps.clock.nowMs() };
  await orders.ledger.commit([{ step: "updateMaker", order: updated }]);
  orders.announcer.updateTerms(updated, update.minVolume !== undefined);
  deps.log.info("maker_order_updated", { order: order.uuid });
  return ok(updated);
}
