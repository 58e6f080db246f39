import { beforeEach, expect, test } from "vitest";
import { SilentLog } from "../../../test/fakes/silentLog.ts";
import { swapTerms } from "../../../test/fakes/swapTerms.ts";
import { VirtualClock } from "../../adapters/virtualClock/virtualClock.ts";
import type { Slot, SwapEvent } from "../../core/swap/events.ts";
import { fold, type SwapState } from "../../core/swap/swapState.ts";
import { toHex } from "../../core/util/bytes.ts";
import { StoredFunds } from "./storedFunds.ts";
import type { SwapCoin } from "./swapCoin.ts";

const START = 1_700_000_000;
const UNTIL = START + 600;
const terms = swapTerms("maker", { makerCoin: "UTXO", takerCoin: "ACCOUNT" });
const SIGNED: SwapEvent = { type: "tx_signed", slot: "takerPaymentSpend", txid: "c1", raw: "c1", notAfter: UNTIL, fee: "1" };

let clock: VirtualClock;
let funds: StoredFunds;
let freed: number;
let entrusted: Map<string, number | null>;
/** What is stored when a claim was to be dropped; null: nothing could be. */
let dropped: SwapState | null;
/** Names what may be sent at a block; by bytes. */
let asked: Map<string, ((coin: SwapCoin) => Promise<string | null>) | null>;
/** Nodes have it. */
let isOut: boolean;
let whileDropping: () => void;
let released: string[];
let held: number;
beforeEach(() => {
  clock = new VirtualClock(START * 1_000);
  funds = new StoredFunds(clock, new SilentLog(), async () => {
    whileDropping();
    return dropped;
  });
  freed = 0;
  entrusted = new Map();
  dropped = null;
  asked = new Map();
  isOut = false;
  whileDropping = () => undefined;
  released = [];
  held = 0;
});

const state = (...events: SwapEvent[]): SwapState => fold([{ type: "started", terms }, ...events]);
const coin = (): SwapCoin =>
  ({
    ticker: "ACCOUNT",
    spendsFrom: "account",
    lockInputs: () => undefined,
    lockNonce: () => undefined,
    dropChange: () => undefined,
    freeNonce: () => void freed++,
    isOut: () => isOut,
    // They took it once.
    hasLeft: () => true,
    entrust: (raw: Uint8Array, until: number | null, renew: (coin: SwapCoin) => Promise<string | null>) => {
      entrusted.set(toHex(raw), until);
      asked.set(toHex(raw), renew);
    },
    handBack: (raw: Uint8Array) => void entrusted.delete(toHex(raw)),
    reserveAgain: () => [],
    releaseInputs: (raw: Uint8Array) => void released.push(toHex(raw)),
    reserveClaimAgain: () => ({ ok: true, value: { id: `held ${++held}` } }),
    reserveTokenGas: () => null,
    adopt: () => undefined,
    release: () => undefined,
  }) as unknown as SwapCoin;

const KEY = `02${"11".repeat(32)}`;
const negotiated: SwapEvent = {
  type: "negotiated",
  with: { theirStartedAt: START, theirLocktime: START + 7_800, makerCoinPub: KEY, takerCoinPub: KEY, secretHash: "22".repeat(20) },
};
const signed = (slot: Slot, raw: string, notAfter: number | null = null): SwapEvent => ({ ...SIGNED, slot, txid: raw, raw, notAfter });
const sent = (slot: Slot, raw: string, notAfter: number | null = null): SwapEvent[] => [
  signed(slot, raw, notAfter),
  { type: "tx_attempted", slot },
];
const SECRET: SwapEvent = { type: "secret_learned", secret: "33".repeat(32) };
const FAILURE = { event: "TakerPaymentWaitForSpendFailed", reason: "late" };
const DECIDED: SwapEvent = { type: "refund_decided", failure: FAILURE };
const seen = (slot: Slot, raw: string): SwapEvent => ({ type: "tx_seen", slot, txid: raw, raw, block: { height: 1, hash: "h" } });

test.each<readonly [string, "maker" | "taker", readonly SwapEvent[], Readonly<Record<string, number | null>>]>([
  ["a fee while the maker may go on", "taker", sent("fee", "f1"), { f1: null }],
  ["a fee of a swap that came to nothing", "taker", [...sent("fee", "f1"), { type: "finished", outcome: "failed" }], { f1: 0 }],
  ["a fee that never left", "taker", [signed("fee", "f1")], {}],
  ["a payment", "taker", sent("takerPayment", "a1", UNTIL), { a1: UNTIL }],
  ["a payment that was used", "taker", [...sent("takerPayment", "a1", UNTIL), seen("takerPaymentSpend", "c1")], { a1: null }],
  [
    "a cancellation, and its payment",
    "taker",
    [...sent("takerPayment", "a1", UNTIL), DECIDED, ...sent("cancel", "b1")],
    { a1: 0, b1: null },
  ],
  ["a cancellation that never left", "taker", [...sent("takerPayment", "a1", UNTIL), DECIDED, signed("cancel", "b1")], { a1: 0, b1: 0 }],
  [
    "a taker's claim in its newest version, and what the secret makes moot",
    "taker",
    [
      ...sent("fee", "f1"),
      ...sent("takerPayment", "a1", UNTIL),
      seen("takerPayment", "a1"),
      { type: "tx_confirmed", slot: "takerPayment", txid: "a1", block: { height: 1, hash: "h" } },
      SECRET,
      ...sent("makerPaymentSpend", "c1"),
      { type: "tx_replaced", slot: "makerPaymentSpend", txid: "c2", raw: "c2", fee: "2" },
    ],
    { f1: 0, c2: null },
  ],
  [
    "a claim that confirmed, in the version that did and the newest: a reorganisation may drop it",
    "maker",
    [
      ...sent("takerPaymentSpend", "c1"),
      { type: "tx_replaced", slot: "takerPaymentSpend", txid: "c2", raw: "c2", fee: "2" },
      seen("takerPaymentSpend", "c1"),
      { type: "tx_confirmed", slot: "takerPaymentSpend", txid: "c1", block: { height: 1, hash: "h" } },
      { type: "finished", outcome: "success" },
    ],
    { c1: null, c2: null },
  ],
  [
    "a taker's payment, for which it has claimed what nobody is known to have, until the maker may take that back",
    "taker",
    [...sent("takerPayment", "a1", UNTIL), SECRET, ...sent("makerPaymentSpend", "c1")],
    { a1: START + 15_600, c1: null },
  ],
  [
    "a refund, and the claim that came into a block after it was signed: for that it stays home",
    "maker",
    [
      ...sent("makerPayment", "a1", UNTIL),
      ...sent("takerPaymentSpend", "c1"),
      DECIDED,
      ...sent("makerPaymentRefund", "d1"),
      seen("takerPaymentSpend", "c1"),
    ],
    { a1: null, c1: null, d1: null },
  ],
  [
    "a refund, and the claim in no block",
    "maker",
    [...sent("makerPayment", "a1", UNTIL), ...sent("takerPaymentSpend", "c1"), DECIDED, ...sent("makerPaymentRefund", "d1")],
    { a1: START + 15_600, c1: null, d1: null },
  ],
  ["a maker's claim that never left, of a payment it takes back", "maker", [SIGNED, DECIDED], { c1: 0 }],
  ["a maker's claim that may yet leave", "maker", [SIGNED], {}],
  [
    "a maker's claim that may have left, for as long as its payment is there",
    "maker",
    sent("takerPaymentSpend", "c1", UNTIL),
    { c1: null },
  ],
])("what a swap that waits leaves to its account: %s", (_, role, events, expected) => {
  const own = role === "maker" ? terms : swapTerms("taker", { makerCoin: "UTXO", takerCoin: "ACCOUNT" });
  const stored = fold([{ type: "started", terms: own }, negotiated, ...events]);
  funds.add(own.uuid, stored);
  const c = coin();
  funds.take(c);
  expect(Object.fromEntries(entrusted)).toEqual(expected);
  funds.handOver(own.uuid, c, c, stored);
  expect([...entrusted]).toEqual([]);
});

test("a payment that nobody was seen to use is sent for a swap that waits only where nodes have it; one that was used, as it is", async () => {
  const own = swapTerms("taker", { makerCoin: "UTXO", takerCoin: "ACCOUNT" });
  const add = (...events: SwapEvent[]): void => {
    funds.add(own.uuid, fold([{ type: "started", terms: own }, negotiated, ...sent("takerPayment", "a1", UNTIL), ...events]));
    funds.take(coin());
  };
  add();
  expect(await asked.get("a1")?.(coin())).toBe(null);
  isOut = true;
  expect(await asked.get("a1")?.(coin())).toBe("a1");
  isOut = false;
  // A reorganisation may have taken the block, and the maker's payment with it.
  add(seen("takerPayment", "a1"));
  expect(await asked.get("a1")?.(coin())).toBe(null);
  add(seen("takerPaymentSpend", "c1"));
  expect(asked.get("a1")).toBe(null);
});

test("what cannot be read of one swap is told of, and the coin comes with all that the others need of it", () => {
  const lines: SilentLog["lines"] = [];
  funds = new StoredFunds(clock, new SilentLog(lines), async () => null);
  const locked: string[] = [];
  const take = (raw: Uint8Array): void => {
    if (toHex(raw).endsWith("bad")) throw new Error("own bytes cannot be read");
    locked.push(toHex(raw));
  };
  const uuids = ["00000000-0000-4000-8000-00000000ba01", "00000000-0000-4000-8000-00000000ba02"] as const;
  for (const [i, uuid] of uuids.entries()) {
    const own = swapTerms("maker", { makerCoin: "ACCOUNT", takerCoin: "ACCOUNT", uuid });
    const end = i === 0 ? "bad" : "0e0";
    const events = [
      ...sent("makerPayment", `a${end}`),
      signed("paymentChild", `b${end}`),
      ...sent("makerPaymentRefund", `c${end}`),
      ...sent("takerPaymentSpend", `d${end}`),
    ];
    funds.add(uuid, fold([{ type: "started", terms: own }, negotiated, ...events]));
  }
  const reserved: string[] = [];
  const reserveAgain = (asked: readonly { readonly uuid: string }[]): readonly object[] => {
    for (const { uuid } of asked) reserved.push(uuid);
    return asked.map(() => ({ ok: true, value: { id: "own" } }));
  };
  funds.take({ ...coin(), lockInputs: take, dropChange: take, reserveAgain } as unknown as SwapCoin);
  expect(new Set(locked)).toEqual(new Set(["a0e0", "b0e0", "c0e0", "d0e0"]));
  expect([reserved, held]).toEqual([uuids, 2]);
  const told = lines.filter(({ event }) => event === "swap_tx_not_taken");
  expect([told.length > 0, new Set(told.map(({ fields }) => `${fields.swap} ${fields.coin} ${fields.error}`))]).toEqual([
    true,
    new Set([`${uuids[0]} ACCOUNT Error: own bytes cannot be read`]),
  ]);
});

const ON_ACCOUNT = swapTerms("maker", {
  makerCoin: "UTXO",
  takerCoin: "ACCOUNT",
  takerContracts: { own: "44".repeat(20), fallback: null },
});
const onAccount = (...events: SwapEvent[]): SwapState => fold([{ type: "started", terms: ON_ACCOUNT }, negotiated, ...events]);

test("a claim that never left gives its nonce back once it is stored that it never will, and its gas is held again", async () => {
  funds.add(ON_ACCOUNT.uuid, onAccount(SIGNED));
  const own = coin();
  funds.take(own);
  await clock.advance(30_000);
  expect([released, held]).toEqual([[], 0]);
  dropped = onAccount();
  await clock.advance(29_000);
  expect(released).toEqual([]);
  await clock.advance(1_000);
  expect([released, held]).toEqual([["c1"], 1]);
  await clock.advance(3_600_000);
  expect([released, held, freed]).toEqual([["c1"], 1, 0]);
  expect(funds.handOver(ON_ACCOUNT.uuid, own, own, dropped).claim).toEqual({ id: "held 1" });
});

const PAYER = swapTerms("taker", { ...ON_ACCOUNT, role: "taker", secretHash: null });
const payer = (...events: SwapEvent[]): SwapState => fold([{ type: "started", terms: PAYER }, negotiated, ...events]);
const UNSENT = { ...SIGNED, slot: "takerPayment" } as const;

test.each([
  ["fee", [{ ...SIGNED, slot: "fee" }], ["1287", "33333333"]],
  ["payment", [...sent("fee", "f1"), UNSENT], ["33333333"]],
] as const)(
  "a %s that never left gives its nonce back once it is stored that it never will, and is held again",
  async (_, events, amounts) => {
    const asked: string[][] = [];
    const reserveAgain = (list: readonly { readonly amounts: readonly bigint[] }[]): readonly object[] => {
      for (const one of list) asked.push(one.amounts.map(String));
      return list.map(() => ({ ok: true, value: { id: `payment ${asked.length}` } }));
    };
    const own = { ...coin(), reserveAgain } as SwapCoin;
    funds.add(PAYER.uuid, payer(...events));
    funds.take(own);
    asked.length = 0;
    await clock.advance(29_999);
    dropped = payer(...events.slice(0, -1));
    expect(released).toEqual([]);
    await clock.advance(1);
    expect([released, asked]).toEqual([["c1"], [amounts]]);
    await clock.advance(300_000);
    expect([released, asked.length]).toEqual([["c1"], 1]);
    expect(funds.handOver(PAYER.uuid, own, { ...coin(), ticker: "UTXO" } as SwapCoin, dropped).own).toEqual({ id: "payment 1" });
  },
);

test.each<readonly [string, () => void]>([
  ["its swap runs", () => void funds.handOver(PAYER.uuid, coin(), coin(), payer(UNSENT))],
  [
    "its swap ran, and it left",
    () => {
      funds.handOver(PAYER.uuid, coin(), coin(), payer(UNSENT));
      dropped = payer(...sent("takerPayment", "c1", UNTIL));
      funds.add(PAYER.uuid, dropped);
    },
  ],
  ["the node closes", () => funds.close()],
])("nothing gives its nonce back later when %s", async (_, meanwhile) => {
  funds.add(PAYER.uuid, payer(UNSENT));
  funds.take(coin());
  meanwhile();
  await clock.advance(3_600_000);
  expect([released, freed]).toEqual([[], 0]);
});

test("a payment that is dropped though that was not answered gives its nonce back when its swap is taken up, and is held again", async () => {
  const reserveAgain = (): readonly object[] => [{ ok: true, value: { id: "held anew" } }];
  const own = { ...coin(), reserveAgain } as SwapCoin;
  funds.add(PAYER.uuid, payer(UNSENT));
  funds.take(own);
  await clock.advance(30_000);
  const { own: reserved } = funds.handOver(PAYER.uuid, own, { ...coin(), ticker: "UTXO" } as SwapCoin, payer());
  expect([released, reserved]).toEqual([["c1"], { id: "held anew" }]);
});

test("a claim that left after all, as its log says, keeps its nonce and is sent by its account", async () => {
  funds.add(ON_ACCOUNT.uuid, onAccount(SIGNED));
  funds.take(coin());
  dropped = onAccount(...sent("takerPaymentSpend", "c1", UNTIL));
  await clock.advance(3_600_000);
  expect([released, freed, [...entrusted.keys()]]).toEqual([[], 0, ["c1"]]);
});

test("a claim of a swap that is taken up while its drop is being stored keeps what it has", async () => {
  funds.add(ON_ACCOUNT.uuid, onAccount(SIGNED));
  const own = coin();
  funds.take(own);
  dropped = onAccount();
  whileDropping = () => void funds.handOver(ON_ACCOUNT.uuid, own, own, onAccount(SIGNED));
  await clock.advance(3_600_000);
  expect([released, held]).toEqual([[], 0]);
});

test.each([
  ["a coin of another chain had that stored", true],
  ["the answer to that write was lost", false],
] as const)("a claim that is dropped when its swap is taken up gives its nonce back, and its gas is held: %s", async (_how, isAnswered) => {
  funds.add(ON_ACCOUNT.uuid, onAccount(SIGNED));
  const [foreign, own] = [{ ...coin(), ticker: "FOREIGN" }, coin()];
  funds.take(foreign);
  await clock.advance(15_000);
  funds.take(own);
  if (isAnswered) dropped = onAccount();
  await clock.advance(15_000);
  expect([released, held]).toEqual([[], 0]);
  expect(funds.handOver(ON_ACCOUNT.uuid, { ...coin(), ticker: "UTXO" }, own, onAccount()).claim).toEqual({ id: "held 1" });
  expect(released).toEqual(["c1"]);
  await clock.advance(3_600_000);
  expect([released, held]).toEqual([["c1"], 1]);
});

test.each(["takerPaymentSpend", "makerPaymentRefund"] as const)(
  "gas is held to make a %s dearer that has left, and none for one that has not",
  (slot) => {
    const isRefund = slot === "makerPaymentRefund";
    const paid: SwapEvent[] = [
      { ...SIGNED, slot: "makerPayment" },
      { type: "tx_attempted", slot: "makerPayment" },
    ];
    const reserveAgain = (asked: readonly object[]): readonly [] => {
      held += asked.length;
      return [];
    };
    const own = { ...coin(), ticker: isRefund ? "UTXO" : "ACCOUNT", reserveAgain } as SwapCoin;
    const heldFor = (...events: SwapEvent[]): number => {
      held = 0;
      funds.add(terms.uuid, state(...paid, ...events));
      funds.take(own);
      return held;
    };
    const signed: SwapEvent = { ...SIGNED, slot, notAfter: null };
    expect([heldFor(signed), heldFor(signed, { type: "tx_attempted", slot })]).toEqual([0, 1]);
  },
);
