import { beforeEach, expect, test } from "vitest";
import type { Outcome, Slot, SwapEvent } from "../../core/swap/events.ts";
import { isSettled } from "./isSettled.ts";
import type { SwapTask } from "./swapTask.ts";

const BLOCK = { height: 1, hash: "h" };
const DEEP = { txid: "aa", raw: "", block: BLOCK, confirmed: true };

/** A maker whose log says so, with these facts, all as deep as can be. */
function isSettledAs(finished: Outcome, ...slots: readonly Slot[]): boolean {
  return isSettledOn({}, finished, ...slots);
}

const MAKER_LOCK = 1_000;
let nowSec: number;
/** When each was first seen in a block. */
let minedAt: number;
beforeEach(() => {
  nowSec = 0;
  minedAt = 0;
  denied = [];
});

/** Slots whose block one server denies. */
let denied: readonly Slot[];

function isSettledOn(chain: object, finished: Outcome, ...slots: readonly Slot[]): boolean {
  const facts = Object.fromEntries(slots.map((slot) => [slot, DEEP]));
  return isSettled({
    nowSec: () => nowSec,
    undisputed: { isSure: (slot: Slot) => !denied.includes(slot) },
    timeOf: (match: (e: SwapEvent) => boolean) => (match({ type: "tx_seen", slot: "makerPaymentRefund", ...DEEP }) ? minedAt : null),
    times: () => ({ makerLock: MAKER_LOCK }),
    state: { terms: { role: "maker" }, own: {}, facts, finished, startFailed: null, isTheirsGone: false },
    coin: () => ({ chain: { tx: () => ({ block: BLOCK }), confirmations: () => 100, ...chain } }),
  } as unknown as SwapTask);
}

test("what a chain tells is not final yet is not settled, however deep; where it tells nothing, depth will do", () => {
  const onChain = (hasNoFinality: boolean, final: number): boolean => {
    const chain = { hasNoFinality: () => hasNoFinality, isNotarized: (height: number) => height <= final };
    return isSettledOn(chain, "success", "takerPaymentSpend", "makerPayment");
  };
  expect([onChain(false, 0), onChain(false, 1), onChain(true, 0)]).toEqual([false, true, true]);
});

test("what a chain calls final is waited for until a day past the later lock: some never name more than their first block", () => {
  const stuck = { hasNoFinality: () => false, isNotarized: () => false };
  const isSettledAt = (sec: number): boolean => {
    nowSec = sec;
    return isSettledOn(stuck, "success", "takerPaymentSpend", "makerPayment");
  };
  expect([isSettledAt(MAKER_LOCK + 86_400), isSettledAt(MAKER_LOCK + 86_401)]).toEqual([false, true]);
});

test("what came into a block days after the later lock, as by a node that was off, has a day from there on to be called final", () => {
  const slow = { hasNoFinality: () => false, isNotarized: () => false };
  minedAt = MAKER_LOCK + 200_000;
  const isSettledAt = (sec: number): boolean => {
    nowSec = sec;
    return isSettledOn(slow, "refunded", "makerPaymentRefund");
  };
  expect([isSettledAt(minedAt + 60), isSettledAt(minedAt + 86_400), isSettledAt(minedAt + 86_401)]).toEqual([false, false, true]);
});

test("a swap whose facts say another end than its log is settled only once the log says that end", () => {
  const turned = ["takerPaymentSpend", "cancel", "makerPayment"] as const;
  expect([isSettledAs("cancelled", ...turned), isSettledAs("success", ...turned)]).toEqual([false, true]);
});

test("a swap whose end was taken back is not settled because the other side has its payment back", () => {
  const undone = ["takerPaymentRefund", "makerPayment"] as const;
  expect(isSettledAs("success", ...undone)).toBe(false);
  expect(isSettledAs("refunded", ...undone, "makerPaymentRefund")).toBe(true);
});

test.each([
  ["success", "takerPaymentSpend"],
  ["refunded", "makerPaymentRefund"],
] as const)(
  "an end as %s that one server denies is settled a day past the later lock, however many blocks are made up on top of it",
  (end, slot) => {
    const isSettledAt = (sec: number): boolean => {
      nowSec = sec;
      return isSettledOn({ doubt: async () => null }, end, slot, "makerPayment");
    };
    expect(isSettledAt(0)).toBe(true);
    denied = [slot];
    expect([isSettledAt(MAKER_LOCK + 86_400), isSettledAt(MAKER_LOCK + 86_401)]).toEqual([false, true]);
  },
);
