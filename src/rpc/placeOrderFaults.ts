import type { PlaceOrderError } from "../app/orders/placeOrders.ts";
import type { UnsafeTerms } from "../app/orders/swapTerms.ts";
import { type Rational, toDecimalString } from "../core/money/rational.ts";
import type { NumberTooLong } from "../core/order/orderRules.ts";
import { AWAITED, withWhy } from "./coinFaults.ts";
import type { RpcContext } from "./ctx.ts";
import type { FaultTable } from "./fault.ts";
import { NO_FEE_KEY } from "./feeKeyFault.ts";
import { FUNDS_FAULTS } from "./fundsFaults.ts";

/** Words that differ between `buy`/`sell` and `setprice` (reference rpc.md 4.1 and 4.2). */
type Words = {
  readonly sameCoin: string;
  readonly notActive: (side: "Base" | "Rel", ticker: string) => string;
  readonly price: (price: string, required: string) => string;
  readonly base: string;
  readonly rel: string;
  readonly min: string;
};

const TAKER: Words = {
  sameCoin: "Base and rel must be different coins",
  notActive: (side) => `${side} coin is not found or inactive`,
  price: (_, required) => `Price is too low, minimum is ${required}`,
  base: "Base amount",
  rel: "Rel amount",
  min: "Min volume",
};
const MAKER: Words = {
  sameCoin: "Rel coin can not be same as base",
  notActive: (side, ticker) => `${side} coin ${ticker} is not found`,
  price: (price, required) => `Price ${price} is too low, required: ${required}`,
  base: "Max base vol",
  rel: "Max rel vol",
  min: "Min base vol",
};

const tooLow = (what: string, { volume, required }: { readonly volume: Rational; readonly required: Rational }): string =>
  `${what} ${toDecimalString(volume)} is too low, required: ${toDecimalString(required)}`;

export const NUMBER_TOO_LONG: FaultTable<NumberTooLong> = {
  NumberTooLong: {
    http: 400,
    when: "A number has a numerator or denominator of 2^640 or more: other nodes would not take the order.",
    text: ({ what }) => `${what} has too many digits for an order: write it with 190 decimal places at most`,
  },
};

/** Why a swap on such terms is not begun; orders and the figures before them say it alike. */
export const UNSAFE_TERMS: FaultTable<UnsafeTerms> = {
  ConfirmationsDoNotFit: {
    http: 400,
    when: "The wanted confirmations could come too late for the swap's time locks, or a notarization never.",
    text: (e) =>
      e.neededSec === null
        ? `A notarization of ${e.coin} is asked for, which its chain never has: its nodes call no block final. Ask for confirmations alone`
        : `${e.confirmations} confirmations${e.notarization ? " and a notarization" : ""} of ${e.coin} may take ${e.neededSec} s, but a swap with a lock of ${e.lockDurationSec} s leaves ${e.windowSec} s for them; ask for fewer`,
  },
  LocksTooClose: {
    http: 400,
    when: "The chains are too slow for the time between a swap's two locks.",
    text: (e) =>
      `A swap of ${e.makerCoin} for ${e.takerCoin} leaves ${e.gapSec} s between its two locks, but on chains this slow ${e.neededSec} s may be needed to claim the ${e.makerCoin} before its maker may take it back`,
  },
  AmountAboveCap: {
    http: 400,
    when: "The amount to receive is worth more than the confirmations that fit into a swap's time locks can protect.",
    text: (e) =>
      `${toDecimalString(e.amount)} ${e.coin} in one swap ask for ${e.confirmations} confirmations at a block reward of ${toDecimalString(e.blockReward)} ${e.coin}, but ${e.fitting} fit into ${e.windowSec} s: at most ${toDecimalString(e.cap)} ${e.coin} can be received in one swap; trade less at a time, or ask for a notarization where the chain has one`,
    data: (e) => ({ coin: e.coin, amount: toDecimalString(e.amount), cap: toDecimalString(e.cap) }),
  },
};

type NotActive = Extract<PlaceOrderError, { readonly kind: "CoinNotActive" }>;
/** `why`: of a coin that the node is enabling again by itself. */
export type PlaceOrderFailure = Exclude<PlaceOrderError, NotActive> | (NotActive & { readonly why: string | null });

/** A refusal with what the node knows of a coin that is not there yet. */
export const placeOrderFailure = (error: PlaceOrderError, ctx: RpcContext): PlaceOrderFailure =>
  error.kind === "CoinNotActive" ? { ...error, why: ctx.coins.whyAway(error.ticker) } : error;

const faults = (words: Words): FaultTable<PlaceOrderFailure> => ({
  ...FUNDS_FAULTS,
  SameCoin: { http: 400, when: "`base` and `rel` are the same coin.", text: () => words.sameCoin },
  CoinNotActive: {
    http: 400,
    when: `A coin of the pair is not enabled. ${AWAITED}`,
    text: ({ side, ticker, why }) => withWhy(words.notActive(side === "base" ? "Base" : "Rel", ticker), why),
  },
  WalletOnly: {
    http: 400,
    when: "A coin of the pair is marked `wallet_only`.",
    text: ({ ticker }) => `'${ticker}' is a wallet only asset and can't be used in orders.`,
  },
  OneChain: {
    http: 400,
    when: "Both are tickers of one chain (LTC and LTC-segwit): no order book shows such a pair.",
    text: ({ base, rel }) => `${base} and ${rel} are one coin with two kinds of addresses: move it with withdraw`,
  },
  PriceTooLow: {
    http: 400,
    when: "`price` is below the least price.",
    text: ({ price, required }) => words.price(toDecimalString(price), toDecimalString(required)),
  },
  BaseVolumeTooLow: { http: 400, when: "`volume` is below the base coin's minimum.", text: (e) => tooLow(words.base, e) },
  RelVolumeTooLow: { http: 400, when: "`volume` x `price` is below the rel coin's minimum.", text: (e) => tooLow(words.rel, e) },
  MinVolumeTooLow: { http: 400, when: "`min_volume` is below what both coins need.", text: (e) => tooLow(words.min, e) },
  MaxBelowMin: {
    http: 400,
    when: "`volume` is below `min_volume`.",
    text: ({ max, min }) => `Max base vol ${toDecimalString(max)} is below min base vol: ${toDecimalString(min)}`,
  },
  ...NUMBER_TOO_LONG,
  ...UNSAFE_TERMS,
  NoFeeKey: {
    ...NO_FEE_KEY,
    text: (e) =>
      e.converted
        ? `${NO_FEE_KEY.text(e)}; or use order_type FillOrKill: a GoodTillCancelled order becomes a maker order, whose takers would pay the dex fee in ${e.coin}`
        : NO_FEE_KEY.text(e),
  },
  KeyInUseElsewhere: {
    http: 409,
    when: "Another node trades with this node's key: the same seed runs on two machines.",
    text: (e) =>
      `Another node trades with the key of this one: a ${e.message} that this node did not send was heard at ${new Date(e.heardAtMs).toISOString()}. This node finishes its open swaps and takes part in no new trade. Stop the other node; this one goes on when the other has been silent until ${new Date(e.untilMs).toISOString()}, or after a restart`,
  },
  TooManyOrders: {
    http: 400,
    when: "This node has as many open orders as it can hold.",
    text: ({ limit }) => `This node has ${limit} open orders, the most it can hold; cancel some first`,
  },
});

export const TAKER_FAULTS = faults(TAKER);
export const MAKER_FAULTS = faults(MAKER);
