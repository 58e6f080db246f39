import { expect, test } from "vitest";
import type { ChainIndex } from "../../chainIndex/chainIndex.ts";
import type { Tx } from "../../core/utxo/tx.ts";
import { SEQUENCE_FINAL, SEQUENCE_LOCKTIME } from "../../core/utxo/txTemplate.ts";
import { RefusedBroadcasts } from "./refusedBroadcasts.ts";

const LOCK = 1_700_000_000;

/** How often a transaction is offered in an hour that everybody refuses, and what comes of the chain's time passing its lock. */
function offers(sequence: number): { readonly inAnHour: number; readonly isOfferedInTime: boolean } {
  let [nowMs, medianTimePastSec] = [0, LOCK - 1];
  const index = { txEntry: () => undefined, tip: () => ({ medianTimePastSec }) } as unknown as ChainIndex;
  const refused = new RefusedBroadcasts(index, { nowMs: () => nowMs, after: () => () => undefined });
  const input = { txid: "ab".repeat(32), vout: 0, scriptSig: new Uint8Array(0), sequence, witness: [] };
  const tx: Tx = { version: 1, inputs: [input], outputs: [], lockTime: LOCK };
  let inAnHour = 0;
  for (; nowMs < 3_600_000; nowMs += 1_000) {
    const lately = refused.lately("t", tx);
    if (lately.size > 0) continue;
    inAnHour++;
    refused.heard("t", tx, new Map([["a", { kind: "rpc", code: 1, message: "no" }]]), lately);
  }
  medianTimePastSec = LOCK + 1;
  return { inAnHour, isOfferedInTime: refused.lately("t", tx).size === 0 };
}

test("what a lock time keeps out of blocks is offered a dozen times in an hour at most, and at once when its time has come", () => {
  const { inAnHour, isOfferedInTime } = offers(SEQUENCE_LOCKTIME);
  expect(inAnHour).toBeLessThanOrEqual(12);
  expect(isOfferedInTime).toBe(true);
});

test("a lock time that binds nothing, as that of a claim, makes it no rarer", () => {
  expect(offers(SEQUENCE_FINAL).inAnHour).toBeGreaterThan(30);
});
