import { expect, test } from "vitest";
import { swapTerms } from "../../../../test/fakes/swapTerms.ts";
import { VirtualClock } from "../../../adapters/virtualClock/virtualClock.ts";
import { MAX_VERSIONS } from "../../../core/swap/feeSchedule.ts";
import { sleep } from "../../../ports/clock.ts";
import type { SpendObstacle } from "../swapCoin.ts";
import type { SwapTask } from "../swapTask.ts";
import { whyKept } from "./claimAndRefund.ts";

const KEY = `02${"ab".repeat(32)}`;

const BLOCK = { height: 1, hash: "h" };
const LIMIT = 800;

type Held = {
  readonly nowSec?: number;
  /** The index has come to the taker's payment. */
  readonly isCovered?: boolean;
  readonly chainState?: string;
  readonly obstacle?: SpendObstacle;
  /** Nodes have something stuck before it. */
  readonly isBehind?: boolean;
  readonly lacksGas?: boolean;
  /** So as many nodes say as must agree. */
  readonly isSure?: boolean;
  /** Its account is asked what is stuck before it, and has that moved. */
  readonly onLine?: () => void;
};

/**
 * Why a maker's claim on an account chain that was marked and that nobody was seen to have stays home, and whether its nonce goes to others; both when it was
 * kept before.
 */
async function judged({ nowSec = LIMIT, isCovered = true, chainState = "ready", ...seen }: Held): Promise<{
  readonly why: string | null;
  readonly isGivenUp: boolean;
}> {
  const clock = new VirtualClock();
  const output = { txid: "payment", vout: 0, block: BLOCK, spentBy: null };
  const chain = { status: () => ({ state: chainState }), tx: () => undefined, outputs: () => [output], refresh: async () => undefined };
  const coin = {
    chain,
    relayPolicy: "nonce",
    contractScript: () => new Uint8Array(23),
    prepareToSpend: async () => seen.obstacle ?? null,
    spendTooDear: () => null,
    claimObstacle: () => {
      seen.onLine?.();
      return seen.isBehind ? "something is stuck before it" : null;
    },
    lacksGas: () => seen.lacksGas === true,
    isSurelyShort: async () => seen.isSure === true,
  };
  const claim = { txid: "claim", raw: "01", attempted: true, notAfter: LIMIT };
  // So many versions that no other is made.
  const replaced = Array.from({ length: MAX_VERSIONS }, (_, i) => ({ txid: `older ${i}`, raw: "01" }));
  const terms = { ...swapTerms("maker", { makerCoin: "UTXO", takerCoin: "ACCOUNT" }), startedAt: 0, lockDurationSec: 1_000 };
  const negotiated = { secretHash: "ab".repeat(20), theirStartedAt: 0, makerCoinPub: KEY, takerCoinPub: KEY };
  const state = {
    terms,
    negotiated,
    own: { takerPaymentSpend: { ...claim, replaced } },
    received: { takerPayment: { txid: "payment" } },
    facts: {},
  };
  const task = {
    state: { ...state, forms: {}, secret: null, isSecretSeen: false },
    covered: new Set(isCovered ? ["taker"] : []),
    taken: new Set(),
    isClaimKept: true,
    deps: { clock },
    coin: () => coin,
    nowSec: () => nowSec,
    seen: () => undefined,
    news: (_seen: unknown, ms: number) => sleep(clock, ms),
  };
  const asked = whyKept(task as unknown as SwapTask, new AbortController().signal);
  await clock.run({ untilMs: clock.nowMs() + 60_000 });
  return { why: await asked, isGivenUp: task.isClaimKept };
}

const OPEN = { isRefused: false, reason: "no node says" };
const REFUSED = { isRefused: true, reason: "it would fail" };

test.each<readonly [string, Held, RegExp | null]>([
  ["it would be paid", {}, null],
  ["its payment was not looked at", { isCovered: false }, /nor what became of the taker's payment/],
  ["its payment was not looked at, and its limit is over", { isCovered: false, nowSec: LIMIT + 1 }, null],
  ["no nodes are there", { chainState: "syncing" }, /no nodes say/],
  ["none are there, and its limit is over", { chainState: "syncing", nowSec: LIMIT + 1 }, null],
  ["nobody says whether it would be paid", { obstacle: OPEN }, /no node says/],
  ["nobody says so, and its limit is over", { obstacle: OPEN, nowSec: LIMIT + 1 }, null],
  ["it would be refused, and its limit is over", { obstacle: REFUSED, nowSec: LIMIT + 1 }, /it would fail/],
  ["something is stuck before it", { isBehind: true }, /something is stuck/],
  ["something is, and its limit is over", { isBehind: true, nowSec: LIMIT + 1 }, null],
  ["it has too little gas, as fewer nodes say than must agree", { lacksGas: true }, /less gas than it needs/],
  ["fewer say so, and its limit is over", { lacksGas: true, nowSec: LIMIT + 1 }, null],
  ["enough say so, and its limit is over", { lacksGas: true, isSure: true, nowSec: LIMIT + 1 }, /less gas than it needs/],
])("a maker's marked claim that nobody has: %s", async (_, state, expected) => {
  const { why, isGivenUp } = await judged(state);
  if (expected === null) expect([why, isGivenUp]).toEqual([null, false]);
  else expect(why).toMatch(expected);
});

test.each<readonly [string, Held, boolean]>([
  ["only that may keep it here", {}, true],
  ["it would be refused", { obstacle: REFUSED }, false],
  ["nobody says whether it would be paid", { obstacle: OPEN }, false],
  ["its payment was not looked at", { isCovered: false }, false],
  ["its limit is over", { nowSec: LIMIT + 1 }, false],
])("what its account has stuck before a claim is moved out of its way: %s", async (_, state, expected) => {
  let isMoved = false;
  const onLine = (): void => {
    isMoved = true;
  };
  await judged({ ...state, isBehind: true, onLine });
  expect(isMoved).toBe(expected);
});
