import { expect, test } from "vitest";
import { decimal, rational, toDecimalString } from "../../core/money/rational.ts";
import { profileOfNetid } from "../../core/network/networkProfile.ts";
import type { TradeRules } from "./ordersDeps.ts";
import { fitTerms, makerCap, termsOfMatch } from "./swapTerms.ts";

/** Litecoin's numbers for the coin received, one-minute blocks for the other. */
const RULES: TradeRules = {
  lock: { baseSec: 7_800, slowTickers: ["BTC"], slowFactor: 4 },
  blockTimes: (ticker) => ({ slowBlockSec: ticker === "LTC" ? 450 : ticker === "TEN" ? 1_800 : 180, notarizationSec: 3_600 }),
  safety: profileOfNetid(8_762).safety,
  isTestCoin: () => false,
  blockReward: (ticker) => (ticker === "LTC" ? decimal("6.25") : null),
  paymentWaitSec: 600,
  dexFee: () => rational(0n),
  noFeeKey: () => null,
};
const coins = (maker: string, taker: string) => ({ maker, taker, makerOrderbook: maker, takerOrderbook: taker });
const CONFS = { makerConfs: 2, makerNota: false, takerConfs: 2, takerNota: false };

/** The terms of a side that receives so much LTC for KMD. */
function receiving(role: "maker" | "taker", amount: string, over: { rules?: Partial<TradeRules>; confs?: Partial<typeof CONFS> } = {}) {
  const pair = role === "maker" ? coins("KMD", "LTC") : coins("LTC", "KMD");
  const own = { ...CONFS, ...over.confs };
  return fitTerms({ ...RULES, ...over.rules }, pair, own, [own], { role, amount: decimal(amount) });
}

test.each(["maker", "taker"] as const)("a %s waits longer for a payment worth more than the agreed confirmations cost to undo", (role) => {
  const valueConfs = (amount: string) => {
    const terms = receiving(role, amount);
    return terms.ok && terms.value.safety.valueConfs;
  };
  // 2 agreed confirmations of 6.25 cost 12.5 to undo.
  expect(valueConfs("12.5")).toBe(0);
  expect(valueConfs("12.500001")).toBe(3);
  expect(valueConfs("80")).toBe(13);
});

test("what is agreed stays what it is: neither the confirmations nor the lock of a dear swap differ from those of a cheap one", () => {
  const [dear, cheap] = [receiving("taker", "80"), receiving("taker", "1")];
  expect(dear.ok && [dear.value.confs, dear.value.lockSec]).toEqual(cheap.ok && [cheap.value.confs, cheap.value.lockSec]);
});

test("an amount that asks for more confirmations than fit is refused with the numbers, and the most that fits is taken", () => {
  const refused = receiving("taker", "100");
  if (refused.ok || refused.error.kind !== "AmountAboveCap") throw new Error("it was taken");
  const { cap, fitting, confirmations, windowSec, coin } = refused.error;
  expect([coin, confirmations, fitting, windowSec, toDecimalString(cap)]).toEqual(["LTC", 16, 13, 3_120, "81.25"]);
  expect(receiving("taker", "81.25")).toMatchObject({ ok: true, value: { safety: { valueConfs: 13 } } });
  expect(receiving("taker", "81.25000001").ok).toBe(false);
});

test("a factor above one asks for as many times the confirmations", () => {
  const safety = { ...RULES.safety, confirmationValueFactor: 2 };
  expect(receiving("taker", "25", { rules: { safety } })).toMatchObject({ value: { safety: { valueConfs: 8 } } });
  expect(receiving("taker", "50", { rules: { safety } }).ok).toBe(false);
});

test("the rule is off where the reward is unknown, and where a notarization decides", () => {
  expect(receiving("taker", "100000", { rules: { blockReward: () => null } })).toMatchObject({
    ok: true,
    value: { safety: { valueConfs: 0 } },
  });
  expect(receiving("taker", "100000", { confs: { makerNota: true } })).toMatchObject({ ok: true, value: { safety: { valueConfs: 0 } } });
  // Of the coin that is given nothing is asked: nobody can be cheated of it.
  expect(receiving("taker", "1", { rules: { blockReward: (t) => (t === "KMD" ? decimal("0.00000001") : null) } })).toMatchObject({
    value: { safety: { valueConfs: 0 } },
  });
});

test("agreed confirmations that are more than fit by luck alone are refused as ever, whatever the value", () => {
  expect(receiving("taker", "1", { confs: { makerConfs: 7 } })).toMatchObject({ ok: false, error: { kind: "ConfirmationsDoNotFit" } });
});

test("a maker waits for one confirmation of the dex fee of a big swap, where a slow block comes while the taker waits", () => {
  expect(receiving("maker", "12.5")).toMatchObject({ value: { safety: { feeConfs: 0 } } });
  expect(receiving("maker", "13")).toMatchObject({ value: { safety: { feeConfs: 1 } } });
  expect(receiving("taker", "13")).toMatchObject({ value: { safety: { feeConfs: 0 } } });
  expect(receiving("maker", "13", { rules: { paymentWaitSec: 449 } })).toMatchObject({ value: { safety: { feeConfs: 0 } } });
});

test("the maker's margin to reveal is that of the chain it claims on", () => {
  expect(receiving("maker", "1")).toMatchObject({ value: { safety: { revealMarginSec: 570 } } });
  expect(receiving("taker", "1")).toMatchObject({ value: { safety: { revealMarginSec: 300 } } });
});

test("orders whose windows hold no confirmed claim are refused: a chain of ten-minute blocks with a lock too short for it", () => {
  const fits = (lockSec: number, rules: Partial<TradeRules> = {}) =>
    fitTerms(
      { ...RULES, lock: { ...RULES.lock, baseSec: lockSec }, ...rules },
      coins("KMD", "TEN"),
      { ...CONFS, makerConfs: 1, takerConfs: 1 },
      [CONFS],
      { role: "maker", amount: decimal("1") },
    );
  expect(fits(7_800).ok).toBe(true);
  // 2L/5 of 6200 are 2480; 6200 - 1920 - 2480 = 1800 are left for a slow block.
  expect(fits(6_200)).toMatchObject({ ok: true });
  expect(fits(6_198)).toMatchObject({
    ok: false,
    error: { kind: "ConfirmationsDoNotFit", coin: "TEN", neededSec: 1_800, windowSec: 1_799 },
  });
});

test("locks too close for the slowest race of refund and claim are refused; between coins without value clocks are not counted", () => {
  const pair = (lockSec: number, isTest: boolean) =>
    fitTerms(
      { ...RULES, lock: { ...RULES.lock, baseSec: lockSec }, isTestCoin: () => isTest },
      coins("TEN", "TEN"),
      { ...CONFS, makerConfs: 1, takerConfs: 1 },
      [CONFS],
      { role: "maker", amount: decimal("1") },
    );
  expect(pair(7_800, false).ok).toBe(true);
  expect(pair(7_379, false)).toEqual({
    ok: false,
    error: { kind: "LocksTooClose", makerCoin: "TEN", takerCoin: "TEN", neededSec: 7_380, gapSec: 7_379 },
  });
  expect(pair(7_379, true).ok).toBe(true);
});

test("each side of a match looks at the amount it receives", () => {
  const conf = { baseConfs: 1, baseNota: false, relConfs: 1, relNota: false };
  const settings = { maker: conf, taker: conf, action: "Buy" as const };
  const reserved = { baseAmount: decimal("1000"), relAmount: decimal("80") };
  const terms = (role: "maker" | "taker") => termsOfMatch(RULES, coins("KMD", "LTC"), role, settings, reserved);
  expect(terms("maker")).toMatchObject({ value: { safety: { valueConfs: 13 } } });
  expect(terms("taker")).toMatchObject({ value: { safety: { valueConfs: 0 } } });
});

test("the most a maker order can receive is what the cap says, or what its own confirmations protect where those are more", () => {
  const cap = (over: Partial<typeof CONFS>, rules: Partial<TradeRules> = {}) => {
    const most = makerCap({ ...RULES, ...rules }, coins("KMD", "LTC"), { ...CONFS, ...over });
    return most && toDecimalString(most);
  };
  expect(cap({})).toBe("81.25");
  expect(cap({ takerConfs: 20 })).toBe("125");
  expect(cap({ takerNota: true })).toBeNull();
  expect(cap({}, { blockReward: () => null })).toBeNull();
});
