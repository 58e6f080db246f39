import { expect, test } from "vitest";
import type { SwapEvent } from "../../core/swap/events.ts";
import type { Crowded } from "../../ports/chain.ts";
import type { SwapTask } from "./swapTask.ts";
import { takeUpPayment } from "./takeUpPayment.ts";

const KEY = `02${"ab".repeat(32)}`;
const SIGNED = 3;

type Case = { readonly raw: number; readonly isOwn?: boolean; readonly stored?: number; readonly crowded?: Crowded };

/** A taker whose chain has a payment of the right value to its contract. `raw`: its only byte; `stored`: that of what the log has. */
async function takenUp({ raw, isOwn = false, stored, crowded }: Case): Promise<readonly string[]> {
  const events: SwapEvent[] = [];
  const tx = { txid: `${raw}`, raw: Uint8Array.of(raw) };
  const chain = {
    watchScript: async () => undefined,
    outputs: () => [{ txid: tx.txid, vout: 0, value: 1n }],
    tx: () => tx,
    crowded: () => crowded ?? null,
    ...(isOwn ? {} : { guard: () => () => undefined }),
  };
  const coin = {
    chain,
    ticker: "TST",
    contractScript: () => new Uint8Array(23),
    isOurs: () => true,
    isSigned: (bytes: Uint8Array) => (bytes[0] ?? 0) >= SIGNED,
    sameInputs: (a: Uint8Array, b: Uint8Array) => (a[0] ?? 0) % 2 === (b[0] ?? 0) % 2,
    unexplained: () => null,
    lockInputs: () => undefined,
  };
  const terms = { role: "taker", startedAt: 1_000, lockDurationSec: 600, myMakerCoinPub: KEY, myTakerCoinPub: KEY };
  const state = {
    terms: { ...terms, makerUnits: "1", takerUnits: "1" },
    negotiated: { secretHash: "ab".repeat(20), theirStartedAt: 1_000, makerCoinPub: KEY, takerCoinPub: KEY },
    own: stored === undefined ? {} : { takerPayment: { txid: `${stored}`, raw: `0${stored}`, attempted: false } },
  };
  const deps = { log: { warn: () => undefined } };
  const emit = async (event: SwapEvent): Promise<void> => void events.push(event);
  await takeUpPayment({ state, coin: () => coin, deps, emit, unseen: null } as unknown as SwapTask, new AbortController().signal);
  return events.map(({ type }) => type);
}

test.each<readonly [string, Case, readonly string[]]>([
  ["strangers show one with the own signature", { raw: SIGNED }, ["tx_signed", "tx_attempted"]],
  ["they show one that only looks like it", { raw: 1 }, []],
  ["a daemon of one's own shows one", { raw: 1, isOwn: true }, ["tx_signed", "tx_attempted"]],
  ["it is the one that is stored", { raw: SIGNED, stored: SIGNED }, ["tx_attempted"]],
  ["it is that under another id", { raw: SIGNED + 2, stored: SIGNED }, ["tx_attempted"]],
  ["it is another payment than the one that is stored", { raw: SIGNED + 1, stored: SIGNED }, []],
])("whether a payment is taken up: %s", async (_, given, expected) => {
  expect(await takenUp(given)).toEqual(expected);
});

test("where servers refuse the history of the contract, no payment counts as none only once the blocks are read", async () => {
  expect(await takenUp({ raw: 1, crowded: "read" })).toEqual([]);
  await expect(takenUp({ raw: 1, crowded: "reading" })).rejects.toThrow("its blocks are being read");
  await expect(takenUp({ raw: 1, crowded: "unread" })).rejects.toThrow("enable TST with a daemon");
  expect(await takenUp({ raw: SIGNED, crowded: "reading" })).toEqual(["tx_signed", "tx_attempted"]);
});
