import { expect, test } from "vitest";
import { swapTerms, TERMS_KEY } from "../../../test/fakes/swapTerms.ts";
import { textToRational } from "./amountText.ts";
import { duties } from "./duties.ts";
import type { SwapEvent } from "./events.ts";
import { begin, fold, outcomeOf, step } from "./swapState.ts";
import { swapStatus } from "./swapStatus.ts";

const started: SwapEvent = { type: "started", terms: swapTerms("taker") };
const negotiated: SwapEvent = {
  type: "negotiated",
  with: {
    theirStartedAt: 1_700_000_001,
    theirLocktime: 1_700_015_601,
    makerCoinPub: TERMS_KEY,
    takerCoinPub: TERMS_KEY,
    secretHash: "22".repeat(20),
  },
};
const seen = (slot: "takerPaymentSpend" | "makerPayment" | "takerPayment", txid: string): SwapEvent => ({
  type: "tx_seen",
  slot,
  txid,
  raw: `${txid}00`,
  block: { height: 5, hash: "h" },
});
type Shown = readonly { readonly event: { readonly type: string; readonly data?: Record<string, unknown> } }[];
const shown = (events: readonly SwapEvent[]): Shown =>
  swapStatus([started, ...events].map((event, i) => ({ v: 1 as const, atMs: i, event }))).events as Shown;

test("a log that does not begin with its start is no log", () => {
  expect(() => begin(negotiated)).toThrow("a swap log starts with started, not negotiated");
  expect(() => fold([])).toThrow("empty swap log");
  expect(() => swapStatus([])).toThrow("empty swap log");
});

test("a start that comes again in a log changes nothing: the terms of a swap are those of its beginning", () => {
  const s = fold([started, negotiated]);
  expect(step(s, { type: "started", terms: swapTerms("maker") })).toBe(s);
  expect(step(s, { type: "start_failed", terms: swapTerms("maker"), reason: "x" })).toBe(s);
});

test("a swap that could not start is failed, asks for nothing whatever its log goes on with, and says why", () => {
  const failed: SwapEvent = { type: "start_failed", terms: swapTerms("maker"), reason: "no funds" };
  const s = fold([failed, negotiated, seen("takerPayment", "aa")]);
  expect([outcomeOf(s), duties(s)]).toEqual(["failed", []]);
  const status = swapStatus([{ v: 1, atMs: 0, event: failed }]);
  expect(status.events).toMatchObject([{ event: { type: "StartFailed", data: { error: "no funds" } } }]);
  expect(status.my_info).toBeNull();
});

test.each(["1", "1/", "/2", "1.5/2", "0x1/2", "1/-2", ""])(
  "the stored amount %j is refused by name, not taken for another number",
  (text) => {
    expect(() => textToRational(text)).toThrow(`not a stored amount: ${text}`);
  },
);

test("the taker is shown the claim of its payment that the chain has now, with the secret, also after that claim was replaced", () => {
  const learned: SwapEvent = { type: "secret_learned", secret: "33".repeat(32) };
  const before = shown([negotiated, seen("takerPaymentSpend", "aa"), learned]);
  const after = shown([
    negotiated,
    seen("takerPaymentSpend", "aa"),
    learned,
    { type: "tx_withdrawn", slot: "takerPaymentSpend", txid: "aa" },
    seen("takerPaymentSpend", "bb"),
  ]);
  const spent = (list: Shown) => list.find((e) => e.event.type === "TakerPaymentSpent")?.event.data;
  expect(spent(before)).toEqual({ transaction: { tx_hex: "aa00", tx_hash: "aa" }, secret: "33".repeat(32) });
  expect(spent(after)).toEqual({ transaction: { tx_hex: "bb00", tx_hash: "bb" }, secret: "33".repeat(32) });
});

test("an event without a transaction keeps its own data, though the chain has one for its slot by then", () => {
  const failure = { event: "TakerPaymentTransactionFailed", reason: "it was not sent before its time limit" };
  const events = shown([
    negotiated,
    { type: "tx_signed", slot: "takerPayment", txid: "aa", raw: "aa00", notAfter: 1 },
    { type: "tx_dropped", slot: "takerPayment", failure },
    seen("takerPayment", "bb"),
  ]);
  expect(events.find((e) => e.event.type === failure.event)?.event.data).toEqual({ error: failure.reason });
});

test("a payment that came by message and is found on the chain afterwards is shown as received once", () => {
  const events = shown([negotiated, { type: "tx_received", slot: "makerPayment", txid: "aa", raw: "aa00" }, seen("makerPayment", "aa")]);
  expect(events.filter((e) => e.event.type === "MakerPaymentReceived")).toHaveLength(1);
});
