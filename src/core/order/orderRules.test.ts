import { expect, test } from "vitest";
import { decimal, rational } from "../money/rational.ts";
import { checkMakerNumbers, checkPairCoins, checkTakerNumbers, type OrderNumbers, type PairCoin } from "./orderRules.ts";

const numbers = (over: Partial<Record<"price" | "volume" | "minVolume", string>> = {}): OrderNumbers => ({
  price: decimal(over.price ?? "0.9"),
  volume: decimal(over.volume ?? "0.5"),
  minVolume: over.minVolume === undefined ? undefined : decimal(over.minVolume),
  minTradingVolBase: decimal("0.0001"),
  minTradingVolRel: decimal("0.0001"),
});

test("without min_volume the threshold of both coins is taken", () => {
  expect(checkTakerNumbers(numbers())).toEqual({ ok: true, value: rational(1n, 9_000n) });
  expect(checkMakerNumbers(numbers())).toEqual({ ok: true, value: rational(1n, 9_000n) });
  expect(checkTakerNumbers(numbers({ price: "2" }))).toEqual({ ok: true, value: decimal("0.0001") });
});

test("a min_volume from the threshold up to the volume is taken as given", () => {
  expect(checkTakerNumbers(numbers({ minVolume: "0.5" }))).toEqual({ ok: true, value: decimal("0.5") });
  expect(checkMakerNumbers(numbers({ minVolume: "0.2" }))).toEqual({ ok: true, value: decimal("0.2") });
});

test.each([
  [{ price: "0.000000009" }, { kind: "PriceTooLow", price: decimal("0.000000009"), required: decimal("0.00000001") }],
  [{ price: "-1" }, { kind: "PriceTooLow", price: decimal("-1"), required: decimal("0.00000001") }],
  [{ volume: "0.00009" }, { kind: "BaseVolumeTooLow", volume: decimal("0.00009"), required: decimal("0.0001") }],
  [{ volume: "0.0001" }, { kind: "RelVolumeTooLow", volume: decimal("0.00009"), required: decimal("0.0001") }],
  [{ minVolume: "0.0001" }, { kind: "MinVolumeTooLow", volume: decimal("0.0001"), required: rational(1n, 9_000n) }],
  [{ minVolume: "0.6" }, { kind: "MaxBelowMin", max: decimal("0.5"), min: decimal("0.6") }],
])("buy and sell refuse %o with the numbers", (over, error) => {
  expect(checkTakerNumbers(numbers(over))).toEqual({ ok: false, error });
});

test.each([
  [{ price: "0" }, { kind: "PriceTooLow", price: decimal("0"), required: decimal("0") }],
  [{ price: "-0.1" }, { kind: "PriceTooLow", price: decimal("-0.1"), required: decimal("0") }],
  [{ minVolume: "0.0001" }, { kind: "MinVolumeTooLow", volume: decimal("0.0001"), required: rational(1n, 9_000n) }],
  [{ minVolume: "0.6" }, { kind: "MaxBelowMin", max: decimal("0.5"), min: decimal("0.6") }],
  [{ volume: "0.00009" }, { kind: "BaseVolumeTooLow", volume: decimal("0.00009"), required: decimal("0.0001") }],
  [{ volume: "0.0001" }, { kind: "RelVolumeTooLow", volume: decimal("0.00009"), required: decimal("0.0001") }],
])("setprice refuses %o with the numbers", (over, error) => {
  expect(checkMakerNumbers(numbers(over))).toEqual({ ok: false, error });
});

test("setprice has no price floor above zero", () => {
  expect(checkMakerNumbers(numbers({ price: "0.000000001", volume: "1000000" })).ok).toBe(true);
});

const coin: PairCoin = { walletOnly: false, orderbookTicker: null, spendsFrom: "contract" };
const walletOnly: PairCoin = { ...coin, walletOnly: true };
test("the coin reported missing first is the one asked for first; wallet-only comes after activity", () => {
  const pair = { base: "A", rel: "B" };
  const neither = { base: undefined, rel: undefined };
  expect(checkPairCoins(pair, neither, "rel")).toEqual({ ok: false, error: { kind: "CoinNotActive", side: "rel", ticker: "B" } });
  expect(checkPairCoins(pair, neither, "base")).toEqual({ ok: false, error: { kind: "CoinNotActive", side: "base", ticker: "A" } });
  expect(checkPairCoins(pair, { base: walletOnly, rel: undefined }, "base")).toEqual({
    ok: false,
    error: { kind: "CoinNotActive", side: "rel", ticker: "B" },
  });
  expect(checkPairCoins(pair, { base: coin, rel: walletOnly }, "base")).toEqual({
    ok: false,
    error: { kind: "WalletOnly", ticker: "B" },
  });
  expect(checkPairCoins(pair, { base: coin, rel: coin }, "base")).toEqual({ ok: true, value: { base: coin, rel: coin } });
});

test("two tickers of one UTXO chain are no pair; tokens of one name on two chains are", () => {
  const segwit: PairCoin = { ...coin, orderbookTicker: "LTC" };
  const refusal = (base: string, rel: string) => ({ ok: false, error: { kind: "OneChain", base, rel } });
  expect(checkPairCoins({ base: "LTC", rel: "LTC-segwit" }, { base: coin, rel: segwit }, "base")).toEqual(refusal("LTC", "LTC-segwit"));
  expect(checkPairCoins({ base: "LTC-segwit", rel: "LTC" }, { base: segwit, rel: coin }, "rel")).toEqual(refusal("LTC-segwit", "LTC"));
  expect(checkPairCoins({ base: "DOC", rel: "LTC-segwit" }, { base: coin, rel: segwit }, "base").ok).toBe(true);
  const token: PairCoin = { walletOnly: false, orderbookTicker: "USDC", spendsFrom: "account" };
  expect(checkPairCoins({ base: "USDC-ERC20", rel: "USDC-PLG20" }, { base: token, rel: token }, "base").ok).toBe(true);
});
