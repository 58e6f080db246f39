import { expect, test } from "vitest";
import { swapTerms, TERMS_KEY } from "../../../test/fakes/swapTerms.ts";
import { recordedStatuses } from "../../../test/vectors/swaps/swapVectors.ts";
import type { Role, Slot, SwapEvent, SwapTerms } from "./events.ts";
import { swapStatus } from "./swapStatus.ts";

const BLOCK = { height: 7, hash: "ab" };
const negotiated: SwapEvent & { readonly type: "negotiated" } = {
  type: "negotiated",
  with: {
    theirStartedAt: 1_700_000_001,
    theirLocktime: 1_700_007_801,
    makerCoinPub: TERMS_KEY,
    takerCoinPub: TERMS_KEY,
    secretHash: "22".repeat(20),
  },
};
const sent = (slot: Slot, txid: string): SwapEvent[] => [
  { type: "tx_signed", slot, txid, raw: "00", notAfter: null },
  { type: "tx_attempted", slot },
  { type: "tx_seen", slot, txid, raw: "00", block: BLOCK },
];
const deep = (slot: Slot, txid: string): SwapEvent => ({ type: "tx_confirmed", slot, txid, block: BLOCK });
const fee: SwapEvent = { type: "tx_received", slot: "fee", txid: "fe", raw: "fe" };

const statusOf = (role: Role, events: readonly SwapEvent[], change: Partial<SwapTerms> = {}) =>
  swapStatus(
    [{ type: "started", terms: swapTerms(role, change) } as SwapEvent, ...events].map((event, i) => ({ v: 1 as const, atMs: i, event })),
  );
const names = (status: Record<string, unknown>): string[] => (status.events as { event: { type: string } }[]).map((e) => e.event.type);

test("a refund shows KDF's steps in KDF's order, and is finished and no success", () => {
  const events: readonly SwapEvent[] = [
    negotiated,
    fee,
    ...sent("makerPayment", "aa"),
    { type: "refund_decided", failure: { event: "TakerPaymentValidateFailed", reason: "no payment" } },
    ...sent("makerPaymentRefund", "bb"),
    deep("makerPaymentRefund", "bb"),
    { type: "finished", outcome: "refunded" },
  ];
  const status = statusOf("maker", events);
  for (let n = 0; n < events.length; n++) {
    const before = statusOf("maker", events.slice(0, n));
    expect([before.is_finished, "is_success" in before], `after ${n} events`).toEqual([false, false]);
  }
  expect(names(status).slice(4)).toEqual([
    "MakerPaymentSent",
    "TakerPaymentValidateFailed",
    "MakerPaymentWaitRefundStarted",
    "MakerPaymentRefundStarted",
    "MakerPaymentRefunded",
    "MakerPaymentRefundFinished",
    "Finished",
  ]);
  expect(JSON.stringify(status.events)).toContain(`"wait_until":${1_700_000_000 + 15_600 + 3_700}`);
  expect(status).toMatchObject({ is_finished: true, is_success: false, swapnode: { outcome: "refunded", on_chain: "refunded" } });
});

test("what is seen of the other payment once the refund is decided shows as no step forward", () => {
  const late: readonly SwapEvent[] = [
    { type: "tx_received", slot: "takerPayment", txid: "cc", raw: "cc" },
    { type: "tx_seen", slot: "takerPayment", txid: "cc", raw: "cc", block: BLOCK },
    deep("takerPayment", "cc"),
  ];
  const decided: SwapEvent = { type: "refund_decided", failure: { event: "TakerPaymentValidateFailed", reason: "no payment" } };
  const shown = (events: readonly SwapEvent[]): string[] =>
    names(statusOf("maker", [negotiated, fee, ...sent("makerPayment", "aa"), ...events]));
  expect(shown([decided, ...late]).slice(-2)).toEqual(["TakerPaymentValidateFailed", "MakerPaymentWaitRefundStarted"]);
  expect(shown([...late, decided]).slice(-5)).toEqual([
    "TakerPaymentReceived",
    "TakerPaymentWaitConfirmStarted",
    "TakerPaymentValidatedAndConfirmed",
    "TakerPaymentValidateFailed",
    "MakerPaymentWaitRefundStarted",
  ]);
});

test("a swap given up shows why, once, and its end", () => {
  const failure = { event: "TakerFeeSendFailed", reason: "too late" };
  const status = statusOf("taker", [negotiated, { type: "abandoned", failure }, { type: "finished", outcome: "failed" }]);
  expect(names(status)).toEqual(["Started", "Negotiated", "TakerFeeSendFailed", "Finished"]);
  expect(status).toMatchObject({ is_finished: true, is_success: false });
});

test("no fee due shows as a fee without a transaction, as KDF shows it", () => {
  expect(JSON.stringify(statusOf("taker", [negotiated], { dexFeePubkey: null }).events)).toContain(
    '"TakerFeeSent","data":{"tx_hex":"","tx_hash":""}',
  );
});

test("success comes only from the claim: one taken back by a reorg after the end says so beside the status", () => {
  const done = [
    negotiated,
    fee,
    ...sent("makerPayment", "aa"),
    ...sent("takerPaymentSpend", "cc"),
    deep("takerPaymentSpend", "cc"),
    { type: "finished", outcome: "success" } as SwapEvent,
  ];
  expect(statusOf("maker", done)).toMatchObject({ is_success: true, swapnode: { on_chain: "success", withdrawn_after_finish: [] } });
  const back: SwapEvent = { type: "tx_withdrawn", slot: "takerPaymentSpend", txid: "cc" };
  const seen: SwapEvent = { type: "tx_seen", slot: "takerPaymentSpend", txid: "cc", raw: "00", block: { height: 8, hash: "cd" } };
  const status = statusOf("maker", [...done, back, seen, back]);
  expect(status).toMatchObject({ is_success: true, swapnode: { on_chain: null, withdrawn_after_finish: ["takerPaymentSpend"] } });
  expect(names(status)).toEqual(names(statusOf("maker", done)));
});

test("the status says for how many confirmations the value of the other payment asks; 0 where the agreed ones are enough", () => {
  const safety = { valueConfs: 13, revealMarginSec: 1_560, feeConfs: 0 };
  expect(statusOf("maker", [], { safety })).toMatchObject({ swapnode: { value_confirmations: 13 } });
  expect(statusOf("taker", [])).toMatchObject({ swapnode: { value_confirmations: 0 } });
});

test("a swap that could not start shows nothing but that", () => {
  const status = swapStatus([{ v: 1, atMs: 5, event: { type: "start_failed", terms: swapTerms("taker"), reason: "no funds" } }]);
  expect([names(status), status.my_info]).toEqual([["StartFailed"], null]);
});

test("every event a status can show is in one of the lists clients compare with", () => {
  for (const role of ["maker", "taker"] as const) {
    const lists = recordedStatuses.lists[role];
    const known = [...lists.success_events, ...lists.error_events];
    const side = role === "maker" ? "makerPayment" : "takerPayment";
    const everything = [
      negotiated,
      ...(role === "maker" ? [fee] : sent("fee", "01")),
      ...sent(side, "02"),
      ...sent("takerPaymentSpend", "03"),
      ...sent("makerPaymentSpend", "04"),
      { type: "secret_learned", secret: "33".repeat(32) } as SwapEvent,
      ...sent("cancel", "05"),
      ...(["makerPayment", "takerPayment", "takerPaymentSpend", "makerPaymentSpend", "cancel"] as const).map((slot, i) =>
        deep(slot, `0${i + 1}`),
      ),
      { type: "finished", outcome: "lost" } as SwapEvent,
    ];
    for (const name of names(statusOf(role, everything))) expect(known).toContain(name);
  }
});

test("swap contracts are told as KDF tells them: the own one at the start, the agreed one after it, and nothing for a coin without (reference rpc.md 7.2)", () => {
  const [own, fallback] = ["11".repeat(20), "22".repeat(20)];
  const agreed: SwapEvent = { type: "negotiated", with: { ...negotiated.with, takerContract: fallback } };
  const eventsOf = (events: readonly SwapEvent[], change: Partial<SwapTerms>) =>
    (statusOf("maker", events, change).events as { event: { data: object } }[]).map((e) => e.event.data);
  const [started, negotiatedData] = eventsOf([agreed], { takerContracts: { own, fallback } });
  expect(started).toMatchObject({ taker_coin_swap_contract_address: own });
  expect(started).not.toHaveProperty("maker_coin_swap_contract_address");
  expect(negotiatedData).toMatchObject({ maker_coin_swap_contract_addr: null, taker_coin_swap_contract_addr: fallback });
  expect(Object.keys(eventsOf([negotiated], {})[0] ?? {}).filter((key) => key.includes("contract"))).toEqual([]);
});
