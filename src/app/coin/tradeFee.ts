import type { Rational } from "../../core/money/rational.ts";

/** The fee of one swap transaction as `get_trade_fee` approximates it (reference rpc.md 9.3): whole coins of the coin that pays it. */
export type TradeFee = { readonly coin: string; readonly amount: Rational };
