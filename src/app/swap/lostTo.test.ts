import { expect, test } from "vitest";
import { testKey } from "../../../test/fakes/chainWorld.ts";
import { swapTerms } from "../../../test/fakes/swapTerms.ts";
import type { Role, SwapEvent, SwapTerms } from "../../core/swap/events.ts";
import { fold, type SwapState } from "../../core/swap/swapState.ts";
import { toHex } from "../../core/util/bytes.ts";
import { lostTo, ownTxIn } from "./lostTo.ts";

const KEY = toHex(testKey("somebody").publicKey);
const BLOCK = { height: 10, hash: "bb".repeat(32) };
const terms = (role: Role): SwapTerms =>
  swapTerms(role, {
    makerCoin: "AAA",
    takerCoin: "BBB",
    counterparty: KEY,
    myPersistentPub: KEY,
    myMakerCoinPub: KEY,
    myTakerCoinPub: KEY,
    secretHash: null,
  });

/** Transactions of these tests: two hex digits name one, and are its bytes too. */
const id = (name: string): string => name.repeat(32);
const swap = (role: Role, ...events: readonly SwapEvent[]): SwapState => fold([{ type: "started", terms: terms(role) }, ...events]);
const signed = (slot: Extract<SwapEvent, { type: "tx_signed" }>["slot"], name: string): SwapEvent => ({
  type: "tx_signed",
  slot,
  txid: id(name),
  raw: name,
  notAfter: null,
});
const raised = (slot: Extract<SwapEvent, { type: "tx_replaced" }>["slot"], name: string): SwapEvent => ({
  type: "tx_replaced",
  slot,
  txid: id(name),
  raw: name,
  fee: "9",
});
const seen = (slot: Extract<SwapEvent, { type: "tx_seen" }>["slot"], name: string): SwapEvent => ({
  type: "tx_seen",
  slot,
  txid: id(name),
  raw: name,
  block: BLOCK,
});

/** @param parents what each transaction is built on; `blocks`: those in one; `pool`: those the backend has in none */
function lost(
  states: readonly SwapState[],
  parents: { readonly [name: string]: readonly string[] },
  blocks: readonly string[],
  pool: readonly string[] = [],
): string | null {
  const tx = (txid: string) => {
    const name = txid.slice(0, 2);
    if (!blocks.includes(name) && !pool.includes(name)) return undefined;
    return { txid, raw: new Uint8Array(), seenAtMs: 0, block: blocks.includes(name) ? BLOCK : null };
  };
  const coin = { chain: { tx }, conflictOf: () => null, parentsOf: (raw: Uint8Array) => (parents[toHex(raw)] ?? []).map(id) };
  const ownTx = (txid: string) => states.map((s) => ownTxIn(s, txid)).find((tx) => tx !== null) ?? null;
  return lostTo(coin, Uint8Array.of(0xaa), ownTx)?.slice(0, 2) ?? null;
}

const CLAIMED = swap("maker", signed("takerPaymentSpend", "c1"), raised("takerPaymentSpend", "c2"));

test("a payment on the output of a claim is lost when another version of the claim is in a block, either way round, and not before", () => {
  const onFirst = { aa: ["c1"] };
  expect(lost([CLAIMED], onFirst, ["c2"])).toBe("c2");
  expect(lost([CLAIMED], { aa: ["c2"] }, ["c1"])).toBe("c1");
  expect(lost([CLAIMED], onFirst, [], ["c2"])).toBeNull();
  expect(lost([CLAIMED], onFirst, ["c1", "c2"])).toBeNull();
  expect(lost([CLAIMED], onFirst, [], ["c1"])).toBeNull();
});

test("it is lost when the other side's spend of the same payment is in a block", () => {
  const refunded = swap("maker", signed("takerPaymentSpend", "c1"), seen("takerPaymentRefund", "d1"));
  expect(lost([refunded], { aa: ["c1"] }, ["d1"])).toBe("d1");
  expect(lost([refunded], { aa: ["c1"] }, [])).toBeNull();
  const claimed = swap("taker", signed("takerPaymentRefund", "e1"), seen("takerPaymentSpend", "e2"));
  expect(lost([claimed], { aa: ["e1"] }, ["e2"])).toBe("e2");
});

test("it is lost with a payment or fee it is built on, by whatever that one was lost to", () => {
  const cancelled = swap("taker", signed("takerPayment", "b1"), seen("cancel", "b2"));
  expect(lost([cancelled], { aa: ["b1"] }, ["b2"])).toBe("b2");
  const fee = swap("taker", signed("fee", "f1"));
  expect(lost([CLAIMED, fee], { aa: ["f1"], f1: ["c1"] }, ["c2"])).toBe("c2");
  const malleated = swap("taker", signed("takerPayment", "b1"), seen("takerPayment", "b3"));
  expect(lost([malleated], { aa: ["b1"] }, ["b3"])).toBe("b3");
});

test("children that hang on each other are no rivals: one in a block is what the next one is built on", () => {
  const child = (...more: readonly SwapEvent[]): SwapState =>
    swap("maker", signed("makerPayment", "b1"), signed("paymentChild", "c1"), ...more);
  const chained = child(raised("paymentChild", "c2"), raised("paymentChild", "c3"), seen("paymentChild", "c1"));
  const hangs = { aa: ["c3"], c3: ["c2"], c2: ["c1"], c1: ["b1"] };
  expect(lost([chained], hangs, ["b1", "c1"])).toBeNull();
  expect(lost([chained], hangs, ["b1", "c1", "c2"])).toBeNull();
});

test("what no swap of this node has made says nothing, and a ring of nonsense ends", () => {
  expect(lost([], { aa: ["c1"] }, ["c2"])).toBeNull();
  expect(lost([swap("taker", signed("fee", "f1"), signed("takerPayment", "b1"))], { aa: ["f1"], f1: ["b1"], b1: ["f1"] }, [])).toBeNull();
});
