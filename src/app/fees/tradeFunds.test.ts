import { expect, test } from "vitest";
import { FakeAccountCoin, GAS } from "../../../test/fakes/fakeAccountCoin.ts";
import { FakeTradingCoin } from "../../../test/fakes/fakeTradingCoin.ts";
import { add, decimal, type Rational, sub, toDecimalString, ZERO } from "../../core/money/rational.ts";
import { checkMakerFunds, checkTakerFunds, missingFees } from "../orders/fundsChecks.ts";
import type { TradeRules } from "../orders/ordersDeps.ts";
import type { FundsError, TradingCoin } from "../tradingCoin.ts";

const DEX_FEE = decimal("0.05");
const UNIT = decimal("0.00000001");
const RULES = { dexFee: () => DEX_FEE } as unknown as TradeRules;
const sum = (...parts: readonly Rational[]): Rational => parts.reduce(add, ZERO);
const OWN = sum(GAS.payment, GAS.refund);

/** Two platform coins, a token of each and a second one of the first, and a coin of a UTXO chain; all with much. */
function coins() {
  const [ETH, BNB] = [new FakeAccountCoin("ETH", "100"), new FakeAccountCoin("BNB", "100")];
  return {
    ...{ ETH, BNB },
    TOK: new FakeAccountCoin("TOK", "100", ETH),
    TK2: new FakeAccountCoin("TK2", "100", ETH),
    BTK: new FakeAccountCoin("BTK", "100", BNB),
    AAA: new FakeTradingCoin("AAA", { balance: "100" }),
  };
}
type Name = keyof ReturnType<typeof coins>;

type Case = readonly [given: Name, received: Name, needs: { readonly [coin in Name]?: Rational }, kind: FundsError["kind"]];
/** What each coin must have for giving 2: as maker, and what a taker's dex fee and its transaction add. */
const CASES: readonly Case[] = [
  ["ETH", "AAA", { ETH: sum(decimal("2"), OWN) }, "NotSufficientBalance"],
  ["TOK", "AAA", { TOK: decimal("2") }, "NotSufficientBalance"],
  ["TOK", "AAA", { ETH: OWN }, "NotSufficientBaseCoinBalance"],
  ["AAA", "ETH", { ETH: GAS.claim }, "NotSufficientBalance"],
  ["AAA", "TOK", { ETH: GAS.claim }, "NotSufficientBaseCoinBalance"],
  ["TOK", "ETH", { ETH: sum(OWN, GAS.claim) }, "NotSufficientBaseCoinBalance"],
  ["ETH", "TOK", { ETH: sum(decimal("2"), OWN, GAS.claim) }, "NotSufficientBalance"],
  ["TOK", "TK2", { ETH: sum(OWN, GAS.claim) }, "NotSufficientBaseCoinBalance"],
  ["TOK", "BTK", { ETH: OWN }, "NotSufficientBaseCoinBalance"],
  ["TOK", "BTK", { BNB: GAS.claim }, "NotSufficientBaseCoinBalance"],
  ["ETH", "BNB", { BNB: GAS.claim }, "NotSufficientBalance"],
];

const check = (role: "maker" | "taker", coin: TradingCoin, other: TradingCoin) =>
  role === "maker" ? checkMakerFunds({ coin, other }, decimal("2")) : checkTakerFunds(RULES, { coin, other }, decimal("2"));

/** On top of what a maker needs: on the given coin the fee itself, on its payer the transaction. */
function takersPart(role: "maker" | "taker", given: TradingCoin, coin: Name, isClaimOnly: boolean): Rational {
  if (role === "maker" || isClaimOnly) return ZERO;
  return sum(coin === given.ticker ? DEX_FEE : ZERO, coin === given.feeTicker ? GAS.dexFee : ZERO);
}

for (const role of ["maker", "taker"] as const)
  test.each(CASES)(`a ${role} that gives %s for %s needs exactly the sum of all that falls on one coin`, (given, received, needs, kind) => {
    for (const [name, amount] of Object.entries(needs) as [Name, Rational][]) {
      const all = coins();
      const required = sum(amount, takersPart(role, all[given], name, all[given].feeTicker !== name && given !== name));
      all[name].setBalance(toDecimalString(required));
      expect(check(role, all[given], all[received]), "all of it").toEqual({ ok: true, value: undefined });
      const available = sub(required, UNIT);
      all[name].setBalance(toDecimalString(available));
      expect(check(role, all[given], all[received]), "one unit less").toEqual({
        ok: false,
        error: { kind, coin: name, available, required, lockedBySwaps: ZERO },
      });
    }
  });

test("what another trade holds of the coin that pays the fees is not there, and is told", () => {
  const { ETH, TOK, TK2, AAA } = coins();
  ETH.setBalance("0.0061");
  expect(TOK.reserve([decimal("1")]).ok).toBe(true);
  expect(checkMakerFunds({ coin: AAA, other: TK2 }, decimal("2"))).toEqual({ ok: true, value: undefined });
  expect(checkMakerFunds({ coin: TK2, other: AAA }, decimal("2"))).toEqual({
    ok: false,
    error: { kind: "NotSufficientBaseCoinBalance", coin: "ETH", available: decimal("0.0011"), required: OWN, lockedBySwaps: OWN },
  });
});

test("the own coin's want comes first, then its payer's, then the claim's", () => {
  const { ETH, BNB, TOK, BTK } = coins();
  for (const coin of [ETH, BNB, TOK]) coin.setBalance("0");
  const missing = (): string => {
    const checked = checkMakerFunds({ coin: TOK, other: BTK }, decimal("2"));
    return checked.ok ? "none" : checked.error.coin;
  };
  expect(missing()).toBe("TOK");
  TOK.setBalance("2");
  expect(missing()).toBe("ETH");
  ETH.setBalance("1");
  expect(missing()).toBe("BNB");
});

test("an open order's fees are asked for only where another coin than the one given pays them", () => {
  const { ETH, TOK, AAA } = coins();
  ETH.setBalance("0");
  const missing = (coin: TradingCoin, other: TradingCoin): string | null => missingFees({ coin, other }, decimal("1"))?.kind ?? null;
  expect(missing(ETH, AAA)).toBeNull();
  expect(missing(ETH, TOK)).toBeNull();
  expect(missing(AAA, new FakeTradingCoin("BBB"))).toBeNull();
  expect(missing(TOK, AAA)).toBe("NotSufficientBaseCoinBalance");
  expect(missing(AAA, ETH)).toBe("NotSufficientBalance");
});
