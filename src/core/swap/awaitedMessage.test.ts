import { expect, test } from "vitest";
import { swapTerms } from "../../../test/fakes/swapTerms.ts";
import type { SwapMessage } from "../message/types.ts";
import { isAwaited } from "./awaitedMessage.ts";
import type { Role, SwapEvent } from "./events.ts";
import { fold } from "./swapState.ts";

const data = new Uint8Array(400_000);
const MESSAGES = {
  fee: { type: "TakerFee", tx: { data } },
  "a larger fee": { type: "TakerFee", tx: { data: new Uint8Array(400_001) } },
  "a fee with something beside it": { type: "TakerFee", tx: { data, instructions: new Uint8Array(1) } },
  makerPayment: { type: "MakerPayment", tx: { data } },
  "one with something beside it": { type: "MakerPayment", tx: { data, instructions: new Uint8Array(1) } },
  takerPayment: { type: "TakerPayment", tx: data },
  "a larger one": { type: "TakerPayment", tx: new Uint8Array(400_001) },
  consent: { type: "Negotiated", accepted: true },
} as const satisfies Readonly<Record<string, SwapMessage>>;

const FEE: SwapEvent = { type: "tx_received", slot: "fee", txid: "11".repeat(32), raw: "00" };
const PAID: SwapEvent = { type: "tx_signed", slot: "makerPayment", txid: "22".repeat(32), raw: "00", notAfter: null };
const seen = (slot: "makerPayment" | "takerPayment"): SwapEvent => ({
  type: "tx_seen",
  slot,
  txid: "33".repeat(32),
  raw: "00",
  block: null,
});
const GIVEN_UP: SwapEvent = { type: "refund_decided", failure: { event: "TakerPaymentValidateFailed", reason: "" } };
const ABANDONED: SwapEvent = { type: "abandoned", failure: { event: "MakerPaymentValidateFailed", reason: "" } };

test.each<readonly [string, Role, readonly SwapEvent[], readonly (keyof typeof MESSAGES)[]]>([
  ["waits for the fee", "maker", [], ["fee"]],
  ["has it, and has not paid", "maker", [FEE], []],
  ["has paid", "maker", [FEE, PAID], ["takerPayment"]],
  ["sees the other payment", "maker", [FEE, PAID, seen("takerPayment")], []],
  ["takes its payment back", "maker", [FEE, PAID, GIVEN_UP], []],
  ["waits for the payment", "taker", [], ["makerPayment", "consent"]],
  ["sees it", "taker", [seen("makerPayment")], ["consent"]],
  ["has given up", "taker", [ABANDONED], ["consent"]],
])("what of the other side's messages is kept by a swap that %s", (_, role, log, kept) => {
  const state = fold([{ type: "started", terms: swapTerms(role) }, ...log]);
  expect(Object.keys(MESSAGES).filter((name) => isAwaited(state, MESSAGES[name as keyof typeof MESSAGES]))).toEqual(kept);
});
