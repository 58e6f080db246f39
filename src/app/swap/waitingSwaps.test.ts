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
  { type: "tx_signed", slot: "takerPaymentSpend", txid: "c1", raw: "c1", notAfter: START + 600, fee: "1000000" },
];
const SENT: readonly SwapEvent[] = [...EVENTS, { type: "tx_attempted", slot: "takerPaymentSpend" }];

let clock: VirtualClock;
/** How much the wall clock is ahead. */
let skewMs: number;
let active: Map<string, SwapCoin>;
let stored: StoredEvent[];
/** What came of the account and the store, in order. */
let done: string[];
let isFull: boolean;
let taken: number;
let waiting: WaitingSwaps;
/** What is asked for unsent versions at each block. */
let renew: ((coin: SwapCoin) => Promise<string | null>) | null;
/** All that was ever asked for them. */
let renewals: ((coin: SwapCoin) => Promise<string | null>)[];
/** The contract holds what the claim asks for; null: nobody says. */
let isThere: boolean | null;
/** No pool has anything with its nonce. */
let holdsUp: boolean;
/** Whether the chain was asked what it would do with the claim. */
let wasTried: boolean;
/** The chain would refuse what was sent. */
let isHopeless: boolean | null;
/** A block has used the nonce of what was sent, and shows nothing of it. */
let hasMissed: boolean;
/** Those that have less gas than they need, and whether no other can be made. */
let lacking: readonly string[];
let isShort: boolean;
/** As many nodes as must agree say so. */
let isSurelyShort: () => Promise<boolean>;
/** Why a claim that is signed now would come into no block soon. */
let obstacle: string | null;
/** Why none is made at what it costs. */
let tooDear: string | null;
/** What a read of the log takes, in steps of the queue of promises: what is stored meanwhile is not in it. */
let readSteps: number;
let givenUp: Map<string, boolean>;
let watched: Set<string>;
/** Nodes took what was sent, whether or not they show it. */
let hasLeft: boolean;
/** What blocks have, by txid. */
let mined: Map<string, unknown>;
/** Wei per 1000 gas. */
let perKb: bigint;
/** Of the events of swaps that wait, those that others are told of. */
let told: string[];
beforeEach(() => {
  clock = new VirtualClock(START * 1_000);
  skewMs = 0;
  stored = [];
  done = [];
  isFull = false;
  taken = 0;
  renew = null;
  renewals = [];
  isHopeless = false;
  isThere = true;
  holdsUp = true;
  wasTried = false;
  hasMissed = false;
  lacking = [];
  isShort = false;
  isSurelyShort = async () => false;
  obstacle = null;
  tooDear = null;
  readSteps = 0;
  givenUp = new Map();
  watched = new Set();
  hasLeft = false;
  mined = new Map();
  perKb = 1n;
  told = [];
  const account = {
    ticker: "ACCOUNT",
    spendsFrom: "account",
    chain: {
      status: () => ({ tip: { height: 1 } }),
      watchTx: async (txid: string) => void watched.add(txid),
      tx: (txid: string) => (watched.has(txid) ? mined.get(txid) : undefined),
    },
    entrust: (raw: Uint8Array, _until: number | null, made: typeof renew) => {
      done.push(`entrusted ${toHex(raw)}`);
      renew = made;
      if (made) renewals.push(made);
    },
    handBack: () => undefined,
    isHopeless: async () => {
      wasTried = true;
      return isHopeless;
    },
    isClaimable: async () => isThere,
    holdsUp: () => holdsUp,
    hasMissed: () => hasMissed,
    hasLeft: () => hasLeft,
    giveUp: (raw: Uint8Array, isRefused: boolean) => void givenUp.set(toHex(raw), isRefused),
    takeBack: (raw: Uint8Array) => void givenUp.delete(toHex(raw)),
    spendSize: () => 1_000,
    spendRates: () => ({ rate: { perKb, wholeKb: false }, floorPerKb: null, relayPerKb: null, mostPerTx: 10n ** 18n }),
    spendTooDear: () => tooDear,
    claimObstacle: () => obstacle,
    lacksGas: (raw: Uint8Array) => lacking.includes(toHex(raw)),
    isSurelyShort: () => isSurelyShort(),
    buildDearer: (former: Uint8Array, fee: bigint, isAnew: boolean) => {
      if (isShort) return { ok: false };
      const next = former.map((byte) => byte + (isAnew ? 16 : 1));
      return { ok: true, value: { txid: toHex(next), raw: next, fee } };
    },
    releaseInputs: (raw: Uint8Array) => void done.push(`freed ${toHex(raw)}`),
    reserveClaimAgain: () => ({ ok: true, value: { id: "held" } }),
    adopt: () => undefined,
  } as unknown as SwapCoin;
  active = new Map([["ACCOUNT", account]]);
  const log = new SilentLog();
  const store = {
    async log() {
      const read = stored;
      for (let step = 0; step < readSteps; step++) await Promise.resolve();
      return read;
    },
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
  const onEvent = (_uuid: string, events: readonly StoredEvent[]): void => void told.push(events.at(-1)?.event.type ?? "");
  const skewed = { nowMs: () => clock.nowMs() + skewMs, after: clock.after.bind(clock) };
  waiting = new WaitingSwaps({ clock: skewed, log, store, coin: (ticker) => active.get(ticker), takeUp, onEvent }, new UnreadRecords(log));
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

/** A block of the account's chain, half a minute after the last. */
async function block(): Promise<void> {
  await clock.advance(30_000);
  const coin = active.get("ACCOUNT") ?? expect.fail("no coin");
  await renew?.(coin);
}

test("what a swap that waits has sent is made dearer when gas is, stored before it can be sent, and told", async () => {
  add(SENT);
  await block();
  expect(done).toEqual(["entrusted c1"]);
  perKb = 2_000_000n;
  await block();
  expect([done, told]).toEqual([["entrusted c1", "stored tx_replaced", "entrusted c2"], ["tx_replaced"]]);
  expect(stored.at(-1)?.event).toEqual({ type: "tx_replaced", slot: "takerPaymentSpend", txid: "c2", raw: "c2", fee: "2000000" });
  await block();
  expect(done).toHaveLength(3);
});

/** A block of the account's chain, half a minute after the last. @returns what may be sent at it */
async function sentAt(): Promise<string | null | undefined> {
  await clock.advance(30_000);
  return renew?.(active.get("ACCOUNT") ?? expect.fail("no coin"));
}

test.each([
  { word: false, isFree: true },
  { word: false, isFree: false },
  { word: null, isFree: true },
  { word: null, isFree: false },
])(
  "a claim that nobody was seen to have is neither sent nor asked about while the contract does not hold its payment ($word; nonce free: $isFree)",
  async ({ word, isFree }) => {
    add(SENT);
    holdsUp = isFree;
    expect([await sentAt(), wasTried]).toEqual(["c1", true]);
    wasTried = false;
    isThere = word;
    perKb = 2_000_000n;
    expect([await sentAt(), await sentAt(), wasTried, told]).toEqual([null, null, false, []]);
    expect([...givenUp]).toEqual(isFree ? [["c1", true]] : []);
    isThere = true;
    expect([await sentAt(), givenUp.size, told]).toEqual(["c2", 0, ["tx_replaced"]]);
  },
);

test("a clock that is set back by hours keeps no claim from being judged anew: it would stay home, or as cheap, for as long", async () => {
  add(SENT);
  isHopeless = true;
  expect(await sentAt()).toBeNull();
  isHopeless = false;
  skewMs = -8 * 3_600_000;
  expect(await sentAt()).toBe("c1");
});

const PAID = { slot: "makerPayment", txid: "a1", raw: "a1" } as const;

test.each<readonly [string, readonly SwapEvent[]]>([
  ["", [{ type: "tx_seen", ...PAID, block: { height: 1, hash: "h" } }]],
  // Right after a start nodes that forget receipts show it in none.
  [
    " also where the log lacks its block",
    [
      { type: "tx_signed", ...PAID, notAfter: null },
      { type: "tx_attempted", slot: "makerPayment" },
    ],
  ],
])("nor is it sent once the own payment can go back, whatever the contract says,%s", async (_, paid) => {
  add([...SENT, ...paid]);
  await clock.advance(15_600_000 - 30_000);
  expect(await sentAt()).toBe("c1");
  expect([await sentAt(), [...givenUp]]).toEqual([null, [["c1", true]]]);
});

test("nor with less gas than it needs: it is made anew with more, though gas is no dearer, and stays home where it cannot be", async () => {
  add(SENT);
  lacking = ["c1"];
  isShort = true;
  // Nor does the account's line wait for that.
  expect([await sentAt(), [...givenUp]]).toEqual([null, [["c1", true]]]);
  isShort = false;
  lacking = ["c1", "c2"];
  expect([await sentAt(), told]).toEqual([null, []]);
  lacking = ["c1"];
  expect([await sentAt(), await sentAt(), told, givenUp.size]).toEqual(["c2", "c2", ["tx_replaced"], 0]);
});

test("past its limit it stays home for that only where enough nodes say so: others may have it, and one of two may say it alone", async () => {
  add(SENT);
  [lacking, isShort] = [["c1"], true];
  await clock.advance(600_000);
  isSurelyShort = async () => true;
  expect([await sentAt(), [...givenUp]]).toEqual([null, [["c1", true]]]);
  for (const say of [async () => false, () => Promise.reject(new Error("the nodes are away"))]) {
    isSurelyShort = say;
    expect([await sentAt(), givenUp.size]).toEqual(["c1", 0]);
  }
});

test.each([
  ["gas is dearer", 2_000_000n, false, ["c1", "c2"]],
  ["its nonce is lost", 1n, true, ["c1", "d1"]],
] as const)("nor in a version that lacks gas, too, where %s: none is stored, and the nonce is free", async (_, price, isMissed, short) => {
  add(SENT);
  [perKb, hasMissed, lacking] = [price, isMissed, short];
  expect([await sentAt(), told, done]).toEqual([null, [], ["entrusted c1", `freed ${short[1]}`]]);
});

test("one that lost its nonce is not signed anew before its limit while it would come into no block soon; after that it goes, for it may have left", async () => {
  add(SENT);
  [hasMissed, obstacle] = [true, "the account lacks gas"];
  expect([await sentAt(), told]).toEqual([null, []]);
  obstacle = null;
  expect([await sentAt(), told]).toEqual(["d1", ["tx_replaced"]]);
  hasMissed = false;
  await clock.advance(600_000);
  [hasMissed, obstacle] = [true, "the account lacks gas"];
  expect([await sentAt(), told.length]).toEqual(["e1", 2]);
});

test("nor is it held back late, for it may have left; once nodes took it that is stored, and the contract is asked no more", async () => {
  add(SENT);
  await clock.advance(600_000);
  expect(await sentAt()).toBe("c1");
  hasLeft = true;
  isThere = false;
  expect(await sentAt()).toBe("c1");
  hasLeft = false;
  expect([await sentAt(), told, fold(stored.map(({ event }) => event)).isSecretSeen]).toEqual(["c1", ["tx_seen"], true]);
});

/** The log of a maker that has sent both its claim and its refund. */
const BOTH: readonly SwapEvent[] = [
  { type: "started", terms: { ...terms, makerCoin: "TOKEN", makerContracts: { own: "44".repeat(20), fallback: null } } },
  ...EVENTS.slice(1, 2),
  { type: "tx_signed", slot: "makerPayment", txid: "a1", raw: "a1", notAfter: START + 600 },
  { type: "tx_attempted", slot: "makerPayment" },
  ...SENT.slice(2),
  { type: "tx_signed", slot: "makerPaymentRefund", txid: "d1", raw: "d1", notAfter: null, fee: "1000000" },
  { type: "tx_attempted", slot: "makerPaymentRefund" },
];

/** The account follows a claim, which is where `block` says. */
function showClaim(txid: string, block: object | null): void {
  watched.add(txid);
  mined.set(txid, { txid, block });
}

test("the claim and the refund of one swap are both made dearer at the same block", async () => {
  add(BOTH);
  showClaim("c1", null);
  const coin = active.get("ACCOUNT") ?? expect.fail("no coin");
  [perKb, readSteps] = [2_000_000n, 100];
  await clock.advance(30_000);
  await Promise.all(renewals.map((made) => made(coin)));
  const replaced = stored.flatMap(({ event }) => (event.type === "tx_replaced" ? [event.raw] : []));
  expect(replaced.toSorted()).toEqual(["c2", "d2"]);
});

/** What of the refund may be sent at a block half a minute after the last; the claim is left to itself. */
async function refundAt(): Promise<string | null> {
  await clock.advance(30_000);
  return (await renewals.at(-1)?.(active.get("ACCOUNT") ?? expect.fail("no coin"))) ?? null;
}
const IN_BLOCK = { height: 1, hash: "h" };

test("a refund stays home while a block of its own account has the claim of its swap, though the log lacks that, and holds up nothing", async () => {
  add(BOTH);
  showClaim("c1", null);
  expect([await refundAt(), [...givenUp]]).toEqual(["d1", []]);
  showClaim("c1", IN_BLOCK);
  perKb = 2_000_000n;
  expect([await refundAt(), [...givenUp], told]).toEqual([null, [["d1", true]], []]);
  // A reorganisation undid it.
  perKb = 1n;
  showClaim("c1", null);
  expect([await refundAt(), [...givenUp]]).toEqual(["d1", []]);
});

test("also by the log, for as long as its account does not say that no block has the claim any more", async () => {
  add([...BOTH, { type: "tx_seen", slot: "takerPaymentSpend", txid: "c1", raw: "c1", block: IN_BLOCK }]);
  for (let n = 0; n < 100; n++) expect([await refundAt(), [...givenUp]]).toEqual([null, [["d1", true]]]);
  showClaim("c1", null);
  expect([await refundAt(), [...givenUp]]).toEqual(["d1", []]);
});

test("after a start it waits a minute for what its account may have of the claim, and keeps its nonce; of another chain nobody will say it", async () => {
  add(BOTH);
  expect([await refundAt(), await refundAt(), [...givenUp]]).toEqual([null, null, []]);
  expect([await refundAt(), [...givenUp]]).toEqual(["d1", []]);
});

const SEEN: SwapEvent = { type: "tx_seen", slot: "takerPaymentSpend", txid: "c1", raw: "c1", block: null };

test.each([
  ["that nobody has", [], true, true],
  ["that nobody shows, and pools have something in its place", [], false, false],
  ["that left", [SEEN], true, false],
])(
  "what the chain would refuse (%s) is given up and not made dearer, until it would not: its payment went back while nobody looked",
  async (_, seen, isFree, isRefused) => {
    add([...SENT, ...seen]);
    holdsUp = isFree;
    perKb = 2_000_000n;
    isHopeless = true;
    await block();
    expect([done, [...givenUp]]).toEqual([["entrusted c1"], [["c1", isRefused]]]);
    isHopeless = false;
    await block();
    expect([...givenUp]).toEqual([]);
    expect(done).toEqual(["entrusted c1", "stored tx_replaced", "entrusted c2"]);
  },
);

test("a claim that nobody has is not sent while the chain would refuse it: it would show the secret for nothing, as where its token is paused", async () => {
  add(SENT);
  isHopeless = true;
  const coin = active.get("ACCOUNT") ?? expect.fail("no coin");
  await clock.advance(30_000);
  const atOnce = await renew?.(coin);
  await clock.advance(10_000);
  expect([atOnce, await renew?.(coin)]).toEqual([null, null]);
  isHopeless = false;
  await clock.advance(30_000);
  expect(await renew?.(coin)).toBe("c1");
  // Of one that left somebody may have the secret: it goes on.
  isHopeless = true;
  hasLeft = true;
  await clock.advance(30_000);
  expect(await renew?.(coin)).toBe("c1");
});

test("a claim that nobody has stays home until its limit while nobody says what the chain would do with it, and gives its nonce to its account", async () => {
  add(SENT);
  isHopeless = null;
  const coin = active.get("ACCOUNT") ?? expect.fail("no coin");
  const limit = (START + 600) * 1_000;
  await clock.run({ untilMs: limit });
  expect([await renew?.(coin), [...givenUp]]).toEqual([null, [["c1", true]]]);
  // Who withholds the answer must not keep it here until the taker's lock.
  await clock.advance(30_000);
  expect([await renew?.(coin), [...givenUp]]).toEqual(["c1", []]);
});

test("a claim that nobody has goes once its limit is over while nobody says whether its payment is there, until that may have gone back", async () => {
  add(SENT);
  isThere = null;
  const coin = active.get("ACCOUNT") ?? expect.fail("no coin");
  await clock.run({ untilMs: (START + 600) * 1_000 });
  expect([await renew?.(coin), [...givenUp]]).toEqual([null, [["c1", true]]]);
  await clock.advance(30_000);
  expect([await renew?.(coin), [...givenUp]]).toEqual(["c1", []]);
  await clock.run({ untilMs: (START + 7_800) * 1_000 });
  expect(await renew?.(coin)).toBe("c1");
  await clock.advance(1_000);
  expect([await renew?.(coin), [...givenUp]]).toEqual([null, [["c1", true]]]);
});

test.each(["obstacle", "tooDear"] as const)(
  "a claim that nobody has stays home until its limit while it would come into no block soon (%s): the taker would read it in a pool",
  async (what) => {
    const say = (why: string | null): void => {
      if (what === "obstacle") obstacle = why;
      else tooDear = why;
    };
    add(SENT);
    say("something stuck stands before it");
    const coin = active.get("ACCOUNT") ?? expect.fail("no coin");
    await clock.advance(30_000);
    expect([await renew?.(coin), [...givenUp]]).toEqual([null, [["c1", true]]]);
    say(null);
    await clock.advance(30_000);
    expect([await renew?.(coin), [...givenUp]]).toEqual(["c1", []]);
    say("something stuck stands before it");
    await clock.run({ untilMs: (START + 600) * 1_000 });
    expect(await renew?.(coin)).toBeNull();
    await clock.advance(30_000);
    expect(await renew?.(coin)).toBe("c1");
  },
);

test("nor does it leave before its limit where nobody can tell, as while no prices are known", async () => {
  add(SENT);
  const coin = active.get("ACCOUNT") ?? expect.fail("no coin");
  const untold = { ...coin, claimObstacle: () => expect.fail("no prices") };
  await clock.advance(30_000);
  expect(await renew?.(untold)).toBeNull();
  await clock.advance(600_000);
  expect(await renew?.(untold)).toBe("c1");
});

test("what left goes on while nobody says what the chain would do with it", async () => {
  add([...SENT, SEEN]);
  isHopeless = null;
  await clock.advance(30_000);
  expect([await renew?.(active.get("ACCOUNT") ?? expect.fail("no coin")), [...givenUp]]).toEqual(["c1", []]);
});

test("what has missed its nonce is signed anew at the same price once the chain would carry it out, whoever is silent until then", async () => {
  add(SENT);
  hasMissed = true;
  for (const answer of [true, null]) {
    isHopeless = answer;
    await block();
  }
  expect(done).toEqual(["entrusted c1"]);
  isHopeless = false;
  await block();
  expect([done, told]).toEqual([["entrusted c1", "stored tx_replaced", "entrusted d1"], ["tx_replaced"]]);
  expect(stored.at(-1)?.event).toEqual({ type: "tx_replaced", slot: "takerPaymentSpend", txid: "d1", raw: "d1", fee: "1000000" });
});

test.each([true, null])(
  "what missed its nonce is tried all the same a few times before its deadline though the chain would refuse it (%s): who says so may be wrong",
  async (answer) => {
    add([...SENT, SEEN]);
    hasMissed = true;
    isHopeless = answer;
    const triedAt: number[] = [];
    for (let n = 0; n < 1_000; n++) {
      const before = told.length;
      await block();
      if (told.length > before) triedAt.push(clock.nowMs() / 1_000 - START);
    }
    // The taker may refund from 7800 s on: half of what is left each time, and never sooner than ten minutes.
    expect(triedAt).toEqual([3_900, 5_850, 6_840, 7_440]);
    expect(stored.at(-1)?.event).toMatchObject({ type: "tx_replaced", txid: "01" });
  },
);

test("what went through in an older version while the node was down is not tried again", async () => {
  add([...SENT, { type: "tx_replaced", slot: "takerPaymentSpend", txid: "c2", raw: "c2", fee: "2000000" }]);
  hasMissed = true;
  isHopeless = true;
  mined.set("c1", { block: { height: 1, hash: "h" } });
  for (let n = 0; n < 260; n++) await block();
  expect(told).toEqual([]);
});

test("what confirmed, and of which no node has the receipt any more, is not tried again: it has been carried out", async () => {
  const done = { slot: "takerPaymentSpend", txid: "c1", block: { height: 1, hash: "h" } } as const;
  add([...SENT, { type: "tx_seen", raw: "c1", ...done }, { type: "tx_confirmed", ...done }]);
  hasMissed = true;
  isHopeless = true;
  for (let n = 0; n < 260; n++) await block();
  expect(told).toEqual([]);
});

test("what has missed its nonce is not signed anew where the log has another version by now", async () => {
  add(SENT);
  hasMissed = true;
  const event = { type: "tx_replaced", slot: "takerPaymentSpend", txid: "c2", raw: "c2", fee: "2000000" } as const;
  stored = [...stored, { v: 1, atMs: clock.nowMs(), event }];
  await block();
  expect(done).toEqual(["entrusted c1", "entrusted c2"]);
});

test("a cancellation that has missed its nonce is left as it is: it was for that nonce alone", async () => {
  const contracts = { own: "44".repeat(20), fallback: null };
  add([
    { type: "started", terms: { ...terms, makerCoin: "TOKEN", makerContracts: contracts } },
    ...EVENTS.slice(1, 2),
    { type: "tx_signed", slot: "makerPayment", txid: "a1", raw: "a1", notAfter: START + 600 },
    { type: "tx_attempted", slot: "makerPayment" },
    { type: "refund_decided", failure: { event: "MakerPaymentWaitConfirmFailed", reason: "late" } },
    { type: "tx_signed", slot: "cancel", txid: "b1", raw: "b1", notAfter: null, fee: "1000000" },
    { type: "tx_attempted", slot: "cancel" },
  ]);
  hasMissed = true;
  await clock.advance(30_000);
  await Promise.all(renewals.map((made) => made(active.get("ACCOUNT") ?? expect.fail("no coin"))));
  expect(renewals).toHaveLength(1);
  expect(stored.at(-1)?.event.type).toBe("tx_attempted");
});

test("a dearer version that is not stored leaves its nonce to the one before, and is tried again half a minute later", async () => {
  add(SENT);
  perKb = 2_000_000n;
  isFull = true;
  await block();
  expect(done).toEqual(["entrusted c1", "freed c2"]);
  isFull = false;
  await renew?.(active.get("ACCOUNT") ?? expect.fail("no coin"));
  expect(done).toHaveLength(2);
  await block();
  expect(done.slice(2)).toEqual(["stored tx_replaced", "entrusted c2"]);
});

test("a dearer version that was stored though the answer was lost is the one that is sent", async () => {
  add(SENT);
  perKb = 2_000_000n;
  const now = clock.nowMs();
  stored = [
    ...stored,
    { v: 1, atMs: now, event: { type: "tx_replaced", slot: "takerPaymentSpend", txid: "c2", raw: "c2", fee: "2000000" } },
  ];
  await block();
  expect(done).toEqual(["entrusted c1", "entrusted c2"]);
});

test("nothing is made dearer for a swap that runs, or once the node closes", async () => {
  add(SENT);
  const late = renew;
  perKb = 2_000_000n;
  active.set("UTXO", { ticker: "UTXO", spendsFrom: "outputs", adopt: () => undefined } as unknown as SwapCoin);
  await waiting.takeUpReady();
  const coin = active.get("ACCOUNT") ?? expect.fail("no coin");
  await late?.(coin);
  active.delete("UTXO");
  add(SENT);
  waiting.close();
  await block();
  expect([stored.length, done]).toEqual([SENT.length, ["entrusted c1", "entrusted c1"]]);
});
