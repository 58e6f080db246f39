import { expect, test } from "vitest";
import type { Guard } from "../../../ports/chain.ts";
import type { SwapTask } from "../swapTask.ts";
import { GuardedContracts } from "./guardedContracts.ts";

const KEY = `02${"ab".repeat(32)}`;

/** A taker that has paid; a transaction carries the secret where its first byte is 1. */
function begin(): { readonly guarded: GuardedContracts; readonly guards: Guard[]; readonly woken: () => number } {
  const guards: Guard[] = [];
  let woken = 0;
  const chain = {
    guard: (_script: Uint8Array, guard: Guard) => {
      guards.push(guard);
      return () => undefined;
    },
  };
  const coin = {
    chain,
    contractScript: () => new Uint8Array(23),
    findSecret: ({ raw }: { readonly raw: Uint8Array }) => (raw[0] === 1 ? new Uint8Array(32) : null),
  };
  const state = {
    terms: {
      role: "taker",
      startedAt: 1_000,
      lockDurationSec: 600,
      myMakerCoinPub: KEY,
      myTakerCoinPub: KEY,
      makerUnits: "1",
      takerUnits: "1",
    },
    negotiated: { secretHash: "ab".repeat(20), theirStartedAt: 1_000, makerCoinPub: KEY, takerCoinPub: KEY },
    finished: null,
    secret: null,
    own: { fee: { attempted: true }, takerPayment: { attempted: true } },
    facts: {},
  };
  const task = { state, coin: () => coin, wake: () => void woken++ } as unknown as SwapTask;
  return { guarded: new GuardedContracts(task), guards, woken: () => woken };
}

test("what shows no secret neither waits nor wakes the swap, however much of it there is; what does stays until it is learned", () => {
  const { guarded, guards, woken } = begin();
  guarded.update();
  const [guard] = guards;
  for (let i = 0; i < 1_000; i++) guard?.onTx({ txid: `${i}`, raw: Uint8Array.of(0) });
  expect(woken()).toBe(0);
  expect(guarded.shown()).toEqual([]);
  guard?.onTx({ txid: "claim", raw: Uint8Array.of(1) });
  guard?.onTx({ txid: "another", raw: Uint8Array.of(1, 2) });
  expect(woken()).toBe(1);
  for (let look = 0; look < 2; look++) expect(guarded.shown().map(({ txid }) => txid)).toEqual(["claim"]);
});
