import { expect, test } from "vitest";
import type { Role } from "../../../core/swap/events.ts";
import type { SwapTask } from "../swapTask.ts";
import { isHeldUp, leftOutSince } from "./lockTimes.ts";

const LOCK = 1_700_000_000;
const HOUR = 3_600;
const KEY = `02${"11".repeat(32)}`;
const NEGOTIATED = { theirStartedAt: LOCK - HOUR, secretHash: "22".repeat(20), makerCoinPub: KEY, takerCoinPub: KEY };

type Case = {
  readonly nowSec: number;
  readonly tipSec: number;
  readonly isPaid?: boolean;
  readonly waitedSec?: number;
  /** Seconds without a new block; default: as long as was waited. */
  readonly stillSec?: number;
  /** Time of the other coin's chain. */
  readonly otherSec?: number;
  readonly isOwn?: boolean;
  /** It is an account chain, and its nodes agree. */
  readonly isAccount?: boolean;
  readonly role?: Role;
  /** From the taker's lock to the maker's. */
  readonly restSec?: number;
};

const terms = (role: Role) => ({
  role,
  startedAt: LOCK - HOUR,
  lockDurationSec: HOUR,
  myMakerCoinPub: KEY,
  myTakerCoinPub: KEY,
  makerUnits: "1",
  takerUnits: "1",
});

function heldUp({
  nowSec,
  tipSec,
  isPaid = true,
  waitedSec = HOUR,
  stillSec = waitedSec,
  otherSec = LOCK - HOUR,
  isOwn = false,
  isAccount = false,
  role = "maker",
  restSec = 0,
}: Case): boolean {
  const status = () => ({ state: "ready", tip: { timeSec: tipSec } });
  const other = { status: () => ({ tip: { medianTimePastSec: otherSec } }) };
  const chain = isOwn || isAccount ? { status } : { status, guard: () => () => undefined };
  const negotiated = { ...NEGOTIATED, theirStartedAt: LOCK + restSec - 2 * HOUR };
  const task = {
    nowSec: () => nowSec,
    coin: (side: Role) => ({ chain: side === role ? chain : other, relayPolicy: isAccount ? "nonce" : "replace" }),
    state: { terms: terms(role), negotiated },
  } as unknown as SwapTask;
  return isHeldUp(task, role, LOCK, isPaid, { waitedSec, stillSec });
}

const TAKER = { tipSec: LOCK + 2 * HOUR, role: "taker", restSec: 7_800 } as const;

test.each<readonly [string, Case, boolean]>([
  ["no block for an hour, an hour after the lock", { nowSec: LOCK + HOUR, tipSec: LOCK }, false],
  ["no block for an hour, later", { nowSec: LOCK + HOUR + 1, tipSec: LOCK }, true],
  ["no block since long before the lock", { nowSec: LOCK + HOUR + 1, tipSec: LOCK - HOUR }, true],
  ["new blocks with an old median time", { nowSec: LOCK + HOUR + 1, tipSec: LOCK + 2 }, false],
  ["the same two hours after the lock", { nowSec: LOCK + 2 * HOUR + 1, tipSec: LOCK + 2 * HOUR }, true],
  ["new blocks, and the payment in none", { nowSec: LOCK + HOUR + 1, tipSec: LOCK + HOUR, isPaid: false }, true],
  ["the same just after a restart", { nowSec: LOCK + HOUR + 1, tipSec: LOCK, waitedSec: 600 }, false],
  ["a taker, new blocks, a quarter of what is left to the maker's lock", { ...TAKER, nowSec: LOCK + 1_950 }, false],
  ["the same a second later", { ...TAKER, nowSec: LOCK + 1_951 }, true],
  ["the same just after a restart", { ...TAKER, nowSec: LOCK + 1_951, waitedSec: 600 }, false],
  ["a taker of a short swap just after a restart", { ...TAKER, restSec: 600, nowSec: LOCK + 151, waitedSec: 151 }, true],
  ["a taker of a long one, new blocks, two hours after the lock", { ...TAKER, restSec: 40_000, nowSec: LOCK + 2 * HOUR }, false],
  ["a daemon of one's own, which has no blocks to show", { nowSec: LOCK + 9 * HOUR, tipSec: LOCK, isOwn: true }, false],
  ["an account chain with new blocks", { nowSec: LOCK + 9 * HOUR, tipSec: LOCK + 9 * HOUR - 600, isAccount: true }, false],
  ["one most nodes of which stand still", { nowSec: LOCK + HOUR + 1, tipSec: LOCK, isAccount: true }, true],
  [
    "the same by a clock that is hours ahead: blocks come",
    { nowSec: LOCK + 9 * HOUR, tipSec: LOCK, isAccount: true, stillSec: 600 },
    false,
  ],
  ["and with none for ten minutes", { nowSec: LOCK + 9 * HOUR, tipSec: LOCK, isAccount: true, stillSec: 601 }, true],
  [
    "nodes that are hours behind and move, as the other coin's chain says, too",
    { nowSec: LOCK + HOUR + 1, tipSec: LOCK, isAccount: true, stillSec: 0, otherSec: LOCK + 1 },
    true,
  ],
  ["a taker, the same", { ...TAKER, tipSec: LOCK, nowSec: LOCK + 1_951, isAccount: true }, true],
  ["a taker, the same for half as long", { ...TAKER, tipSec: LOCK + 1_000, nowSec: LOCK + 1_951, isAccount: true }, false],
])("whether a refund is held up: %s", (_, given, expected) => {
  expect(heldUp(given)).toBe(expected);
});

test("blocks that leave out a refund signed before its time count from where it is final, other transactions' from where they were signed", () => {
  const tip = { height: 100, medianTimePastSec: 1_700_000_000 };
  const own: Record<string, unknown> = {
    takerPaymentRefund: { txid: "r" },
    makerPaymentSpend: { txid: "c", height: 90 },
    fee: { txid: "f" },
  };
  const state = { terms: terms("taker"), own, negotiated: NEGOTIATED };
  const task = { state, coin: () => ({ chain: { status: () => ({ tip }) } }), refundFinalFrom: null } as unknown as SwapTask;
  expect([leftOutSince(task, "takerPaymentRefund"), leftOutSince(task, "makerPaymentSpend"), leftOutSince(task, "fee")]).toEqual([
    null,
    90,
    null,
  ]);
  Object.assign(tip, { height: 160, medianTimePastSec: LOCK + 1 });
  expect(leftOutSince(task, "takerPaymentRefund")).toBe(160);
  tip.height = 170;
  expect(leftOutSince(task, "takerPaymentRefund")).toBe(160);
  own.takerPaymentRefund = { txid: "r", height: 155 };
  expect(leftOutSince(task, "takerPaymentRefund")).toBe(155);
});
