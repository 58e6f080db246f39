import { expect, test } from "vitest";
import type { SwapTask } from "../swapTask.ts";
import { ownSpends } from "./paymentForms.ts";

const KEY = `02${"ab".repeat(32)}`;
const LIMIT = 800;
/** Of the taker's payment. */
const LOCK = 1_000;
const OWN_LOCK = 2 * LOCK;

type Case = {
  readonly nowSec?: number;
  readonly spentBy?: string | null;
  readonly chainState?: string;
  /** It, or the taker's claim, was seen once. */
  readonly wasSeen?: boolean;
  /** A backend took the claim in this run. */
  readonly wasTaken?: boolean;
  /** The own payment is in a block. */
  readonly hasPaid?: boolean;
  /** The index has come to the payment. */
  readonly isCovered?: boolean;
  readonly isKnown?: boolean;
  readonly isOnAccount?: boolean;
  /** Of the payment; one is agreed. */
  readonly confs?: number;
  /** No output of the payment is seen. */
  readonly isGone?: boolean;
  /** What the contract says of it then. */
  readonly unfound?: string;
  /** How far what servers refuse to tell of the contract was read from blocks. */
  readonly crowded?: string;
  /** Strangers show the chain. */
  readonly isGuarded?: boolean;
  /** The spend has the signature of the taker. */
  readonly isSigned?: boolean;
};

/** What is given of a claim that was marked, to servers that are visited. */
function given({ nowSec = LIMIT + 1, spentBy = null, chainState = "ready", isCovered = true, ...seen }: Case): number {
  const output = {
    txid: "payment",
    vout: 0,
    block: { height: 1, hash: "h" },
    spentBy: spentBy === null ? null : { txid: spentBy, block: null },
  };
  const chain = {
    status: () => ({ state: chainState }),
    tx: (txid: string) => (seen.isKnown || txid === "refund" ? { txid, raw: new Uint8Array(0) } : undefined),
    outputs: () => (seen.isGone ? [] : [output]),
    crowded: () => seen.crowded ?? null,
    confirmations: () => seen.confs ?? 1,
    isNotarized: () => false,
    unfound: () => seen.unfound ?? null,
    ...(seen.isGuarded ? { guard: () => () => undefined } : {}),
  };
  const coin = {
    chain,
    relayPolicy: seen.isOnAccount ? "nonce" : "overpay",
    contractScript: () => new Uint8Array(23),
    spends: () => true,
    classifySpend: () => "refund",
    isSignedRefund: () => seen.isSigned === true,
  };
  const state = {
    terms: {
      role: "maker",
      startedAt: 0,
      lockDurationSec: LOCK,
      myMakerCoinPub: KEY,
      myTakerCoinPub: KEY,
      makerUnits: "1",
      takerUnits: "1",
      takerConfs: 1,
      takerNota: false,
    },
    negotiated: { secretHash: "ab".repeat(20), theirStartedAt: 0, makerCoinPub: KEY, takerCoinPub: KEY },
    own: { takerPaymentSpend: { txid: "claim", raw: "01", attempted: true, notAfter: LIMIT } },
    received: { takerPayment: { txid: "payment", raw: "02" } },
    facts: seen.hasPaid ? { makerPayment: { txid: "own", raw: "03", block: { height: 1, hash: "h" } } } : {},
    forms: {},
    secret: null,
    isSecretSeen: seen.wasSeen === true,
  };
  const covered = new Set(isCovered ? ["taker"] : []);
  const taken = new Set(seen.wasTaken ? ["claim"] : []);
  const task = { state, covered, taken, coin: () => coin, nowSec: () => nowSec } as unknown as SwapTask;
  return ownSpends(task, "takerPayment").flat().length;
}

test.each<readonly [string, Case, number]>([
  ["the payment stands, late as it is", {}, 1],
  ["it does, and the own one cannot go back yet", { hasPaid: true, nowSec: OWN_LOCK }, 1],
  ["it does, and the own one can go back", { hasPaid: true, nowSec: OWN_LOCK + 1 }, 0],
  [
    "it does, and by the clock the own one can, of which the contract says that it was claimed",
    { hasPaid: true, nowSec: OWN_LOCK + 1, isOnAccount: true, unfound: "claimed" },
    1,
  ],
  [
    "it does, and the contract says that the own one went back",
    { hasPaid: true, nowSec: OWN_LOCK + 1, isOnAccount: true, unfound: "refunded" },
    0,
  ],
  [
    "it does, and the contract holds the own one, which no node shows any more",
    { nowSec: OWN_LOCK + 1, isOnAccount: true, unfound: "unspent" },
    0,
  ],
  ["it does, and the own one has gone with a reorganisation", { nowSec: OWN_LOCK + 1 }, 1],
  ["the payment has gone back", { spentBy: "refund" }, 0],
  ["strangers say so, and the claim is in time", { spentBy: "refund", isGuarded: true, isSigned: true, nowSec: LIMIT }, 1],
  ["a reorganisation took the payment", { isGone: true, nowSec: LIMIT }, 0],
  ["one left it less deep than agreed", { confs: 0, nowSec: LIMIT }, 0],
  ["strangers say so", { isGone: true, isGuarded: true, nowSec: LOCK + 1 }, 1],
  ["it has, and the secret was seen before", { spentBy: "refund", wasSeen: true }, 1],
  ["it has, and the claim is seen", { spentBy: "refund", isKnown: true }, 1],
  ["it has, and a backend took the claim before", { spentBy: "refund", wasTaken: true }, 1],
  ["the claim itself has spent it", { spentBy: "claim" }, 1],
  [
    "no node has more of it than that the contract gave it back",
    { isGone: true, isOnAccount: true, unfound: "refunded", nowSec: LOCK + 1 },
    0,
  ],
  ["no node has more of it than that the contract holds it", { isGone: true, isOnAccount: true, unfound: "unspent", nowSec: LOCK + 1 }, 1],
  ["strangers say so, with the taker's signature", { spentBy: "refund", isGuarded: true, isSigned: true, nowSec: LOCK + 1 }, 0],
  ["strangers say so, with no signature", { spentBy: "refund", isGuarded: true, nowSec: LOCK + 1 }, 1],
  ["strangers say so, and its lock has not passed", { spentBy: "refund", isGuarded: true, isSigned: true, nowSec: LOCK }, 1],
  ["nobody knows yet what became of it", { isCovered: false, nowSec: LOCK + 1 }, 0],
  ["nobody knows yet, and its lock has not passed", { isCovered: false, nowSec: LOCK }, 1],
  ["blocks that were not read may have its end", { crowded: "unread", isGuarded: true, nowSec: LOCK + 1 }, 0],
  ["blocks that are being read may have it", { crowded: "reading", isGuarded: true, nowSec: LOCK + 1 }, 0],
  ["all blocks that may have its end were read", { crowded: "read", isGuarded: true, nowSec: LOCK + 1 }, 1],
  ["nobody tells what became of it", { chainState: "unreachable", nowSec: LOCK + 1 }, 0],
  ["nobody tells, and its lock has not passed", { chainState: "unreachable", nowSec: LOCK }, 1],
])("what servers that are visited get of a maker's claim: %s", (_, state, expected) => {
  expect(given(state)).toBe(expected);
});
