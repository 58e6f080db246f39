import { detail, type Entry, type Expected, having, triple } from "./row.ts";
import { calls, refusals } from "./rowMakers.ts";

/** Trades of a token, whose platform coin pays its fees (reference rpc.md 4.1.1, 4.5, 5.3, 9.4). */

const flat = calls("tokens", "flat");
const v2 = calls("tokens", "v2");
const fails = refusals("tokens", "flat");
const failsV2 = refusals("tokens", "v2");

const order = { base: "TOK", rel: "DOC", price: "1", volume: "1" };
const fee = (coin: string, paid_from_trading_vol: boolean, decimal: string, numer: bigint, denom: bigint): Expected => ({
  ...{ coin, paid_from_trading_vol },
  ...triple("amount", decimal, numer, denom),
});
const total = (coin: string, amount: readonly [string, bigint, bigint], needed = amount): Expected => ({
  coin,
  ...triple("amount", ...amount),
  ...triple("required_balance", ...needed),
});
const DOC_FEE = ["0.0001", 1n, 10_000n] as const;

/** `needed`: of ETH. */
const lacks = (needed: string): string =>
  `Not enough platform coin ETH balance for swap: available 0.001, required at least ${needed}, locked by swaps Some(BigDecimal("0"))`;
const KIND = "NotSufficientBaseCoinBalance";
const dataOf = (required: string) => ({ coin: "ETH", available: "0.001", required, locked_by_swaps: "0" });

export const TOKEN_ROWS: readonly Entry[] = [
  flat("min_trading_vol", { coin: "TOK" }, { coin: "TOK", ...triple("min_trading_vol", "0.00000001", 1n, 100_000_000n) }),
  flat(
    "get_trade_fee",
    { coin: "QRC" },
    { coin: "DOC", ...triple("amount", "0.1201", 1_201n, 10_000n) },
    { note: "a QRC-20 token: the rate and three calls of 100000 gas at 40 (interface document, Limits)" },
  ),
  v2(
    "max_maker_vol",
    { coin: "TOK" },
    { coin: "TOK", volume: detail("200", 200n, 1n), balance: detail("200", 200n, 1n), locked_by_swaps: detail("0", 0n, 1n) },
    { note: "nothing is kept of it: its fees are ETH" },
  ),
  v2(
    "trade_preimage",
    { ...order, swap_method: "setprice" },
    {
      base_coin_fee: fee("ETH", false, "0.005", 1n, 200n),
      rel_coin_fee: fee("DOC", true, ...DOC_FEE),
      total_fees: [total("ETH", ["0.005", 1n, 200n]), total("DOC", DOC_FEE, ["0", 0n, 1n])],
    },
    { note: "the payment and the refund" },
  ),
  flat(
    "trade_preimage",
    { ...order, swap_method: "buy" },
    having({
      base_coin_fee: fee("ETH", false, "0.0011", 11n, 10_000n),
      rel_coin_fee: fee("DOC", false, ...DOC_FEE),
    }),
    { note: "the claim of the token needs a balance of its platform coin" },
  ),
  flat("setprice", order, having({ max_base_vol: "1" }), { keep: { mine: "uuid" } }),
  { on: "tokens", step: "the platform coin is spent" },
  fails("sell", order, KIND, lacks("0.0057"), { note: "dex fee, payment and refund" }),
  fails("buy", order, KIND, lacks("0.0011"), { note: "the claim" }),
  fails("setprice", order, KIND, lacks("0.005")),
  fails("setprice", { ...order, max: true }, KIND, lacks("0.005")),
  fails("setprice", { ...order, base: "DOC", rel: "TOK" }, KIND, lacks("0.0011")),
  fails("update_maker_order", { uuid: "$mine", volume_delta: "1" }, KIND, lacks("0.005")),
  fails("trade_preimage", { ...order, swap_method: "setprice" }, KIND, lacks("0.005")),
  failsV2("trade_preimage", { ...order, swap_method: "sell" }, KIND, lacks("0.0057"), { status: 400, data: dataOf("0.0057") }),
  failsV2("max_maker_vol", { coin: "TOK" }, KIND, lacks("0.005"), { status: 400, data: dataOf("0.005") }),
  flat(
    "max_taker_vol",
    { coin: "TOK" },
    { result: { numer: "0", denom: "1" }, coin: "TOK" },
    { note: "who cannot pay its fees trades none" },
  ),
];
