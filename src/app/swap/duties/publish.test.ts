import { expect, test } from "vitest";
import { swapTerms, TERMS_KEY } from "../../../../test/fakes/swapTerms.ts";
import { VirtualClock } from "../../../adapters/virtualClock/virtualClock.ts";
import type { Slot, SwapEvent } from "../../../core/swap/events.ts";
import { fold } from "../../../core/swap/swapState.ts";
import { fromHex } from "../../../core/util/bytes.ts";
import type { SwapTask } from "../swapTask.ts";
import { publish } from "./publish.ts";

test("of a claim that was signed before a restart and leaves after it, gas is held to make it dearer", async () => {
  const slot = "makerPaymentSpend";
  const events: SwapEvent[] = [
    { type: "started", terms: swapTerms("taker", { makerCoin: "ACCOUNT" }) },
    { type: "tx_signed", slot, txid: "c1", raw: "c1", notAfter: null },
  ];
  const done: string[] = [];
  const coin = {
    relayPolicy: "nonce",
    chain: { status: () => ({ tip: null }), tx: () => undefined },
    reserveClaimAgain: (ttlMs: number) => ({ ok: true, value: { id: `gas for ${ttlMs > 0}` } }),
    adopt: ({ id }: { readonly id: string }) => void done.push(`adopted ${id}`),
  };
  const task: Partial<SwapTask> = {
    get state() {
      return fold(events);
    },
    coin: () => coin as unknown as ReturnType<SwapTask["coin"]>,
    times: () => ({ makerLock: 1_000 }) as ReturnType<SwapTask["times"]>,
    nowSec: () => 0,
    emitIf: async (_when, event) => {
      done.push(event.type);
      return false;
    },
    claimReservation: null,
  };
  await publish(task as SwapTask, slot, new AbortController().signal);
  expect(done).toEqual(["adopted gas for true", "tx_attempted"]);
});

/** An unsent fee, signed long ago, while the other coin's daemon is behind; `holdsUp`: no pool and no block has its nonce. @returns what is stored */
async function feeInOutage(holdsUp: boolean): Promise<readonly string[]> {
  const slot = "fee";
  const terms = swapTerms("taker", { takerCoin: "ACCOUNT", takerContracts: { own: "44".repeat(20), fallback: null } });
  const events: SwapEvent[] = [
    { type: "started", terms },
    { type: "tx_signed", slot, txid: "f1", raw: "f1", notAfter: 1_000 },
  ];
  const done: string[] = [];
  const coin = {
    relayPolicy: "nonce",
    chain: { status: () => ({ state: "ready", tip: null }), tx: () => undefined },
    reach: async () => null,
    htlcPubkey: fromHex(terms.myTakerCoinPub),
    holdsUp: () => holdsUp,
    releaseInputs: () => void done.push("freed"),
  };
  const behind = {
    ticker: "BEHIND",
    htlcPubkey: fromHex(terms.myMakerCoinPub),
    chain: { status: () => ({ state: "syncing", tip: null }) },
  };
  const task: Partial<SwapTask> = {
    get state() {
      return fold(events);
    },
    coin: () => coin as unknown as ReturnType<SwapTask["coin"]>,
    deps: { makerCoin: behind, takerCoin: coin } as unknown as SwapTask["deps"],
    times: () => ({ firstSendBy: 1_000 }) as ReturnType<SwapTask["times"]>,
    nowSec: () => 100,
    lastTimeOf: () => 0,
    trouble: () => undefined,
    seen: () => ({}) as ReturnType<SwapTask["seen"]>,
    news: async () => void done.push("waits"),
    emitIf: async (_when, event) => {
      done.push(event.type);
      events.push(event);
      return true;
    },
  };
  await publish(task as SwapTask, slot, new AbortController().signal);
  return done;
}

test("an unsent fee that holds up its account gives its nonce back while the other coin's daemon is behind", async () => {
  expect(await feeInOutage(true)).toEqual(["tx_dropped", "freed", "waits"]);
});

test("a fee whose nonce is used stays in a log that lacks that it left, while the other coin's daemon is behind: a second one would be paid", async () => {
  expect(await feeInOutage(false)).toEqual(["waits"]);
});

const NEGOTIATED = { theirStartedAt: 1, theirLocktime: 0, makerCoinPub: TERMS_KEY, takerCoinPub: TERMS_KEY, secretHash: "22".repeat(20) };

/**
 * A child of a refund that left, while a block has the own claim, too. @returns what became of it: "waits", or "is sent"
 * @param more of the swap
 */
async function refundChild(...more: readonly SwapEvent[]): Promise<unknown> {
  const sent = (slot: Slot, txid: string): readonly SwapEvent[] => [
    { type: "tx_signed", slot, txid, raw: txid, notAfter: null },
    { type: "tx_attempted", slot },
  ];
  const events: readonly SwapEvent[] = [
    { type: "started", terms: swapTerms("maker") },
    { type: "negotiated", with: NEGOTIATED },
    ...sent("takerPaymentSpend", "c1"),
    ...sent("makerPaymentRefund", "d1"),
    ...sent("refundChild", "e1"),
    ...more,
  ];
  const coin = {
    relayPolicy: "child",
    parentsOf: () => [],
    contractScript: () => new Uint8Array(23),
    chain: {
      status: () => ({ state: "ready", tip: null }),
      outputs: () => [],
      watchTx: async () => undefined,
      broadcast: () => Promise.reject(new Error("is sent")),
      tx: (txid: string) => (txid === "c1" ? { txid, block: { height: 1, hash: "h" } } : undefined),
    },
  };
  const task = {
    state: fold(events),
    coin: () => coin,
    covered: new Set(["maker", "taker"]),
    doubted: { has: () => false },
    nowSec: () => 0,
    ranSec: () => 0,
    trouble: () => undefined,
    deps: { clock: new VirtualClock() },
    seen: () => ({}),
    news: () => Promise.reject(new Error("waits")),
  } as unknown as SwapTask;
  return publish(task, "refundChild", new AbortController().signal).catch((e: Error) => e.message);
}

test("a child of a refund that stays home because a block has the own claim is not sent either: the refund would go along", async () => {
  expect(await refundChild()).toBe("waits");
});

test("once a block has the refund, too, its child that left goes on being sent: what it spends is free only when it is over", async () => {
  const block = { height: 1, hash: "h" };
  const [slot, txid] = ["makerPaymentRefund", "d1"] as const;
  expect(await refundChild({ type: "tx_seen", slot, txid, raw: txid, block }, { type: "tx_confirmed", slot, txid, block })).toBe("is sent");
});
