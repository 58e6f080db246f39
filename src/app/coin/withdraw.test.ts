import { expect, test } from "vitest";
import { PromptClock } from "../../../test/fakes/promptClock.ts";
import type { Tx } from "../../core/utxo/tx.ts";
import { txid } from "../../core/utxo/txCodec.ts";
import { holdSentBefore, type SentBefore } from "./withdraw.ts";

const INPUTS = 5;

/** Own transactions of before a start that wait in a mempool, by the number that is all of their bytes, and a coin that looks at them. */
function start(numbers: readonly number[]) {
  const tx = (n: number): Tx => {
    const input = (vout: number) => ({ txid: String(n).repeat(64), vout, scriptSig: new Uint8Array(0), sequence: 0, witness: [] });
    return { version: 1, inputs: Array.from({ length: INPUTS }, (_, vout) => input(vout)), outputs: [], lockTime: 0 };
  };
  const tasks: (() => void)[] = [];
  let lookAgain = (): void => undefined;
  const state = { verified: 0, taken: new Set<string>(), forged: new Set<number>(), locked: [] as string[] };
  const own = {
    touchedSince: () => numbers.map((n) => ({ raw: Uint8Array.of(n), block: null })),
    lockedBy: (input: { readonly txid: string }) => (state.taken.has(input.txid) ? "another" : undefined),
    isSignedAt: (_: Tx, index: number) => ++state.verified > 0 && !state.forged.has(index),
  };
  const coin = {
    ledger: { own, lock: (locked: Tx) => state.locked.push(txid(locked)), dropChange: () => undefined },
    chain: { status: () => ({ tip: null }) },
    read: ([n = 0]: Uint8Array) => tx(n),
    after(ms: number, task: () => void): void {
      if (ms === 0) tasks.push(task);
      else lookAgain = task;
    },
  };
  holdSentBefore(coin as unknown as SentBefore);
  lookAgain();
  /** One turn of the event loop. */
  const turn = async (): Promise<void> => {
    for (const task of tasks.splice(0)) task();
    await new Promise<void>((resolve) => new PromptClock().after(0, resolve));
  };
  return { state, turn, tx };
}

test("what waits in a mempool at a start is held once its signatures are verified, one in a turn", async () => {
  const { state, turn, tx } = start([1, 2]);
  const verified = [state.verified];
  for (let i = 0; i < 2 * INPUTS; i++) {
    await turn();
    verified.push(state.verified);
  }
  expect(verified).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10]);
  expect(state.locked).toEqual([txid(tx(1)), txid(tx(2))]);
});

test("what a swap has taken meanwhile is not held as well, and nothing with an input that is not signed here", async () => {
  const { state, turn, tx } = start([1, 2, 3]);
  state.taken.add("1".repeat(64));
  for (let i = 0; i < INPUTS; i++) await turn();
  state.forged.add(INPUTS - 1);
  for (let i = 0; i < INPUTS; i++) await turn();
  state.forged.clear();
  for (let i = 0; i < INPUTS; i++) await turn();
  expect(state.locked).toEqual([txid(tx(3))]);
});
