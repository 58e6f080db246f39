import { expect, test } from "vitest";
import { swapTerms } from "../../../../test/fakes/swapTerms.ts";
import type { RefundStay } from "../../../core/swap/refundStays.ts";
import type { SwapTask } from "../swapTask.ts";
import { whyRefundStays } from "./refundView.ts";

const KEY = `02${"ab".repeat(32)}`;
const BLOCK = { height: 1, hash: "h" };

type Case = {
  readonly isAttempted?: boolean;
  /** An old backup, or a record of KDF's, does not know of the claim. */
  readonly isLacking?: boolean;
  /** The chain of the claim was looked at since the start. */
  readonly isCovered?: boolean;
  readonly ranSec?: number;
  /** By the log the claim is in a block. */
  readonly wasMined?: boolean;
  /** By the chain it is. */
  readonly isMined?: boolean;
  /** What spent the own payment. */
  readonly spentBy?: { readonly txid: string; readonly block: typeof BLOCK | null };
  /** Of a payment that nobody shows. */
  readonly unfound?: "unspent" | "claimed" | "refunded";
  readonly relayPolicy?: string;
};

/** Why the signed refund of a taker that has claimed stays home. */
function given({ isAttempted = true, isCovered = true, ranSec = 0, relayPolicy = "nonce", ...is }: Case): RefundStay | null {
  const chain = {
    status: () => ({ state: "ready", tip: null }),
    tx: (txid: string) => (is.isMined && txid === "claim" ? { txid, block: BLOCK } : undefined),
    outputs: () => (is.unfound ? [] : [{ txid: "payment", vout: 0, block: BLOCK, spentBy: is.spentBy ?? null }]),
    unfound: () => is.unfound ?? null,
  };
  const coin = { chain, relayPolicy, spends: () => true, contractScript: () => new Uint8Array(23) };
  const facts = is.wasMined ? { makerPaymentSpend: { txid: "claim", raw: "01", block: BLOCK, confirmed: false } } : {};
  const signed = (txid: string, attempted: boolean) => ({ txid, raw: "01", attempted, replaced: [] });
  const own = {
    ...(is.isLacking ? {} : { makerPaymentSpend: signed("claim", isAttempted) }),
    takerPaymentRefund: signed("refund", true),
    takerPayment: signed("payment", true),
  };
  const terms = { ...swapTerms("taker"), startedAt: 0, lockDurationSec: 1_000 };
  const negotiated = { secretHash: "ab".repeat(20), theirStartedAt: 0, makerCoinPub: KEY, takerCoinPub: KEY };
  const task = {
    state: { terms, negotiated, own, facts, forms: {} },
    covered: new Set(isCovered ? ["maker"] : []),
    doubted: { has: () => false },
    coin: () => coin,
    nowSec: () => 5_000,
    ranSec: () => ranSec,
  };
  return whyRefundStays(task as unknown as SwapTask);
}

test.each<readonly [string, Case, RefundStay | null]>([
  ["the claim never left", { isAttempted: false, isCovered: false }, null],
  ["it is in no block", {}, null],
  ["it is in a block", { isMined: true }, "paid"],
  ["it was in one, and the chain has it no more", { wasMined: true }, null],
  ["nobody has looked since the start", { isCovered: false, ranSec: 59 }, "unlooked"],
  ["nobody could look for a minute", { isCovered: false, ranSec: 60 }, null],
  ["nobody could look for a day, and it was in a block", { isCovered: false, ranSec: 86_400, wasMined: true }, "paid"],
  ["it is in a block, and the log lacks that it was made", { isLacking: true, wasMined: true, isMined: true }, "paid"],
  ["the same, and a reorganisation took the block", { isLacking: true, wasMined: true }, null],
  ["its chain shows it in a block before all of that was looked at", { isCovered: false, ranSec: 60, isMined: true }, "paid"],
])("a refund stays home for the own claim: %s", (_, state, expected) => {
  expect(given(state)).toBe(expected);
});

test.each<readonly [string, Case, RefundStay | null]>([
  ["others took it", { spentBy: { txid: "theirs", block: BLOCK } }, "taken"],
  ["others took it, and nobody shows how", { unfound: "claimed" }, "taken"],
  ["it went back, and nobody shows how", { unfound: "refunded" }, "taken"],
  ["it is there, and nobody shows how it came", { unfound: "unspent" }, null],
  ["others are taking it, in no block", { spentBy: { txid: "theirs", block: null } }, null],
  ["it went back", { spentBy: { txid: "refund", block: BLOCK } }, null],
  ["others took it, and to send it costs nothing", { spentBy: { txid: "theirs", block: BLOCK }, relayPolicy: "replace" }, null],
])("a refund that is signed stays home where it could only fail, and cost its gas: of its payment, %s", (_, state, expected) => {
  expect(given(state)).toBe(expected);
});
