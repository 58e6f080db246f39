import { expect, test } from "vitest";
import { swapTerms } from "../../../test/fakes/swapTerms.ts";
import type { StoredEvent, SwapTerms } from "../../core/swap/events.ts";
import { MAX_TX_BYTES } from "../../core/utxo/txCodec.ts";
import { eventToText, parseEventText } from "./storedEvent.ts";

const KEY = `02${"ab".repeat(32)}`;
const TERMS: SwapTerms = swapTerms("maker", {
  takerConfs: 2,
  takerNota: true,
  secretSalt: 7,
  secretHash: "cd".repeat(20),
  makerStartHeight: 100,
  takerStartHeight: 0,
  dexFeePubkey: null,
  fees: [{ coin: "AAA", amount: "1/100000", paidFromTradingVol: false }],
});
const TXID = "ef".repeat(32);
const failure = { event: "TakerFeeSendFailed", reason: 'with "quotes", a } and é' };
const EVENTS: readonly StoredEvent["event"][] = [
  { type: "started", terms: TERMS },
  {
    type: "started",
    terms: { ...TERMS, makerFeeValue: "7", takerFeeValue: "8", heldFees: [{ coin: "ETH", amount: "1/1000" }] },
  },
  { type: "start_failed", terms: TERMS, reason: "no funds" },
  {
    type: "negotiated",
    with: { theirStartedAt: 1, theirLocktime: 2, makerCoinPub: KEY, takerCoinPub: KEY, secretHash: "cd".repeat(32) },
  },
  { type: "tx_received", slot: "fee", txid: "", raw: "" },
  { type: "tx_signed", slot: "makerPayment", txid: TXID, raw: "00ff", notAfter: null },
  { type: "tx_signed", slot: "paymentChild", txid: TXID, raw: "00ff", notAfter: null, fee: "496", height: 7 },
  { type: "tx_replaced", slot: "takerPaymentSpend", txid: TXID, raw: "00ff", fee: "12345678901234567890" },
  { type: "tx_attempted", slot: "makerPayment" },
  { type: "tx_dropped", slot: "fee", failure },
  { type: "tx_dropped", slot: "takerPaymentSpend", failure: null },
  { type: "tx_seen", slot: "takerPayment", txid: TXID, raw: "01", block: { height: 5, hash: TXID } },
  { type: "tx_confirmed", slot: "cancel", txid: TXID, block: null },
  { type: "tx_withdrawn", slot: "makerPaymentRefund", txid: TXID },
  { type: "secret_learned", secret: TXID },
  { type: "refund_decided", failure: { ...failure, theirFault: true } },
  { type: "abandoned", failure: { ...failure, newCoins: true } },
  { type: "abandoned", failure },
  { type: "payment_gone" },
  { type: "own_payment_gone" },
  { type: "record_cut" },
  { type: "finished", outcome: "lost" },
];

test.each(EVENTS.map((event) => [event.type, event] as const))("%s comes back as it was written", (_type, event) => {
  const stored: StoredEvent = { v: 1, atMs: 1_700_000_000_123, event };
  const read = parseEventText(eventToText(stored));
  expect(read).toEqual({ ok: true, value: stored });
  // Order included: a start is recognised by comparing texts.
  expect(read.ok && JSON.stringify(read.value)).toBe(JSON.stringify(stored));
});

test("a row with a transaction that fills a block is read again", () => {
  const seen = { type: "tx_seen", slot: "takerPaymentSpend", txid: TXID, raw: "ab".repeat(MAX_TX_BYTES), block: null } as const;
  const text = eventToText({ v: 1, atMs: 1_700_000_000_000, event: seen });
  // Not compared as a whole: the difference would be printed.
  expect(parseEventText(text).ok).toBe(true);
  expect(parseEventText(text.replace("abab", "abxb")).ok).toBe(false);
});

test("a row without a sum, from an earlier version, is read; its shape is still looked at", () => {
  const stored: StoredEvent = { v: 1, atMs: 5, event: { type: "tx_attempted", slot: "fee" } };
  expect(parseEventText(JSON.stringify(stored))).toEqual({ ok: true, value: stored });
  expect(parseEventText(JSON.stringify({ ...stored, event: { type: "tx_attempted", slot: "free" } }))).toMatchObject({
    ok: false,
    error: { detail: expect.stringContaining("event.slot") },
  });
});

test("one changed character anywhere in a row is noticed", () => {
  const text = eventToText({ v: 1, atMs: 5, event: { type: "tx_signed", slot: "fee", txid: TXID, raw: "0011", notAfter: 9 } });
  for (let i = 0; i < text.length; i++) {
    const other = text[i] === "1" ? "2" : "1";
    expect(parseEventText(text.slice(0, i) + other + text.slice(i + 1)).ok, `character ${i}`).toBe(false);
  }
});

test("an event of a later version is refused by that name", () => {
  expect(parseEventText('{"v":2,"atMs":5,"event":{}}')).toMatchObject({ error: { detail: "it has version 2; a newer swapnode wrote it" } });
});
