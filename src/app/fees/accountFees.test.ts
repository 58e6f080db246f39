import { expect, test } from "vitest";
import { FakeAccountCoin, GAS } from "../../../test/fakes/fakeAccountCoin.ts";
import { FakeTradingCoin } from "../../../test/fakes/fakeTradingCoin.ts";
import { add, decimal, eq, mul, type Rational, rational, sub, toDecimalString, ZERO } from "../../core/money/rational.ts";
import { checkTakerFunds, maxMakerVolume as maxOrderVolume } from "../orders/fundsChecks.ts";
import type { TradeRules } from "../orders/ordersDeps.ts";
import type { TradingCoin } from "../tradingCoin.ts";
import { type PreimageRequest, tradePreimage } from "./tradePreimage.ts";
import { dexFeeOf, maxMakerVolume, maxTakerVolume } from "./tradeVolumes.ts";

/** KDF 3.0: 2 %; account coins have no least amount (reference rpc.md 9.1). */
const RULE = { rate: rational(1n, 50n), floor: ZERO };
const sum = (...parts: readonly Rational[]): Rational => parts.reduce(add, ZERO);
const OWN = sum(GAS.payment, GAS.refund);

function coins() {
  const ETH = new FakeAccountCoin("ETH", "10");
  const [TOK, TK2] = [new FakeAccountCoin("TOK", "100", ETH), new FakeAccountCoin("TK2", "100", ETH)];
  return { ETH, TOK, TK2, DOC: new FakeTradingCoin("DOC", { balance: "10" }) };
}
const request = (more: Pick<PreimageRequest, "base" | "rel"> & Partial<PreimageRequest>): PreimageRequest => ({
  method: "sell",
  price: decimal("1"),
  volume: decimal("1"),
  max: false,
  terms: null,
  ...more,
});
function preimage(more: Parameters<typeof request>[0]) {
  const done = tradePreimage(request(more), RULE);
  if (!done.ok) throw new Error(done.error.kind);
  return done.value;
}

test("a token's fees are told in its platform coin, a refund's with the payment's, and the claim needs a balance", () => {
  const { ETH, TOK, TK2 } = coins();
  const sold = preimage({ base: TOK, rel: TK2 });
  expect(sold.baseCoinFee).toEqual({ coin: "ETH", amount: OWN, paidFromTradingVol: false });
  expect(sold.relCoinFee).toEqual({ coin: "ETH", amount: GAS.claim, paidFromTradingVol: false });
  expect(sold.takerFee?.fee).toEqual({ coin: "TOK", amount: decimal("0.02"), paidFromTradingVol: false });
  expect(sold.takerFee?.sending).toEqual({ coin: "ETH", amount: GAS.dexFee, paidFromTradingVol: false });
  const eth = sum(OWN, GAS.claim, GAS.dexFee);
  expect(sold.totals).toEqual([
    { coin: "ETH", amount: eth, requiredBalance: eth },
    { coin: "TOK", amount: decimal("0.02"), requiredBalance: decimal("0.02") },
  ]);
  // What the totals ask for is what is checked.
  ETH.setBalance(toDecimalString(eth));
  expect(tradePreimage(request({ base: TOK, rel: TK2 }), RULE).ok).toBe(true);
  ETH.setBalance(toDecimalString(sub(eth, decimal("0.00000001"))));
  expect(tradePreimage(request({ base: TOK, rel: TK2 }), RULE)).toMatchObject({
    ok: false,
    error: { kind: "NotSufficientBaseCoinBalance", coin: "ETH", required: eth },
  });
});

test("between chains each side's fee is in its own kind: out of what is received, or from the balance", () => {
  const { ETH, DOC } = coins();
  const bought = preimage({ base: ETH, rel: DOC, method: "buy" });
  expect(bought.baseCoinFee).toEqual({ coin: "ETH", amount: GAS.claim, paidFromTradingVol: false });
  expect(bought.relCoinFee).toMatchObject({ coin: "DOC", paidFromTradingVol: false });
  const sold = preimage({ base: ETH, rel: DOC });
  expect(sold.baseCoinFee).toEqual({ coin: "ETH", amount: OWN, paidFromTradingVol: false });
  expect(sold.relCoinFee).toMatchObject({ coin: "DOC", paidFromTradingVol: true });
  expect(sold.totals.find((t) => t.coin === "DOC")?.requiredBalance).toEqual(ZERO);
});

test("a maker order's greatest volume leaves its refund, and the claim where the same coin pays for it", () => {
  const { ETH, TOK, DOC } = coins();
  const most = (rel: PreimageRequest["rel"]) => preimage({ base: ETH, rel, method: "setprice", max: true, volume: ZERO });
  expect(most(DOC)).toMatchObject({ volume: decimal("9.995"), baseCoinFee: { amount: OWN } });
  expect(most(TOK)).toMatchObject({ volume: decimal("9.9939") });
  expect(preimage({ base: TOK, rel: ETH, method: "setprice", max: true, volume: ZERO })).toMatchObject({ volume: decimal("100") });
  expect(maxMakerVolume(ETH, null, "preimage")).toEqual({ ok: true, value: { volume: decimal("9.995"), fee: OWN } });
  ETH.setBalance("0.0049");
  expect(maxMakerVolume(TOK, null, "preimage")).toMatchObject({
    ok: false,
    error: { kind: "NotSufficientBaseCoinBalance", coin: "ETH", required: OWN },
  });
  expect(maxMakerVolume(ETH, null, "preimage")).toMatchObject({ ok: false, error: { kind: "NotSufficientBalance", required: OWN } });
  expect(tradePreimage(request({ base: DOC, rel: ETH, method: "setprice", max: true }), RULE)).toMatchObject({ ok: true });
  ETH.setBalance("0.001");
  expect(tradePreimage(request({ base: DOC, rel: ETH, method: "setprice", max: true }), RULE)).toMatchObject({
    ok: false,
    error: { kind: "NotSufficientBalance", coin: "ETH", required: GAS.claim },
  });
});

test("a taker's greatest volume and all that falls on the same coin are exactly the free balance", () => {
  const { ETH, TOK, DOC } = coins();
  const most = (coin: FakeAccountCoin, other: TradingCoin | null): Rational => {
    const volume = maxTakerVolume(coin, other, RULE, "preimage");
    if (!volume.ok) throw new Error(volume.error.kind);
    return volume.value;
  };
  const used = (volume: Rational, ...fees: readonly Rational[]): Rational => sum(volume, dexFeeOf(RULE, volume), ...fees);
  expect(eq(used(most(ETH, DOC), OWN, GAS.dexFee), decimal("10"))).toBe(true);
  expect(eq(used(most(ETH, null), OWN, GAS.dexFee), decimal("10"))).toBe(true);
  expect(eq(used(most(ETH, TOK), OWN, GAS.dexFee, GAS.claim), decimal("10"))).toBe(true);
  expect(eq(used(most(TOK, ETH)), decimal("100"))).toBe(true);
  expect(tradePreimage(request({ base: ETH, rel: TOK, volume: most(ETH, TOK) }), RULE).ok).toBe(true);
  expect(tradePreimage(request({ base: ETH, rel: TOK, volume: mul(most(ETH, TOK), decimal("1.000001")) }), RULE).ok).toBe(false);
});

test("who cannot pay the fees of a token or of a claim can trade none of it", () => {
  const { ETH, TOK, TK2, DOC } = coins();
  ETH.setBalance("0.0057");
  expect(maxTakerVolume(TOK, DOC, RULE, "preimage")).toMatchObject({ value: rational(100n * 50n, 51n) });
  expect(maxTakerVolume(TOK, TK2, RULE, "preimage")).toEqual({ ok: true, value: ZERO });
  ETH.setBalance("0");
  expect(maxTakerVolume(DOC, ETH, RULE, "preimage")).toEqual({ ok: true, value: ZERO });
  ETH.trouble = { kind: "Transport", coin: "ETH", message: "away" };
  expect(maxTakerVolume(DOC, ETH, RULE, "preimage")).toMatchObject({ ok: false, error: { kind: "Transport" } });
  expect(tradePreimage(request({ base: DOC, rel: ETH, method: "setprice" }), RULE)).toMatchObject({ error: { kind: "Transport" } });
});

test("what is named as the greatest volume can be ordered: it leaves what is held, while the figures are today's", () => {
  const { ETH, TOK, DOC } = coins();
  for (const coin of [ETH, TOK]) coin.ceiling = 8;
  const rules = { dexFee: (_taker: string, _maker: string, amount: Rational) => dexFeeOf(RULE, amount) } as unknown as TradeRules;
  const most = maxTakerVolume(ETH, TOK, RULE, "preimage");
  if (!most.ok) throw new Error(most.error.kind);
  const held = mul(sum(OWN, GAS.dexFee, GAS.claim), rational(8n));
  expect(eq(sum(most.value, dexFeeOf(RULE, most.value), held), decimal("10"))).toBe(true);
  expect(checkTakerFunds(rules, { coin: ETH, other: TOK }, most.value).ok).toBe(true);
  expect(preimage({ base: ETH, rel: TOK, volume: most.value }).baseCoinFee.amount).toEqual(OWN);
  const more = mul(most.value, decimal("1.00001"));
  expect(checkTakerFunds(rules, { coin: ETH, other: TOK }, more).ok).toBe(false);
  expect(tradePreimage(request({ base: ETH, rel: TOK, volume: more }), RULE).ok).toBe(false);
  expect(maxMakerVolume(ETH, null, "preimage")).toMatchObject({ value: { volume: decimal("9.96") } });
  expect(preimage({ base: ETH, rel: DOC, method: "setprice", max: true, volume: ZERO })).toMatchObject({
    volume: decimal("9.96"),
    baseCoinFee: { amount: OWN },
  });
  ETH.setBalance("0.03");
  expect(maxTakerVolume(TOK, DOC, RULE, "preimage")).toEqual({ ok: true, value: ZERO });
  expect(tradePreimage(request({ base: TOK, rel: DOC, method: "setprice" }), RULE)).toMatchObject({
    ok: false,
    error: { kind: "NotSufficientBaseCoinBalance", required: decimal("0.04") },
  });
});

test("an order of all there is gives no more than the coin moves at once", () => {
  const { TOK, DOC } = coins();
  const most = () => maxOrderVolume({ coin: TOK, other: DOC });
  expect(most()).toMatchObject({ ok: true, value: decimal("99.999") });
  Object.assign(TOK, { mostAtOnce: () => decimal("7") });
  expect(most()).toEqual({ ok: true, value: decimal("7") });
});
