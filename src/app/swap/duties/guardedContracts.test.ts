import { expect, test } from "vitest";
import type { Outcome } from "../../../core/swap/events.ts";
import type { Guard } from "../../../ports/chain.ts";
import type { SwapTask } from "../swapTask.ts";
import { GuardedContracts } from "./guardedContracts.ts";

const KEY = `02${"ab".repeat(32)}`;

/** A taker that has paid; a transaction carries the secret where its first byte is 1. */
function begin(
  finished: Outcome | null = null,
  own: object = {},
  isClaimMined = false,
  facts: object = {},
  nowSec = 2_000,
  isDenied = false,
): {
  readonly guarded: GuardedContracts;
  readonly guards: Guard[];
  readonly woken: () => number;
  readonly calmed: () => number;
} {
  const guards: Guard[] = [];
  let [woken, calmed] = [0, 0];
  const chain = {
    status: () => ({ state: "ready", tip: null }),
    outputs: () => [],
    guard: (_script: Uint8Array, guard: Guard) => {
      guards.push(guard);
      return () => undefined;
    },
    calm: () => void calmed++,
    doubt: async () => null,
    tx: (txid: string) => (isClaimMined && txid === "claim" ? { txid, block: { height: 1, hash: "h" } } : undefined),
  };
  const coin = {
    chain,
    contractScript: () => new Uint8Array(23),
    sameInputs: (raw: Uint8Array) => (raw[0] ?? 0) > 1,
    isSigned: (raw: Uint8Array) => raw[0] === 3,
    spends: () => true,
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
    finished,
    secret: null,
    own: { fee: { attempted: true }, takerPayment: { attempted: true, raw: "" }, ...own },
    isOursGone: finished === "failed",
    startFailed: null,
    facts,
    forms: { takerPayment: [{ txid: "kept", raw: "03" }] },
  };
  const words = { doubted: { has: () => false }, undisputed: { isSure: () => !isDenied } };
  const times = { nowSec: () => nowSec, ranSec: () => 0, times: () => ({ makerLock: 2_200 }) };
  const seen = { covered: new Set(["maker", "taker"]), ...words, ...times };
  const task = { ...seen, state, coin: () => coin, wake: () => void woken++ } as unknown as SwapTask;
  return { guarded: new GuardedContracts(task), guards, woken: () => woken, calmed: () => calmed };
}

test("what shows no secret neither waits nor wakes the swap, however much of it there is; what does stays until it is learned", () => {
  const { guarded, guards, woken } = begin();
  guarded.update();
  const [guard] = guards;
  for (let i = 0; i < 1_000; i++) guard?.onTx({ txid: `${i}`, raw: Uint8Array.of(0) }, "a");
  expect(woken()).toBe(0);
  expect(guarded.shown()).toEqual([]);
  guard?.onTx({ txid: "claim", raw: Uint8Array.of(1) }, "a");
  guard?.onTx({ txid: "another", raw: Uint8Array.of(1, 2) }, "a");
  expect(woken()).toBe(1);
  for (let look = 0; look < 2; look++) expect(guarded.shown().map(({ txid }) => txid)).toEqual(["claim"]);
});

test("another form of the own payment is kept that has the own signature, two of each server, and wakes the swap", () => {
  const { guarded, guards, woken } = begin();
  guarded.update();
  const [, own] = guards;
  const say = (txid: string, first: number, teller: string): void => own?.onTx({ txid, raw: Uint8Array.of(first) }, teller);
  say("unsigned", 2, "a");
  say("kept", 3, "a");
  expect(woken()).toBe(0);
  for (const n of [1, 2, 3]) say(`a${n}`, 3, "a");
  say("b1", 3, "b");
  guards[0]?.onTx({ txid: "theirs", raw: Uint8Array.of(3) }, "b");
  expect(woken()).toBe(3);
  expect(guarded.newForms().map(({ txid }) => txid)).toEqual(["a1", "a2", "b1"]);
  expect(guarded.newForms()).toEqual([]);
});

test.each([
  [null, 0],
  ["lost", 0],
  ["success", 2],
  ["refunded", 2],
] as const)("of a swap that is %s, %i contracts are asked about less, said once", (finished, count) => {
  const { guarded, calmed } = begin(finished);
  for (let look = 0; look < 3; look++) guarded.update();
  expect(calmed()).toBe(count);
});

test("servers that are visited get no refund while a block has the own claim", () => {
  const sent = (txid: string) => ({ txid, raw: "04", attempted: true });
  const given = (isClaimMined: boolean): readonly string[] => {
    const { guarded, guards } = begin(null, { makerPaymentSpend: sent("claim"), takerPaymentRefund: sent("refund") }, isClaimMined);
    guarded.update();
    const [, own] = guards;
    return own?.spends?.().flatMap((form) => form.map(({ txid }) => txid)) ?? [];
  };
  expect([given(false), given(true)]).toEqual([["refund"], []]);
});

test("a swap that has ended asks no servers for its contracts, but where a reorganisation undid its end", () => {
  const claim = { txid: "claim", raw: "04", attempted: true };
  const given = (facts: object): readonly string[] => {
    const { guarded, guards } = begin("success", { makerPaymentSpend: claim }, false, facts);
    guarded.update();
    return guards.flatMap((guard) => guard.spends?.().flat() ?? []).map(({ txid }) => txid);
  };
  expect([given({ makerPaymentSpend: { ...claim, block: {}, confirmed: true } }), given({})]).toEqual([[], ["claim"]]);
});

test("an own payment that is gone as most tell is guarded for a day past the later lock: others may have it, and get its refund", () => {
  const refund = { txid: "refund", raw: "04", attempted: true };
  const given = (nowSec: number): readonly string[] => {
    const { guarded, guards } = begin("failed", { takerPaymentRefund: refund }, false, {}, nowSec);
    guarded.update();
    return guards.flatMap((guard) => guard.spends?.().flat() ?? []).map(({ txid }) => txid);
  };
  const lock = 1_000 + 2 * 600;
  expect([given(lock + 3_601), given(lock + 86_400), given(lock + 86_401)]).toEqual([["refund"], ["refund"], []]);
});

test.each([
  ["success", "makerPaymentSpend", 2_200],
  ["refunded", "takerPaymentRefund", 1_600],
  ["cancelled", "cancel", 1_600],
] as const)(
  "an end as %s that one server denies is guarded until a day past the later lock, and waits for what goes on from that lock on",
  (end, slot, lock) => {
    const tx = { txid: "own", raw: "04", attempted: true };
    const facts = { [slot]: { ...tx, block: { height: 7, hash: "h" }, confirmed: true } };
    const given = (nowSec: number, isDenied = true): readonly unknown[] => {
      const { guarded, guards } = begin(end, { [slot]: tx }, false, facts, nowSec, isDenied);
      guarded.update();
      const shown = guards.flatMap(
        (guard) => (end === "cancelled" ? guard.payments?.() : guard.spends?.().flat())?.map((own) => ({ own, guard })) ?? [],
      );
      return shown.map(({ own, guard }) => [own.txid, guard.dueSec]);
    };
    expect([given(2_200), given(2_201), given(88_600), given(88_601)]).toEqual([[["own", lock]], [["own", 88_600]], [["own", 88_600]], []]);
    expect(given(2_200, false)).toEqual([]);
  },
);
