import { expect, test } from "vitest";
import type { StoredEvent, SwapEvent } from "../../core/swap/events.ts";
import { OwnTxs } from "./ownTxs.ts";

const stored = (event: SwapEvent): StoredEvent => ({ v: 1, atMs: 0, event });
const claim = stored({ type: "tx_signed", slot: "takerPaymentSpend", txid: "c1", raw: "", notAfter: null });
const raised = stored({ type: "tx_replaced", slot: "takerPaymentSpend", txid: "c2", raw: "", fee: "9" });
const seen = stored({ type: "tx_seen", slot: "takerPayment", txid: "f1", raw: "", block: null });

test("what a swap signed is found by every id it had, until its log is let go of; what it only saw is not its own", () => {
  const txs = new OwnTxs();
  txs.add("a", [seen, claim]);
  txs.add("a", [raised]);
  txs.add("b", [stored({ type: "tx_signed", slot: "fee", txid: "f2", raw: "", notAfter: 7 })]);
  expect(["c1", "c2", "f1", "f2"].map((txid) => txs.swapOf(txid))).toEqual(["a", "a", undefined, "b"]);
  txs.forget("a", [seen, claim, raised]);
  expect(["c1", "c2", "f2"].map((txid) => txs.swapOf(txid))).toEqual([undefined, undefined, "b"]);
});
