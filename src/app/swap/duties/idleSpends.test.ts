import { expect, test } from "vitest";
import { swapTerms, TERMS_KEY } from "../../../../test/fakes/swapTerms.ts";
import type { SwapEvent } from "../../../core/swap/events.ts";
import { fold } from "../../../core/swap/swapState.ts";
import { toHex } from "../../../core/util/bytes.ts";
import type { SwapTask } from "../swapTask.ts";
import { giveUpIdle, takeBackPayment, yieldPayment } from "./idleSpends.ts";

const BLOCK = { height: 1, hash: "h" };
const NEGOTIATED = { theirStartedAt: 1, theirLocktime: 0, makerCoinPub: TERMS_KEY, takerCoinPub: TERMS_KEY, secretHash: "22".repeat(20) };
const sent = (slot: "makerPayment" | "takerPaymentSpend" | "makerPaymentRefund", txid: string): readonly SwapEvent[] => [
  { type: "tx_signed", slot, txid, raw: txid, notAfter: null },
  { type: "tx_attempted", slot },
];
/** Of a maker whose claim was seen in no block when its own lock had passed. */
const LOG: readonly SwapEvent[] = [
  { type: "started", terms: swapTerms("maker") },
  { type: "negotiated", with: NEGOTIATED },
  ...sent("makerPayment", "a1"),
  { type: "tx_seen", slot: "makerPayment", txid: "a1", raw: "a1", block: BLOCK },
  ...sent("takerPaymentSpend", "c1"),
  { type: "tx_seen", slot: "takerPaymentSpend", txid: "c1", raw: "c1", block: null },
  { type: "refund_decided", failure: { event: "TakerPaymentSpendConfirmFailed", reason: "its lock has passed" } },
  ...sent("makerPaymentRefund", "d1"),
];

const MINED: SwapEvent = { type: "tx_seen", slot: "takerPaymentSpend", txid: "c1", raw: "c1", block: BLOCK };

type Case = {
  readonly log?: readonly SwapEvent[];
  readonly isClaimMined?: boolean;
  /** The claim's chain was looked at since the start. */
  readonly isCovered?: boolean;
  readonly ranSec?: number;
  /** What spent the own payment by its contract's word, in a block. */
  readonly spentBy?: string | null;
};

/** What is given up, where each has a nonce. */
function givenUp({ log = LOG, isClaimMined = false, isCovered = true, ranSec = 3_600, spentBy = null }: Case): readonly string[] {
  const gone = new Set<string>();
  const coin = {
    relayPolicy: "nonce",
    contractScript: () => new Uint8Array(23),
    giveUp: (raw: Uint8Array) => void gone.add(toHex(raw)),
    takeBack: (raw: Uint8Array) => void gone.delete(toHex(raw)),
    chain: {
      status: () => ({ state: "ready", tip: null }),
      outputs: () => [{ txid: "a1", vout: 0, block: BLOCK, spentBy: spentBy === null ? null : { txid: spentBy, block: BLOCK } }],
      tx: (txid: string) => (isCovered && txid === "c1" ? { txid, block: isClaimMined ? BLOCK : null } : undefined),
    },
  };
  const covered = new Set(isCovered ? ["maker", "taker"] : ["maker"]);
  const task = { state: fold(log), coin: () => coin, taken: new Set(), covered, doubted: { has: () => false } };
  giveUpIdle({ ...task, nowSec: () => 2_000_000_000, ranSec: () => ranSec } as unknown as SwapTask);
  return [...gone];
}

test("a refund holds up no account while the claim is in a block: it stays home then", () => {
  expect([givenUp({}), givenUp({ isClaimMined: true })]).toEqual([[], ["d1"]]);
});

test("nor while nobody can look whether the block that the claim was in still has it; it keeps its nonce until there was time to look", () => {
  const [recorded, unrecorded] = [{ log: [...LOG, MINED], isCovered: false }, { isCovered: false }];
  expect([givenUp(recorded), givenUp(unrecorded)]).toEqual([["d1"], []]);
  expect([givenUp({ ...recorded, ranSec: 0 }), givenUp({ ...unrecorded, ranSec: 0 })]).toEqual([["d1"], []]);
});

test("nor while its contract calls the payment taken: it would fail, and cost its gas; what it did itself is left to it", () => {
  // Of an end that no node shows the contract has no id.
  expect([givenUp({ spentBy: "e1" }), givenUp({ spentBy: "" }), givenUp({ spentBy: "d1" }), givenUp({})]).toEqual([["d1"], ["d1"], [], []]);
});

/** A maker's payment that left once: what becomes of its nonce at each look, and when the swap is looked at no more. */
function payment({ isSent = true, relayPolicy = "nonce" }: { readonly isSent?: boolean; readonly relayPolicy?: string }) {
  const done: string[] = [];
  const now = { isShown: false, isMined: false, isStuck: false, log: LOG.slice(0, isSent ? 4 : 3) };
  const coin = {
    relayPolicy,
    contractScript: () => new Uint8Array(23),
    giveUp: (raw: Uint8Array, isRefused: boolean) => void done.push(`gave ${toHex(raw)} up${isRefused ? " for good" : ""}`),
    takeBack: (raw: Uint8Array) => void done.push(`took ${toHex(raw)} back`),
    isStuck: () => now.isStuck,
    chain: {
      tx: (txid: string) => (now.isShown && txid === "a1" ? { txid, block: now.isMined ? BLOCK : null } : undefined),
    },
  };
  const state = () => fold(now.log);
  const task = { coin: () => coin, covered: new Set(), doubted: { has: () => false }, isPaymentYielding: false };
  const swap = Object.defineProperty(task, "state", { get: state }) as unknown as SwapTask;
  const look = (): void => yieldPayment(swap);
  return { done, now, look, end: () => takeBackPayment(swap) };
}

test("a payment that nobody has holds up no other swap, until somebody has it", () => {
  const { done, now, look } = payment({});
  look();
  look();
  now.isShown = true;
  look();
  look();
  expect(done).toEqual(["gave a1 up", "gave a1 up", "took a1 back"]);
});

test("so does one that pools have too cheap for a block, while claims wait behind it and nobody has used it", () => {
  const { done, now, look } = payment({});
  now.isShown = true;
  look();
  now.isStuck = true;
  look();
  now.isStuck = false;
  look();
  now.isStuck = true;
  now.isMined = true;
  look();
  now.isMined = false;
  now.log = [...now.log, { type: "tx_seen", slot: "makerPaymentSpend", txid: "e1", raw: "e1", block: null }];
  look();
  expect(done).toEqual(["gave a1 up", "took a1 back"]);
});

test("it is its account's to judge when its swap is looked at no more, and its cancellation's once there is one", () => {
  const [parked, cancelled] = [payment({}), payment({})];
  for (const { look } of [parked, cancelled]) look();
  parked.end();
  cancelled.now.log = [...cancelled.now.log, { type: "tx_signed", slot: "cancel", txid: "b1", raw: "b1", notAfter: null }];
  cancelled.look();
  for (const { done } of [parked, cancelled]) expect(done).toEqual(["gave a1 up", "took a1 back"]);
});

test("nothing is taken back that was given up for being late, nor anything done for what never left or has no nonce", () => {
  const late = payment({});
  late.now.isShown = true;
  const others = [late, payment({ isSent: false }), payment({ relayPolicy: "replace" })];
  for (const { look, end } of others) {
    look();
    end();
  }
  expect(others.map(({ done }) => done)).toEqual([[], [], []]);
});
