import { expect, test } from "vitest";
import { testKey } from "../../../../test/fakes/chainWorld.ts";
import { swapTerms } from "../../../../test/fakes/swapTerms.ts";
import type { SwapEvent, SwapTerms } from "../../../core/swap/events.ts";
import { fold } from "../../../core/swap/swapState.ts";
import { toHex } from "../../../core/util/bytes.ts";
import type { BlockRef, ChainStatus, SeenOutput } from "../../../ports/chain.ts";
import type { SwapTask } from "../swapTask.ts";
import { pay, theirPaymentUnsafe } from "./payment.ts";

const KEY = toHex(testKey("somebody").publicKey);
const PAID = "aa".repeat(32);
const BLOCK: BlockRef = { height: 10, hash: "bb".repeat(32) };
const TERMS: SwapTerms = swapTerms("taker", {
  makerConfs: 3,
  makerNota: true,
  counterparty: KEY,
  myPersistentPub: KEY,
  myMakerCoinPub: KEY,
  myTakerCoinPub: KEY,
});
const NEGOTIATED = { theirStartedAt: 1_700_000_001, theirLocktime: 0, makerCoinPub: KEY, takerCoinPub: KEY, secretHash: "22".repeat(20) };
const LOG: readonly SwapEvent[] = [
  { type: "started", terms: TERMS },
  { type: "negotiated", with: NEGOTIATED },
  { type: "tx_seen", slot: "makerPayment", txid: PAID, raw: "00", block: BLOCK },
  { type: "tx_confirmed", slot: "makerPayment", txid: PAID, block: BLOCK },
];

type View = {
  readonly state: ChainStatus["state"];
  readonly depth: number;
  readonly notarized: boolean;
  readonly outputs: readonly SeenOutput[];
  readonly doubt: string | null;
  readonly hasty: string | null;
};
const SAFE: SeenOutput = {
  txid: PAID,
  vout: 0,
  value: 200_000_000n,
  script: new Uint8Array(1),
  coinbase: false,
  block: BLOCK,
  spentBy: null,
};

/** The maker payment is confirmed by the log; what the chain says right now is `view`. */
async function unsafe(view: Partial<View> = {}): Promise<string | null> {
  const usual = { state: "ready", depth: 3, notarized: true, outputs: [SAFE], doubt: null, hasty: null } as const;
  const { state, depth, notarized, outputs, doubt, hasty } = { ...usual, ...view };
  let isFresh = false;
  const chain = {
    doubt: async (block: BlockRef, confs: number) => (block === BLOCK && confs === 3 ? doubt : "asked for another block"),
    refresh: async () => {
      if (doubt !== null) throw new Error("a backend is asked anew each time while nothing can come of it");
      isFresh = true;
    },
    status: () => ({ state, tip: null, progress: null, error: null }),
    hasty: () => (isFresh ? hasty : null),
    outputs: () => (isFresh ? outputs : []),
    confirmations: () => depth,
    isNotarized: () => notarized,
  };
  // Only what is asked for: the state, and the coin of the other side's payment.
  const task = { state: fold(LOG), coin: () => ({ ticker: "AAA", chain, contractScript: () => new Uint8Array(1) }) } as unknown as SwapTask;
  return theirPaymentUnsafe(task, new AbortController().signal);
}

test("a payment that stands deep, notarized, exact and unspent on a chain that was just looked at is safe", async () => {
  expect(await unsafe()).toBeNull();
});

test.each<[string, Partial<View>, string]>([
  ["a backend that does not answer", { state: "unreachable" }, "its view may be old"],
  ["a backend that is still reading blocks", { state: "syncing" }, "its view may be old"],
  ["a payment that is gone", { outputs: [] }, "is not on the chain"],
  ["another payment to the same contract", { outputs: [{ ...SAFE, txid: "cc".repeat(32) }] }, "is not on the chain"],
  ["another output of the payment", { outputs: [{ ...SAFE, vout: 1 }] }, "is not on the chain"],
  ["a unit less", { outputs: [{ ...SAFE, value: 199_999_999n }] }, "agreed were 200000000"],
  ["a unit more", { outputs: [{ ...SAFE, value: 200_000_001n }] }, "agreed were 200000000"],
  ["a spend in the mempool", { outputs: [{ ...SAFE, spentBy: { txid: "dd".repeat(32), block: null } }] }, "is already spent"],
  ["coins that a miner has just made", { outputs: [{ ...SAFE, coinbase: true }] }, "is made of new coins"],
  ["one block too few", { depth: 2 }, "2 of 3 confirmations"],
  ["a missing notarization", { notarized: false }, "not notarized"],
  ["a block that only strangers show", { doubt: "block 10 may be made up" }, "block 10 may be made up"],
  ["a node that nobody could be asked beside yet", { hasty: "b alone has been believed" }, "b alone has been believed"],
  ["no block", { outputs: [{ ...SAFE, block: null }] }, "not notarized"],
])("%s is found right before acting, whatever the log says", async (_what, view, reason) => {
  expect(await unsafe(view)).toContain(reason);
});

test("no payment is made once it was decided to take one back that never left, by a clock that was hours ahead: the swap is given up", async () => {
  const failure = { event: "MakerPaymentWaitConfirmFailed", reason: "too late" };
  const log: readonly SwapEvent[] = [
    { type: "started", terms: swapTerms("maker") },
    { type: "refund_decided", failure },
  ];
  const stored: SwapEvent[] = [];
  const emit = async (event: SwapEvent): Promise<void> => void stored.push(event);
  await pay({ state: fold(log), emit } as unknown as SwapTask, new AbortController().signal);
  expect(stored).toEqual([{ type: "abandoned", failure }]);
});
