import { expect, test } from "vitest";
import { TERMS_KEY as KEY, swapTerms } from "../../../test/fakes/swapTerms.ts";
import type { Role, SwapEvent } from "./events.ts";
import { feeWindow, tryAgainAfter } from "./feeWindow.ts";
import { fold } from "./swapState.ts";

const START = 1_700_000_000;
const L = 7_800;
/** This side and the other began at the same second: the taker's lock is `L` later, the maker's `2 L`. */
const [TAKER_LOCK, MAKER_LOCK] = [START + L, START + 2 * L];
const [CONFIRMED_BY, REVEAL_BY] = [START + (2 * L) / 5, START + (4 * L) / 5];
const [MAKER_UNITS, TAKER_UNITS, DEX_FEE] = [111n, 222n, 9n];

function state(role: Role, ...more: readonly SwapEvent[]) {
  const terms = swapTerms(role, {
    ...{ startedAt: START, lockDurationSec: L, makerUnits: String(MAKER_UNITS), takerUnits: String(TAKER_UNITS) },
    ...{ dexFeeUnits: String(DEX_FEE - 2n), dexBurnUnits: "2" },
  });
  const both = { theirStartedAt: START, theirLocktime: role === "maker" ? TAKER_LOCK : MAKER_LOCK };
  const keys = { makerCoinPub: KEY, takerCoinPub: KEY, secretHash: "22".repeat(20) };
  return fold([{ type: "started", terms }, { type: "negotiated", with: { ...both, ...keys } }, ...more]);
}

const SENT = START + 100;
const CLAIM_IS_OUT: readonly SwapEvent[] = [
  { type: "tx_signed", slot: "takerPaymentSpend", txid: "aa".repeat(32), raw: "00", notAfter: null },
  { type: "tx_attempted", slot: "takerPaymentSpend" },
];

test.each([
  ["maker", "makerPayment", { value: MAKER_UNITS, since: SENT, deadline: CONFIRMED_BY, stake: "trade" }],
  ["taker", "takerPayment", { value: TAKER_UNITS, since: SENT, deadline: REVEAL_BY, stake: "trade" }],
  ["taker", "fee", { value: DEX_FEE, since: SENT, deadline: REVEAL_BY, stake: "trade" }],
  ["maker", "takerPaymentSpend", { value: TAKER_UNITS, since: SENT, deadline: TAKER_LOCK, stake: "race" }],
  ["maker", "claimChild", { value: TAKER_UNITS, since: SENT, deadline: TAKER_LOCK, stake: "race" }],
  ["taker", "makerPaymentSpend", { value: MAKER_UNITS, since: SENT, deadline: MAKER_LOCK, stake: "race" }],
  ["taker", "takerPaymentRefund", { value: TAKER_UNITS, since: SENT, deadline: MAKER_LOCK, stake: "race" }],
  ["maker", "makerPaymentRefund", { value: MAKER_UNITS, since: SENT, deadline: MAKER_LOCK + L, stake: "time" }],
  ["maker", "cancel", { value: MAKER_UNITS, since: SENT, deadline: MAKER_LOCK, stake: "time" }],
  ["taker", "cancel", { value: TAKER_UNITS, since: SENT, deadline: TAKER_LOCK, stake: "time" }],
] as const)("a %s's %s has until what hangs on it", (role, slot, window) => {
  expect(feeWindow(state(role), slot, SENT)).toEqual(window);
});

test("a window opens with the step, not with the version; one that was signed late has lost what had passed", () => {
  expect(feeWindow(state("maker"), "takerPaymentSpend", REVEAL_BY + 50).since).toBe(REVEAL_BY);
  expect(feeWindow(state("taker"), "makerPaymentSpend", MAKER_LOCK).since).toBe(TAKER_LOCK);
  expect(feeWindow(state("taker"), "takerPaymentRefund", MAKER_LOCK).since).toBe(TAKER_LOCK);
  expect(feeWindow(state("maker"), "makerPaymentRefund", MAKER_LOCK + 50).since).toBe(MAKER_LOCK);
});

test("a maker's refund races once its secret may be out", () => {
  const window = feeWindow(state("maker", ...CLAIM_IS_OUT), "makerPaymentRefund", MAKER_LOCK + 50);
  expect(window).toEqual({ value: MAKER_UNITS, since: MAKER_LOCK, deadline: MAKER_LOCK, stake: "race" });
});

test("what nodes say would fail is tried again after half of what was left, and ten minutes at least", () => {
  expect([tryAgainAfter(START, START + 5_000), tryAgainAfter(START, START + 100), tryAgainAfter(START + 5_000, START)]).toEqual([
    2_500, 600, 2_500,
  ]);
});
