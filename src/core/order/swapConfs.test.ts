import fc from "fast-check";
import { expect, test } from "vitest";
import type { ConfSettings, TakerAction } from "../message/types.ts";
import { confirmationsFit, confirmationWindows, type LockRules, lockDurationSec, makerView, takerView } from "./swapConfs.ts";

const RULES: LockRules = { baseSec: 7_800, slowTickers: ["BTC", "BCH", "BTG", "SBTC"], slowFactor: 4 };
const conf = (baseConfs: number, relConfs: number, baseNota = false, relNota = false): ConfSettings => ({
  baseConfs,
  baseNota,
  relConfs,
  relNota,
});

test("each side waits by its own wish for what it receives, and by the laxer of both for what it sends", () => {
  const maker = conf(3, 5, true, true);
  const taker = conf(2, 9, true, false);
  expect(makerView(maker, taker, "Buy")).toEqual({ makerConfs: 2, makerNota: true, takerConfs: 5, takerNota: true });
  expect(takerView(maker, taker, "Buy")).toEqual({ makerConfs: 2, makerNota: true, takerConfs: 5, takerNota: false });
});

test("a seller's base is the taker coin", () => {
  const maker = conf(3, 5);
  const taker = conf(9, 2);
  expect(makerView(maker, taker, "Sell")).toEqual({ makerConfs: 2, makerNota: false, takerConfs: 5, takerNota: false });
  expect(takerView(maker, taker, "Sell")).toEqual({ makerConfs: 2, makerNota: false, takerConfs: 5, takerNota: false });
});

test("a counterparty can relax what a sender waits for, never tighten it", () => {
  const anyConf = fc.record({ baseConfs: fc.nat(9), baseNota: fc.boolean(), relConfs: fc.nat(9), relNota: fc.boolean() });
  fc.assert(
    fc.property(anyConf, anyConf, fc.constantFrom<TakerAction>("Buy", "Sell"), (maker, taker, action) => {
      const makers = makerView(maker, taker, action);
      expect(makers.makerConfs <= maker.baseConfs && (maker.baseNota || !makers.makerNota)).toBe(true);
      expect([makers.takerConfs, makers.takerNota]).toEqual([maker.relConfs, maker.relNota]);
    }),
    { seed: 1 },
  );
});

const plain = { makerConfs: 1, makerNota: false, takerConfs: 1, takerNota: false };
test.each([
  ["two fast coins", "LTC", "DOC", [plain, plain], 7_800],
  ["a slow maker coin", "BTC", "DOC", [plain, plain], 31_200],
  ["a slow taker coin", "DOC", "BCH", [plain, plain], 31_200],
  ["a notarization on one side only", "LTC", "DOC", [plain, { ...plain, makerNota: true }], 31_200],
  ["many confirmations, which do not count", "LTC", "DOC", [{ ...plain, makerConfs: 100 }, plain], 7_800],
])("lock duration: %s", (_what, maker, taker, views, expected) => {
  expect(lockDurationSec(RULES, { maker, taker }, views)).toBe(expected);
});

test("confirmations must fit 2L/5, each on its own coin; the refusal has the numbers", () => {
  const check = (makerConfs: number, takerConfs: number): unknown => {
    const times = { slowBlockSec: 1_000, notarizationSec: 9_999 };
    const coins = { maker: { ticker: "M", times }, taker: { ticker: "T", times } };
    return confirmationsFit({ ...plain, makerConfs, takerConfs }, coins, 7_800, confirmationWindows(7_800, 1_560));
  };
  expect(check(3, 3)).toEqual({ ok: true, value: undefined });
  expect(check(4, 3)).toEqual({
    ok: false,
    error: {
      kind: "ConfirmationsDoNotFit",
      coin: "M",
      confirmations: 4,
      notarization: false,
      neededSec: 4_000,
      windowSec: 3_120,
      lockDurationSec: 7_800,
    },
  });
  expect(check(3, 4)).toMatchObject({ error: { coin: "T", windowSec: 3_120 } });
});

test("a notarization counts with its own time", () => {
  const times = { slowBlockSec: 60, notarizationSec: 12_481 };
  const coins = { maker: { ticker: "M", times }, taker: { ticker: "T", times } };
  const confs = { ...plain, takerNota: true };
  expect(confirmationsFit(confs, coins, 31_200, confirmationWindows(31_200, 0))).toMatchObject({
    error: { coin: "T", notarization: true, neededSec: 12_481, windowSec: 12_480 },
  });
});
