import { expect, test } from "vitest";
import { FakeTradingCoin } from "../../../test/fakes/fakeTradingCoin.ts";
import { add, decimal, eq, gt, ONE, type Rational, rational, toDecimalString } from "../../core/money/rational.ts";
import type { Receiving } from "../orders/swapTerms.ts";
import { type PreimageRequest, tradePreimage } from "./tradePreimage.ts";

const RULE = { rate: rational(1n, 777n), floor: decimal("0.00001") };
const DOC = new FakeTradingCoin("DOC", { balance: "10" });
const MARTY = new FakeTradingCoin("MARTY", { balance: "10" });
const request = (more: Partial<PreimageRequest>): PreimageRequest => ({
  base: DOC,
  rel: MARTY,
  method: "sell",
  price: decimal("2"),
  volume: decimal("7.77"),
  max: false,
  terms: null,
  ...more,
});
const preimage = (more: Partial<PreimageRequest>) => {
  const done = tradePreimage(request(more), RULE);
  if (!done.ok) throw new Error(done.error.kind);
  return done.value;
};

test("a seller pays its fees in base, a buyer in rel", () => {
  const sold = preimage({});
  expect(sold.takerFee?.fee).toEqual({ coin: "DOC", amount: decimal("0.01"), paidFromTradingVol: false });
  expect(sold.baseCoinFee).toMatchObject({ coin: "DOC", paidFromTradingVol: false });
  expect(sold.relCoinFee).toMatchObject({ coin: "MARTY", paidFromTradingVol: true });
  const bought = preimage({ method: "buy", volume: decimal("3.885") });
  expect(bought.takerFee?.fee).toEqual({ coin: "MARTY", amount: decimal("0.01"), paidFromTradingVol: false });
  expect(bought.baseCoinFee).toMatchObject({ coin: "DOC", paidFromTradingVol: true });
});

test("the totals are the sums of the parts, and what is paid from the volume needs no balance", () => {
  const { baseCoinFee, relCoinFee, takerFee, totals } = preimage({});
  if (!takerFee) throw new Error("no taker fee");
  const doc = [baseCoinFee.amount, takerFee.fee.amount, takerFee.sending.amount].reduce(add);
  expect(totals).toEqual([
    { coin: "DOC", amount: doc, requiredBalance: doc },
    { coin: "MARTY", amount: relCoinFee.amount, requiredBalance: rational(0n) },
  ]);
});

test("a maker's greatest volume with its fee is the whole balance", () => {
  const made = preimage({ method: "setprice", max: true, volume: decimal("0") });
  expect(made.takerFee).toBeNull();
  expect(made.volume && eq(add(made.volume, made.baseCoinFee.amount), decimal("10"))).toBe(true);
  expect(preimage({ method: "setprice" }).volume).toBeNull();
});

test("an amount whose claim or refund fees may eat is refused as the order would be, of either coin", () => {
  const dear = new FakeTradingCoin("MARTY", { balance: "10" });
  dear.least = decimal("4");
  const of = (more: Partial<PreimageRequest>): unknown => tradePreimage(request({ rel: dear, volume: decimal("1.5"), ...more }), RULE);
  const refusal = { ok: false, error: { kind: "VolumeTooLow", coin: "MARTY", volume: decimal("3"), threshold: decimal("4") } };
  for (const method of ["setprice", "buy", "sell"] as const) {
    expect(of({ method })).toEqual(refusal);
    expect(of({ method, volume: decimal("2") })).toMatchObject({ ok: true });
  }
});

test("figures are refused as the order would be, by the amount that would be received", () => {
  const error = { kind: "LocksTooClose", makerCoin: "DOC", takerCoin: "MARTY", neededSec: 9, gapSec: 8 } as const;
  const asked: Receiving[] = [];
  const refusal = (receiving: Receiving) => {
    asked.push(receiving);
    return error;
  };
  const terms = { makerCap: () => null, refusal };
  for (const method of ["setprice", "buy", "sell"] as const) {
    expect(tradePreimage(request({ method, volume: decimal("3"), terms }), RULE)).toEqual({ ok: false, error });
  }
  expect(asked).toEqual([
    { role: "maker", amount: decimal("6") },
    { role: "taker", amount: decimal("3") },
    { role: "taker", amount: decimal("6") },
  ]);
});

test("a maker's greatest volume is no more than one swap may receive, and its fee is that of so much", () => {
  const most = (cap: Rational | null) => {
    const asked: Rational[] = [];
    const refusal = ({ amount }: { readonly amount: Rational }): null => {
      asked.push(amount);
      return null;
    };
    return { asked, ...preimage({ method: "setprice", max: true, terms: { refusal, makerCap: () => cap } }) };
  };
  expect(most(decimal("4"))).toMatchObject({ volume: decimal("2"), asked: [decimal("4")], baseCoinFee: { amount: DOC.fee } });
  expect(most(decimal("400")).volume).toEqual(most(null).volume);
});

test("whatever keeps the order from being placed is said at once: a chain still being read, more than a coin moves at once", () => {
  const coin = new FakeTradingCoin("AAA", { balance: "10" });
  const of = (more: Partial<PreimageRequest>): unknown => tradePreimage(request(more), RULE);
  coin.isScanned = false;
  const counting = { ok: false, error: { kind: "Transport", coin: "AAA", message: "the AAA chain is still being read" } };
  expect([of({ base: coin }), of({ rel: coin }), of({ method: "buy", rel: coin })]).toEqual([counting, counting, counting]);
  // Nothing is paid for a maker order before that is over.
  expect(of({ method: "setprice", base: coin, volume: decimal("1") })).toMatchObject({ ok: true });
  coin.isScanned = true;
  const error = { kind: "Transport", coin: "AAA", message: "it moves 1 at a time" } as const;
  const unmovable = { ok: false, error };
  Object.assign(coin, { mostAtOnce: () => ONE, unmovable: (volume: Rational) => (gt(volume, ONE) ? error : null) });
  for (const more of [
    { base: coin, volume: decimal("2") },
    { method: "buy", rel: coin, volume: decimal("1") },
    { method: "setprice", base: coin, volume: decimal("2") },
  ] as const)
    expect(of(more)).toMatchObject(unmovable);
  expect(of({ base: coin, volume: decimal("1") })).toMatchObject({ ok: true });
  expect(of({ method: "setprice", base: coin, max: true })).toMatchObject({ ok: true, value: { volume: decimal("1") } });
});

test.each<[string, Partial<PreimageRequest>, object]>([
  ["max with a taker, before anything else", { max: true, volume: decimal("1000") }, { kind: "MaxWithTaker" }],
  [
    "a maker's volume of zero, before the balance",
    { method: "setprice", volume: decimal("0") },
    { kind: "VolumeTooLow", threshold: DOC.minTradingVol },
  ],
  [
    "the balance, before the price",
    { method: "setprice", volume: decimal("1000"), price: decimal("0") },
    { kind: "NotSufficientBalance", lockedBySwaps: null },
  ],
  ["the sum of all a taker pays", { volume: decimal("9.9899") }, { kind: "NotSufficientBalance", lockedBySwaps: rational(0n) }],
  ["one coin on both sides", { rel: DOC, volume: decimal("1") }, { kind: "BaseEqualRel" }],
  ["a maker's price of zero", { method: "setprice", price: decimal("0") }, { kind: "PriceTooLow" }],
  ["a taker's price of zero is a volume of zero", { price: decimal("0") }, { kind: "VolumeTooLow", coin: "MARTY" }],
  [
    "a small volume of rel",
    { method: "setprice", price: decimal("0.00001") },
    { kind: "VolumeTooLow", coin: "MARTY", volume: decimal("0.0000777") },
  ],
])("refused: %s", (_, more, error) => {
  expect(tradePreimage(request(more), RULE)).toMatchObject({ ok: false, error });
});

test("what running swaps lock is not there for a preimage", () => {
  const coin = new FakeTradingCoin("DOC", { balance: "10" });
  coin.reserve([decimal("5")]);
  const done = tradePreimage(request({ base: coin, volume: decimal("6") }), RULE);
  if (done.ok || done.error.kind !== "NotSufficientBalance") throw new Error("expected missing funds");
  expect(toDecimalString(done.error.available)).toBe("4.9999");
  expect(done.error.lockedBySwaps && toDecimalString(done.error.lockedBySwaps)).toBe("5.0001");
});
