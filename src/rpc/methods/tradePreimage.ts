import { z } from "zod";
import { FeesOnlyCoin } from "../../app/fees/feesOnlyCoin.ts";
import { type PreimageCoin, type PreimageError, tradePreimage as preimageOf } from "../../app/fees/tradePreimage.ts";
import { toDecimalString, ZERO } from "../../core/money/rational.ts";
import type { NoFeeKey } from "../../core/network/dexFee.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import { type NoSuchCoin, noSuchCoin, tradingCoin } from "../coinFaults.ts";
import type { RpcContext } from "../ctx.ts";
import { defineMethod } from "../define.ts";
import { NO_FEE_KEY } from "../feeKeyFault.ts";
import { flag, type Read, readString, required, ticker } from "../field.ts";
import { FUNDS_FAULTS } from "../fundsFaults.ts";
import { defaultedMmNumber, mmNumber } from "../mmNumber.ts";
import { NUMBER_TOO_LONG, UNSAFE_TERMS } from "../placeOrderFaults.ts";
import { preimageShape, preimageToJson } from "../preimageShape.ts";
import { unknownVariant } from "../serdeText.ts";

const METHODS = ["setprice", "buy", "sell"] as const;
const readMethod: Read<(typeof METHODS)[number]> = (value) => {
  const name = readString(value);
  if (!name.ok) return name;
  const method = METHODS.find((m) => m === name.value);
  return method ? ok(method) : err(unknownVariant(name.value, METHODS));
};

const MAX_REASON = "'max' cannot be used with 'sell' or 'buy' method";
type Failure = PreimageError | NoSuchCoin | NoFeeKey | { readonly kind: "CoinIsWalletOnly"; readonly coin: string };

/** One that is traded, or one whose fees alone are known. */
function pricedCoin(ctx: RpcContext, ticker: string): Result<PreimageCoin, NoSuchCoin> {
  const known = ctx.coins.forFees.get(ticker);
  return known ? ok(new FeesOnlyCoin(known, ctx.compatibility)) : tradingCoin(ctx, ticker);
}

export const tradePreimage = defineMethod<Failure>()({
  name: "trade_preimage",
  style: "both",
  struct: "TradePreimageRequest",
  summary:
    "Approximate all fees of a swap before ordering it. Fails when the balance would not cover the order; of Qtum and QRC-20 coins no balance is known, and their fees are those of usual transactions.",
  source: "interface document, trade_preimage; reference rpc.md 4.5",
  params: z.object({
    base: ticker(),
    rel: ticker(),
    swap_method: required(readMethod, { enum: METHODS }).describe("The call the order would be made with."),
    price: mmNumber().describe("Rel per one base."),
    volume: defaultedMmNumber(ZERO).describe("Base coins. Needed unless `max` with `setprice`."),
    max: flag(false).describe("`setprice` only: also give the greatest volume. For takers use `max_taker_vol`."),
  }),
  result: preimageShape,
  async handle(p, ctx) {
    for (const ticker of [p.base, p.rel]) {
      if (ctx.coins.entry(ticker)?.walletOnly !== false) return err({ kind: "CoinIsWalletOnly", coin: ticker });
    }
    const [baseCoin, relCoin] = [pricedCoin(ctx, p.base), pricedCoin(ctx, p.rel)];
    if (!baseCoin.ok) return baseCoin;
    if (!relCoin.ok) return relCoin;
    const [base, rel] = [baseCoin.value, relCoin.value];
    const [taker, maker] = p.swap_method === "buy" ? [rel, base] : [base, rel];
    // Of a maker order the takers pay, in rel.
    const noKey = ctx.dexFee.noFeeKey(p.swap_method === "setprice" ? rel.ticker : taker.ticker);
    if (noKey) return err(noKey);
    const terms =
      base instanceof FeesOnlyCoin || rel instanceof FeesOnlyCoin
        ? null
        : p.swap_method === "sell"
          ? ctx.orders.usualTerms(rel, base)
          : ctx.orders.usualTerms(base, rel);
    const preimage = preimageOf(
      { base, rel, method: p.swap_method, price: p.price, volume: p.volume, max: p.max, terms },
      ctx.dexFee.rule(taker, maker.ticker),
    );
    return preimage.ok ? ok(preimageToJson(preimage.value)) : preimage;
  },
  errors: {
    ...FUNDS_FAULTS,
    CoinIsWalletOnly: {
      http: 400,
      when: "A coin of the pair is marked `wallet_only`, or is not in the coins file.",
      text: ({ coin }) => `Coin ${coin} is wallet only`,
      data: ({ coin }) => ({ coin }),
    },
    NoSuchCoin: noSuchCoin(false, 400),
    NoFeeKey: NO_FEE_KEY,
    MaxWithTaker: {
      http: 400,
      type: "InvalidParam",
      when: "`max` with `buy` or `sell`.",
      text: () => `Incorrect use of the 'max' parameter: ${MAX_REASON}`,
      data: () => ({ param: "max", reason: MAX_REASON }),
    },
    ...NUMBER_TOO_LONG,
    ...UNSAFE_TERMS,
    BaseEqualRel: { http: 400, when: "`base` and `rel` are the same coin.", text: () => "Rel coin can not be same as base" },
    PriceTooLow: {
      http: 400,
      when: "`setprice` with a price of 0 or less.",
      text: ({ price, threshold }) => `Price ${toDecimalString(price)} is too low, required at least ${toDecimalString(threshold)}`,
      data: ({ price, threshold }) => ({ price: toDecimalString(price), threshold: toDecimalString(threshold) }),
    },
  },
  examples: [
    {
      title: "Fees of a maker order",
      style: "v2",
      params: { base: "DOC", rel: "MARTY", swap_method: "setprice", price: "1", volume: "1" },
    },
    {
      title: "Fees of a sale, flat form",
      style: "flat",
      params: { base: "DOC", rel: "MARTY", swap_method: "sell", price: "1", volume: "1" },
    },
    {
      title: "max is for setprice",
      style: "v2",
      params: { base: "DOC", rel: "MARTY", swap_method: "buy", price: "1", max: true },
      error: "MaxWithTaker",
    },
    {
      title: "A coin for the wallet only",
      style: "v2",
      params: { base: "WALLET", rel: "MARTY", swap_method: "sell", price: "1", volume: "1" },
      error: "CoinIsWalletOnly",
    },
    {
      title: "A price of nothing",
      style: "flat",
      params: { base: "DOC", rel: "MARTY", swap_method: "setprice", price: "0", volume: "1" },
      error: "PriceTooLow",
    },
  ],
});
