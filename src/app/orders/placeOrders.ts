import { div, isPositive, max, min, mul, ZERO } from "../../core/money/rational.ts";
import type { NoFeeKey } from "../../core/network/dexFee.ts";
import { createMakerOrder, type MakerOrder } from "../../core/order/makerOrder.ts";
import { checkMakerNumbers, checkPairCoins, checkTakerNumbers, type OrderRuleError, ownSide } from "../../core/order/orderRules.ts";
import { makerWishes, type SwapConfs, takerWishes } from "../../core/order/swapConfs.ts";
import { DEFAULT_TAKER_TIMEOUT_SEC, type TakerOrder } from "../../core/order/takerOrder.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import { randomUuid } from "../../ports/rng.ts";
import { claimOutage } from "../fees/tradeFunds.ts";
import type { FundsError } from "../tradingCoin.ts";
import {
  checkMakerFunds,
  checkTakerFunds,
  coverSpends,
  givenVolume,
  leastCovered,
  MAX_RESERVE,
  maxMakerVolume,
  negativeVolume,
  swapObstacle,
  whyNoTrade,
  whyNotReceived,
} from "./fundsChecks.ts";
import { endMakers, type MakerEndingDeps } from "./makerEnding.ts";
import { confSettings, distinctMatchBy, type MakerOrderInput, type TakerOrderInput } from "./orderInputs.ts";
import { MAX_OWN_ORDERS } from "./orderLedger.ts";
import type { KeyElsewhere, OrdersDeps } from "./ordersDeps.ts";
import { coinsOf, fitTerms, makerCap, type Receiving, type SwapCoins, type UnsafeTerms } from "./swapTerms.ts";

export type PlaceOrderError =
  | OrderRuleError
  | FundsError
  | FeeKeyMissing
  | { readonly kind: "TooManyOrders"; readonly limit: number }
  | KeyElsewhere;

/** `converted`: only the maker order this request would become when nobody takes it lacks the key. */
export type FeeKeyMissing = NoFeeKey & { readonly converted: boolean };

/** Every swap pays its dex fee in the taker's coin, so a key that receives it must be known for that coin. */
export function feeKeyMissing(deps: OrdersDeps, takerTicker: string, converted = false): Result<never, FeeKeyMissing> | null {
  const missing = deps.rules.noFeeKey(takerTicker);
  return missing && err({ ...missing, converted });
}

/** Both sides are counted with the same wishes: the other's are not known yet. */
export function canBeSafe(deps: OrdersDeps, coins: SwapCoins, wishes: SwapConfs, receiving: Receiving): Result<unknown, UnsafeTerms> {
  return fitTerms(deps.rules, coins, wishes, [wishes], receiving);
}

const tooMany: Result<never, PlaceOrderError> = err({ kind: "TooManyOrders", limit: MAX_OWN_ORDERS });

/** The coins of a request, if both take new trades. */
export const takerPair = (deps: OrdersDeps, input: TakerOrderInput) =>
  checkPairCoins(input, { base: deps.coin(input.base), rel: deps.coin(input.rel) }, ownSide(input.action));

/**
 * `buy` and `sell`: checks in KDF's order (reference rpc.md 4.1), then stores. Nothing is sent here: the caller
 * publishes. A refusal changes nothing.
 */
export async function placeTakerOrder(
  deps: OrdersDeps,
  { ledger }: MakerEndingDeps,
  input: TakerOrderInput,
): Promise<Result<TakerOrder, PlaceOrderError>> {
  const { action, price, volume } = input;
  if (input.base === input.rel) return err({ kind: "SameCoin", ticker: input.base });
  const pair = takerPair(deps, input);
  if (!pair.ok) return pair;
  const elsewhere = deps.keyElsewhere();
  if (elsewhere) return err(elsewhere);
  const { base, rel } = pair.value;
  const [given, received] = action === "Buy" ? [rel, base] : [base, rel];
  const converts = (input.orderType ?? "GoodTillCancelled") === "GoodTillCancelled";
  const noKey = feeKeyMissing(deps, given.ticker) ?? (converts ? feeKeyMissing(deps, received.ticker, true) : null);
  if (noKey) return noKey;
  const toGive = givenVolume(action, volume, price);
  const outage = swapObstacle(deps.swaps, given.ticker) ?? whyNoTrade(given) ?? whyNotReceived(received) ?? given.unmovable?.(toGive);
  if (outage) return err(outage);
  const funds = checkTakerFunds(deps.rules, { coin: given, other: received }, toGive);
  if (!funds.ok) return funds;
  const numbers = { price, volume, minVolume: input.minVolume, minTradingVolBase: base.minTradingVol, minTradingVolRel: rel.minTradingVol };
  const minVolume = checkTakerNumbers(numbers);
  if (!minVolume.ok) return minVolume;
  const conf = confSettings(input.conf, base, rel);
  const amount = action === "Buy" ? volume : mul(volume, price);
  const fits = canBeSafe(deps, coinsOf(received, given), takerWishes(conf, action), { role: "taker", amount });
  if (!fits.ok) return fits;
  const covered = coverSpends([given, toGive], [received, amount]);
  if (!covered.ok) return covered;
  if (ledger.size >= MAX_OWN_ORDERS) return tooMany;
  const order: TakerOrder = {
    uuid: randomUuid(deps.rng),
    action,
    base: base.ticker,
    rel: rel.ticker,
    baseOrderbookTicker: base.orderbookTicker,
    relOrderbookTicker: rel.orderbookTicker,
    baseAmount: volume,
    relAmount: mul(volume, price),
    matchBy: distinctMatchBy(input.matchBy ?? { type: "Any" }),
    conf,
    orderType: input.orderType ?? "GoodTillCancelled",
    minVolume: input.minVolume ?? max(minVolume.value, leastCovered(base, rel, price)),
    createdAtMs: deps.clock.nowMs(),
    timeoutSec: input.timeoutSec ?? DEFAULT_TAKER_TIMEOUT_SEC,
    saveInHistory: input.saveInHistory ?? true,
    match: null,
  };
  await ledger.commit([{ step: "newTaker", order }]);
  return ok(order);
}

/**
 * `setprice`: checks in KDF's order (reference rpc.md 4.2), then replaces the previous orders by the new one in one
 * write and announces it. Run in the mailbox. Unlike KDF, a refusal changes nothing: previous orders stay.
 */
export async function placeMakerOrder(
  deps: OrdersDeps,
  orders: MakerEndingDeps,
  input: MakerOrderInput,
): Promise<Result<MakerOrder, PlaceOrderError>> {
  const pair = checkPairCoins(input, { base: deps.coin(input.base), rel: deps.coin(input.rel) }, "base");
  if (!pair.ok) return pair;
  const elsewhere = deps.keyElsewhere();
  if (elsewhere) return err(elsewhere);
  const { base, rel } = pair.value;
  const noKey = feeKeyMissing(deps, rel.ticker);
  if (noKey) return noKey;
  const outage = swapObstacle(deps.swaps, base.ticker) ?? base.outage() ?? claimOutage(rel);
  if (outage) return err(outage);
  const conf = confSettings(input.conf, base, rel);
  const sides = { coin: base, other: rel };
  const most = input.volume === "max" ? maxMakerVolume(sides, input.feeReserveOnly ? ZERO : MAX_RESERVE) : ok(input.volume);
  if (!most.ok) return most;
  const cap = input.volume === "max" && isPositive(input.price) ? makerCap(deps.rules, coinsOf(base, rel), makerWishes(conf)) : null;
  const volume = cap ? min(most.value, div(cap, input.price)) : most.value;
  const negative = negativeVolume(base, volume);
  if (negative) return err(negative);
  const unmovable = base.unmovable?.(volume);
  if (unmovable) return err(unmovable);
  const funds = input.volume === "max" ? ok(undefined) : checkMakerFunds(sides, volume);
  if (!funds.ok) return funds;
  if (input.base === input.rel) return err({ kind: "SameCoin", ticker: input.base });
  const numbers = {
    price: input.price,
    volume: volume,
    minVolume: input.minVolume,
    minTradingVolBase: base.minTradingVol,
    minTradingVolRel: rel.minTradingVol,
  };
  const minBaseVol = checkMakerNumbers(numbers);
  if (!minBaseVol.ok) return minBaseVol;
  const amount = mul(volume, input.price);
  const fits = canBeSafe(deps, coinsOf(base, rel), makerWishes(conf), { role: "maker", amount });
  if (!fits.ok) return fits;
  const covered = coverSpends([base, volume], [rel, amount]);
  if (!covered.ok) return covered;
  const previous =
    input.cancelPrevious === false ? [] : [...orders.ledger.makers.values()].filter((o) => o.base === input.base && o.rel === input.rel);
  if (orders.ledger.size - previous.length >= MAX_OWN_ORDERS) return tooMany;
  const order = createMakerOrder({
    uuid: randomUuid(deps.rng),
    base: base.ticker,
    rel: rel.ticker,
    baseOrderbookTicker: base.orderbookTicker,
    relOrderbookTicker: rel.orderbookTicker,
    price: input.price,
    maxBaseVol: volume,
    minBaseVol: input.minVolume ?? max(minBaseVol.value, leastCovered(base, rel, input.price)),
    conf,
    createdAtMs: deps.clock.nowMs(),
    timeoutMinutes: input.timeoutMinutes ?? null,
    saveInHistory: input.saveInHistory ?? true,
  });
  const cancelled = previous.map((o) => ({ order: o, reason: "Cancelled" as const }));
  await endMakers(orders, cancelled, [{ step: "newMaker", order }]);
  // Requests that come before both chains are read are not answered: the loop announces it then.
  if (!whyNoTrade(base) && !whyNotReceived(rel)) orders.announcer.announce(order);
  return ok(order);
}
