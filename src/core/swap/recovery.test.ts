import { describe, expect, test } from "vitest";
import { swapTerms, TERMS_KEY } from "../../../test/fakes/swapTerms.ts";
import { recordedStatuses } from "../../../test/vectors/swaps/swapVectors.ts";
import type { Role, Slot, SwapEvent } from "./events.ts";
import { MAKER_ERROR_EVENTS, TAKER_ERROR_EVENTS } from "./kdfEventNames.ts";
import type { KeptSwap } from "./kdfStatus.ts";
import { isRecoverable, whyKeptNotRecoverable, whyNotRecoverable } from "./recovery.ts";
import { fold } from "./swapState.ts";
import { swapStatus } from "./swapStatus.ts";

/** Each event beside a start and an end: whether reference rpc.md 7.5 calls the swap recoverable. */
const RULE: { readonly [R in Role]: { readonly never: readonly string[]; readonly names: readonly string[] } } = {
  maker: {
    never: ["StartFailed", "NegotiateFailed", "TakerFeeValidateFailed", "TakerPaymentSpendConfirmed", "MakerPaymentRefunded"],
    names: [...MAKER_ERROR_EVENTS, "TakerPaymentSpent", "TakerPaymentSpendConfirmed", "MakerPaymentSent"],
  },
  taker: {
    never: [
      ...["StartFailed", "NegotiateFailed", "TakerFeeSendFailed", "MakerPaymentValidateFailed", "MakerPaymentWaitConfirmFailed"],
      ...["TakerPaymentRefunded", "TakerPaymentRefundedByWatcher", "MakerPaymentSpendConfirmed"],
      ...["MakerPaymentSpent", "MakerPaymentSpentByWatcher"],
    ],
    names: [...TAKER_ERROR_EVENTS, "TakerPaymentSent", "MakerPaymentSpent", "MakerPaymentSpentByWatcher", "MakerPaymentSpendConfirmed"],
  },
};

describe.each(["maker", "taker"] as const)("recoverable, %s", (role) => {
  test.each(RULE[role].names)("a finished swap with %s", (name) => {
    expect(isRecoverable(role, ["Started", name, "Finished"])).toBe(!RULE[role].never.includes(name));
  });
  test("a swap that runs is not, whatever happened", () => {
    for (const name of RULE[role].names) expect(isRecoverable(role, ["Started", name]), name).toBe(false);
  });
  test("the swaps recorded of KDF say what it said", () => {
    for (const swap of recordedStatuses.swaps)
      expect(
        isRecoverable(
          role,
          swap[role].events.map(([name]) => name),
        ),
      ).toBe(swap[role].rest.recoverable);
  });
});

test("a taker's claim that did not get deep is recoverable although it was sent", () => {
  expect(isRecoverable("taker", ["Started", "MakerPaymentSpent", "MakerPaymentSpendConfirmFailed", "Finished"])).toBe(true);
  // What ended it otherwise counts first.
  const refunded = ["Started", "MakerPaymentSpendConfirmFailed", "TakerPaymentRefunded", "Finished"];
  expect(isRecoverable("taker", refunded)).toBe(false);
});

const BLOCK = { height: 7, hash: "ab" };
const negotiated: SwapEvent = {
  type: "negotiated",
  with: {
    ...{ theirStartedAt: 1_700_000_001, theirLocktime: 1_700_007_801, secretHash: "22".repeat(20) },
    ...{ makerCoinPub: TERMS_KEY, takerCoinPub: TERMS_KEY },
  },
};
const deep = (slot: Slot, txid: string): readonly SwapEvent[] => [
  { type: "tx_seen", slot, txid, raw: "00", block: BLOCK },
  { type: "tx_confirmed", slot, txid, block: BLOCK },
];
const ended = (outcome: Extract<SwapEvent, { type: "finished" }>["outcome"]): SwapEvent => ({ type: "finished", outcome });
const gaveUp = (event: string): SwapEvent => ({ type: "abandoned", failure: { event, reason: "no" } });
const received: SwapEvent = { type: "tx_received", slot: "makerPayment", txid: "aa", raw: "aa" };

type Case = readonly [end: string, role: Role, events: readonly SwapEvent[], recoverable: boolean, text: string];
const CASES: readonly Case[] = [
  [
    "traded",
    "maker",
    [...deep("takerPaymentSpend", "cc"), ended("success")],
    false,
    "Taker payment spend transaction has been sent and confirmed",
  ],
  [
    "refunded",
    "maker",
    [...deep("makerPaymentRefund", "bb"), ended("refunded")],
    false,
    "Maker payment is refunded, swap is not recoverable",
  ],
  ["cancelled", "maker", [...deep("cancel", "bb"), ended("cancelled")], false, "Maker payment is refunded, swap is not recoverable"],
  [
    "given up before it paid",
    "maker",
    [gaveUp("MakerPaymentTransactionFailed"), ended("failed")],
    true,
    "Maker payment transaction was not found",
  ],
  ["no fee came", "maker", [gaveUp("TakerFeeValidateFailed"), ended("failed")], false, "Maker payment transaction was not found"],
  [
    "both payments gone",
    "maker",
    [...deep("makerPaymentSpend", "dd"), ...deep("takerPaymentRefund", "ee"), ended("lost")],
    true,
    "Taker payment was already refunded by MARTY tx ee",
  ],
  [
    "traded",
    "taker",
    [...deep("makerPaymentSpend", "cc"), ended("success")],
    false,
    "Maker payment is spent and confirmed, swap is not recoverable",
  ],
  [
    "refunded",
    "taker",
    [...deep("takerPaymentRefund", "bb"), ended("refunded")],
    false,
    "Taker payment is refunded, swap is not recoverable",
  ],
  ["cancelled", "taker", [...deep("cancel", "bb"), ended("cancelled")], false, "Taker payment is refunded, swap is not recoverable"],
  [
    "no maker payment came",
    "taker",
    [gaveUp("MakerPaymentValidateFailed"), ended("failed")],
    false,
    "No info about maker payment, swap is not recoverable",
  ],
  [
    "given up before it paid",
    "taker",
    [received, gaveUp("TakerPaymentTransactionFailed"), ended("failed")],
    true,
    "Taker payment is not found, swap is not recoverable",
  ],
  [
    "both payments gone",
    "taker",
    [...deep("takerPaymentSpend", "dd"), ...deep("makerPaymentRefund", "ee"), ended("lost")],
    true,
    "Maker payment was already refunded by DOC tx ee",
  ],
];

test.each(CASES)("%s, %s: what the status and the recovery say", (_end, role, events, recoverable, text) => {
  const all: readonly SwapEvent[] = [{ type: "started", terms: swapTerms(role) }, negotiated, ...events];
  expect(whyNotRecoverable(fold(all))).toBe(text);
  const status = swapStatus(all.map((event, i) => ({ v: 1 as const, atMs: i, event })));
  expect(status).toMatchObject({ is_finished: true, recoverable });
});

test("an end that a reorganisation took back is nothing to recover by hand", () => {
  const taken: readonly SwapEvent[] = [
    { type: "started", terms: swapTerms("maker") },
    negotiated,
    ...deep("makerPaymentRefund", "bb"),
    ended("refunded"),
    { type: "tx_withdrawn", slot: "makerPaymentRefund", txid: "bb" },
  ];
  expect(whyNotRecoverable(fold(taken))).toBe("A reorganisation took back what ended this swap; the node is putting it back by itself");
});

/** Events of a swap that ended in KDF, newest last, and why nothing is recovered of it here. */
const KEPT: readonly (readonly [type: KeptSwap["type"], events: readonly string[], reason: RegExp])[] = [
  ["Maker", ["MakerPaymentSent", "MakerPaymentRefunded"], /^Maker payment is refunded/],
  ["Maker", ["MakerPaymentSent", "TakerPaymentSpendConfirmed"], /^Taker payment spend transaction has been sent and confirmed$/],
  ["Maker", ["MakerPaymentSent", "MakerPaymentRefundFailed"], /recover it with the KDF that ran it$/],
  ["Maker", ["TakerFeeValidateFailed"], /^Maker payment transaction was not found$/],
  ["Taker", ["MakerPaymentReceived", "TakerPaymentSent", "TakerPaymentRefunded"], /^Taker payment is refunded/],
  ["Taker", ["MakerPaymentReceived", "TakerPaymentSent", "TakerPaymentRefundedByWatcher"], /^Taker payment is refunded/],
  ["Taker", ["MakerPaymentReceived", "TakerPaymentSent", "MakerPaymentSpendConfirmed"], /^Maker payment is spent and confirmed/],
  ["Taker", ["TakerFeeSent", "MakerPaymentValidateFailed"], /^No info about maker payment/],
  ["Taker", ["MakerPaymentReceived", "TakerPaymentTransactionFailed"], /^Taker payment is not found/],
  ["Taker", ["MakerPaymentReceived", "TakerPaymentSent", "TakerPaymentRefundFailed"], /recover it with the KDF that ran it$/],
];

test.each(KEPT)("a swap that ended in KDF, %s with %s, says why it is not recovered here", (type, names, reason) => {
  const events = ["Started", ...names, "Finished"].map((name) => ({ timestamp: 1, event: { type: name } }));
  expect(whyKeptNotRecoverable({ type, uuid: "00000000-0000-4000-8000-000000000001", events })).toMatch(reason);
});
