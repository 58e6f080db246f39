import { beforeEach, expect, test } from "vitest";
import { SilentLog } from "../../../test/fakes/silentLog.ts";
import { swapTerms } from "../../../test/fakes/swapTerms.ts";
import { VirtualClock } from "../../adapters/virtualClock/virtualClock.ts";
import type { StoredEvent, SwapEvent } from "../../core/swap/events.ts";
import { fold } from "../../core/swap/swapState.ts";
import { toHex } from "../../core/util/bytes.ts";
import type { SwapCoin } from "./swapCoin.ts";
import { UnreadRecords } from "./unreadRecords.ts";
import { WaitingSwaps } from "./waitingSwaps.ts";

const START = 1_700_000_000;
const KEY = `02${"11".repeat(32)}`;
const terms = swapTerms("maker", { makerCoin: "UTXO", takerCoin: "ACCOUNT", takerContracts: { own: "44".repeat(20), fallback: null } });
const EVENTS: readonly SwapEvent[] = [
  { type: "started", terms },
  {
    type: "negotiated",
    with: { theirStartedAt: START, theirLocktime: START + 7_800, makerCoinPub: KEY, takerCoinPub: KEY, secretHash: "22".repeat(20) },
  },
  { type: "tx_signed", slot: "takerPaymentSpend", txid: "c1", raw: "c1", notAfter: START + 600, fee: "1" },
];
const SENT: readonly SwapEvent[] = [...EVENTS, { type: "tx_attempted", slot: "takerPaymentSpend" }];

let clock: VirtualClock;
let active: Map<string, SwapCoin>;
let stored: StoredEvent[];
/** What came of the account and the store, in order. */
let done: string[];
let isFull: boolean;
let taken: number;
let waiting: WaitingSwaps;
beforeEach(() => {
  clock = new VirtualClock(START * 1_000);
  stored = [];
  done = [];
  isFull = false;
  taken = 0;
  const account = {
    ticker: "ACCOUNT",
    spendsFrom: "account",
    entrust: (raw: Uint8Array) => void done.push(`entrusted ${toHex(raw)}`),
    handBack: () => undefined,
    releaseInputs: (raw: Uint8Array) => void done.push(`freed ${toHex(raw)}`),
    reserveClaimAgain: () => ({ ok: true, value: { id: "held" } }),
    adopt: () => undefined,
  } as unknown as SwapCoin;
  active = new Map([["ACCOUNT", account]]);
  const log = new SilentLog();
  const store = {
    log: async () => stored,
    append: async (_uuid: string, seq: number, event: StoredEvent) => {
      if (isFull || seq !== stored.length) throw new Error("the disk is full");
      stored = [...stored, event];
      done.push(`stored ${event.event.type}`);
    },
  };
  const takeUp = (_log: unknown, _maker: unknown, _taker: unknown, reserve: () => unknown): void => {
    reserve();
    taken++;
  };
  waiting = new WaitingSwaps({ clock, log, store, coin: (ticker) => active.get(ticker), takeUp }, new UnreadRecords(log));
});
const add = (events: readonly SwapEvent[]): void => {
  stored = events.map((event) => ({ v: 1, atMs: START * 1_000, event }));
  waiting.add(fold(events));
};

test("the account sees to what a swap has sent there from the moment its other coin is disabled", () => {
  add(SENT);
  expect(done).toEqual(["entrusted c1"]);
});

test("the claim of a swap that waits gives its nonce back only when it is stored that it never leaves", async () => {
  add(EVENTS);
  isFull = true;
  await clock.advance(100_000);
  expect(done).toEqual([]);
  isFull = false;
  await clock.advance(30_000);
  expect(done).toEqual(["stored tx_dropped", "freed c1"]);
  expect(stored.at(-1)?.event).toEqual({ type: "tx_dropped", slot: "takerPaymentSpend", failure: null });
  await clock.advance(3_600_000);
  expect(done).toHaveLength(2);
});

test("a swap whose coins are both there when its claim was dropped is taken up with the log as it is then", async () => {
  add(EVENTS);
  await clock.advance(29_999);
  active.set("UTXO", { ticker: "UTXO", spendsFrom: "outputs", adopt: () => undefined } as unknown as SwapCoin);
  await clock.advance(1);
  expect([done, taken]).toEqual([["stored tx_dropped", "freed c1"], 1]);
});

test("a swap whose log says that its claim left after all keeps the nonce", async () => {
  add(EVENTS);
  stored = SENT.map((event) => ({ v: 1, atMs: START * 1_000, event }));
  await clock.advance(100_000);
  expect([stored.length, done]).toEqual([SENT.length, ["entrusted c1"]]);
});
