import fc from "fast-check";
import { expect, test } from "vitest";
import { TERMS_KEY as KEY, swapTerms } from "../../../test/fakes/swapTerms.ts";
import { duties } from "./duties.ts";
import {
  isChildSlot,
  isReplaceableSlot,
  ownClaim,
  ownPayment,
  ownRefund,
  parentOf,
  type Role,
  type Slot,
  type SwapEvent,
  type SwapTerms,
  theirClaim,
} from "./events.ts";
import { MAX_FORMS } from "./keptBytes.ts";
import { dangerOf } from "./swapDanger.ts";
import {
  begin,
  fold,
  isFeeMoot,
  mayShowSecret,
  type OwnTx,
  outcomeOf,
  paymentMayExist,
  type SwapState,
  secretIsPublic,
  step,
  versionsOf,
} from "./swapState.ts";
import { swapStatus } from "./swapStatus.ts";

const SLOTS: readonly Slot[] = [
  "fee",
  "makerPayment",
  "takerPayment",
  "takerPaymentSpend",
  "makerPaymentSpend",
  "makerPaymentRefund",
  "takerPaymentRefund",
  "cancel",
  "feeChild",
  "paymentChild",
  "claimChild",
  "refundChild",
];

const terms = (role: Role): SwapTerms => swapTerms(role, { secretSalt: role === "maker" ? 7 : null });

const negotiated: SwapEvent = {
  type: "negotiated",
  with: { theirStartedAt: 1_700_000_001, theirLocktime: 1_700_007_801, makerCoinPub: KEY, takerCoinPub: KEY, secretHash: "22".repeat(20) },
};

const slot = fc.constantFrom(...SLOTS);
const txid = fc.constantFrom("aa".repeat(32), "bb".repeat(32), "cc".repeat(32));
const block = fc.option(fc.record({ height: fc.integer({ min: 1, max: 9 }), hash: fc.constantFrom("h1", "h2", "h3") }));
const failure = { event: "TakerPaymentValidateFailed", reason: "x" };
const anyEvent: fc.Arbitrary<SwapEvent> = fc.oneof(
  fc.constant(negotiated),
  fc.record({ type: fc.constant("tx_received" as const), slot, txid, raw: fc.constant("00") }),
  fc.record({ type: fc.constant("tx_signed" as const), slot, txid, raw: fc.constant("00"), notAfter: fc.constant(null) }),
  fc.record({ type: fc.constant("tx_replaced" as const), slot, txid, raw: fc.constant("01"), fee: fc.constant("7") }),
  fc.record({ type: fc.constant("tx_attempted" as const), slot }),
  fc.record({ type: fc.constant("tx_dropped" as const), slot, failure: fc.constantFrom(failure, null) }),
  fc.record({ type: fc.constant("tx_seen" as const), slot, txid, raw: fc.constant("00"), block }),
  fc.record({ type: fc.constant("tx_confirmed" as const), slot, txid, block }),
  fc.record({ type: fc.constant("tx_withdrawn" as const), slot, txid }),
  fc.constant<SwapEvent>({ type: "secret_learned", secret: "33".repeat(32) }),
  fc.constant<SwapEvent>({ type: "refund_decided", failure }),
  fc.constant<SwapEvent>({ type: "abandoned", failure }),
  fc.constant<SwapEvent>({ type: "payment_gone" }),
  fc.constant<SwapEvent>({ type: "own_payment_gone" }),
  fc.constant<SwapEvent>({ type: "record_cut" }),
);
const role = fc.constantFrom<Role>("maker", "taker");
const hex = "aa".repeat(32);
const inBlock = { height: 5, hash: "h1" };
const received = (s: Slot): SwapEvent => ({ type: "tx_received", slot: s, txid: hex, raw: "00" });
const seen = (s: Slot): SwapEvent => ({ type: "tx_seen", slot: s, txid: hex, raw: "00", block: inBlock });
const confirmed = (s: Slot): SwapEvent => ({ type: "tx_confirmed", slot: s, txid: hex, block: inBlock });
const signed = (s: Slot): SwapEvent => ({ type: "tx_signed", slot: s, txid: hex, raw: "00", notAfter: null });
const attempted = (s: Slot): SwapEvent => ({ type: "tx_attempted", slot: s });
const sent = (s: Slot): SwapEvent[] => [signed(s), attempted(s), seen(s), confirmed(s)];
/** What each side lives through when all goes well, after the negotiation. */
const ROAD: { readonly [R in Role]: readonly SwapEvent[] } = {
  maker: [received("fee"), ...sent("makerPayment"), seen("takerPayment"), confirmed("takerPayment"), ...sent("takerPaymentSpend")],
  taker: [
    ...sent("fee"),
    seen("makerPayment"),
    confirmed("makerPayment"),
    ...sent("takerPayment"),
    seen("takerPaymentSpend"),
    { type: "secret_learned", secret: "33".repeat(32) },
    ...sent("makerPaymentSpend"),
  ],
};
/** The road with parts of it missing and a few other events between: chance alone hardly ever gets far along it. */
const story = (r: Role): fc.Arbitrary<readonly SwapEvent[]> =>
  fc
    .tuple(fc.subarray([...ROAD[r]]), fc.array(fc.tuple(fc.nat(20), anyEvent), { maxLength: 6 }))
    .map(([road, more]) => more.reduce<readonly SwapEvent[]>((log, [at, e]) => log.toSpliced(Math.min(at, log.length), 0, e), road));
const log = (r: Role): fc.Arbitrary<readonly SwapEvent[]> =>
  fc.oneof({ weight: 3, arbitrary: story(r) }, fc.array(anyEvent, { maxLength: 40 }));
const roleAndLog = role.chain((r) => fc.tuple(fc.constant(r), log(r)));
const publishes = (s: SwapState, slot: Slot): boolean => duties(s).some((d) => d.do === "publish" && d.slot === slot);
const RUNS = { numRuns: 1_000 };
const STEPS: readonly string[] = ["await_fee", "pay_fee", "await_payment", "pay", "claim"];
/** Steps and transactions to publish along `ROAD`, before its first event and after each. */
const DEMANDED: { readonly [R in Role]: readonly string[] } = {
  maker: [
    "await_fee",
    "pay",
    "await_payment makerPayment",
    "await_payment makerPayment",
    "await_payment makerPayment",
    "await_payment",
    "await_payment",
    "claim",
    "takerPaymentSpend",
    "takerPaymentSpend",
    "takerPaymentSpend",
    "",
  ],
  taker: [
    "pay_fee",
    "fee",
    "fee await_payment",
    "fee await_payment",
    "await_payment",
    "await_payment",
    "pay",
    "takerPayment",
    "takerPayment",
    "takerPayment",
    "",
    "",
    "claim",
    "makerPaymentSpend",
    "makerPaymentSpend",
    "makerPaymentSpend",
    "",
  ],
};
const started = (r: Role): SwapState => begin({ type: "started", terms: terms(r) });
const run = (r: Role, events: readonly SwapEvent[]): SwapState => events.reduce(step, started(r));

test("no state with our money locked and not final is idle, whatever order events arrive in", () => {
  fc.assert(
    fc.property(roleAndLog, ([r, events]) => {
      const s = step(run(r, [negotiated, ...events]), negotiated);
      if (!paymentMayExist(s) || outcomeOf(s) !== null) return;
      const kinds = duties(s).map((d) => d.do);
      expect(kinds).toContain("observe");
      const refunding = kinds.includes("refund") || duties(s).some((d) => d.do === "publish" && d.slot === ownRefund(r));
      const lostToTheirClaim = s.facts[r === "maker" ? "makerPaymentSpend" : "takerPaymentSpend"]?.confirmed;
      // The other side took our payment for good: what is left is to take theirs.
      expect(refunding || lostToTheirClaim).toBe(true);
    }),
    RUNS,
  );
});

test("the maker never claims (reveals the secret) before its payment left and the taker payment is confirmed, nor on the refund road", () => {
  fc.assert(
    fc.property(log("maker"), (events) => {
      const s = run("maker", [negotiated, ...events]);
      // Nothing is left to reveal.
      if (secretIsPublic(s)) return;
      const off = s.refund ?? s.abandoned ?? s.finished;
      // Signed is not revealed: what never left stays home once the straight road is left.
      if (publishes(s, "takerPaymentSpend") && !s.own.takerPaymentSpend?.attempted) expect(off).toBeNull();
      if (!duties(s).some((d) => d.do === "claim")) return;
      expect(off).toBeNull();
      expect(s.own.makerPayment?.attempted).toBe(true);
      expect(s.facts.takerPayment?.confirmed).toBe(true);
    }),
    RUNS,
  );
});

test("the taker never pays before the maker payment is confirmed and its own fee left", () => {
  fc.assert(
    fc.property(log("taker"), (events) => {
      const s = run("taker", [negotiated, ...events]);
      if (!duties(s).some((d) => d.do === "pay")) return;
      expect(s.facts.makerPayment?.confirmed).toBe(true);
      expect(s.own.fee?.attempted).toBe(true);
    }),
    RUNS,
  );
});

test("a payment is put before the network only while it may still leave: not when it never left and the swap is given up, nor beside its cancellation", () => {
  fc.assert(
    fc.property(roleAndLog, ([r, events]) => {
      const s = run(r, [negotiated, ...events]);
      if (!publishes(s, ownPayment(r))) return;
      expect(s.own.cancel).toBeUndefined();
      expect(s.own[ownPayment(r)]?.attempted === true || s.abandoned === null).toBe(true);
    }),
    RUNS,
  );
});

test("the road of each side, step by step: what the states demand, and no step before its time", () => {
  for (const r of ["maker", "taker"] as const) {
    const states = ROAD[r].map((_, i) => run(r, [negotiated, ...ROAD[r].slice(0, i)]));
    const end = run(r, [negotiated, ...ROAD[r]]);
    const demanded = [...states, end]
      .map(duties)
      .map((list) => list.flatMap((d) => (d.do === "publish" ? d.slot : STEPS.includes(d.do) ? d.do : [])));
    expect([...states, end].map(outcomeOf)).toEqual([...states.map(() => null), "success"]);
    expect(demanded.map((d) => d.join(" "))).toEqual(DEMANDED[r]);
  }
});

test("an outcome other than failed needs a confirmed chain fact, and failed that nothing of ours left or what it spends is gone", () => {
  fc.assert(
    fc.property(roleAndLog, ([r, events]) => {
      const s = run(r, events);
      const outcome = outcomeOf(s);
      if (outcome === "success") expect(s.facts[ownClaim(r)]?.confirmed).toBe(true);
      if (outcome === "refunded") expect(s.facts[ownRefund(r)]?.confirmed).toBe(true);
      if (outcome === "failed") expect(s.isOursGone ? s.facts[ownPayment(r)] : paymentMayExist(s)).toBeFalsy();
    }),
    RUNS,
  );
});

test("an attempted transaction is never dropped from the outbox; a payment or fee is never replaced, and of others all versions stay", () => {
  fc.assert(
    fc.property(roleAndLog, fc.array(anyEvent, { maxLength: 10 }), slot, ([r, before], after, which) => {
      const s = run(r, before);
      const own = s.own[which];
      if (!own?.attempted) return;
      const later = after.reduce(step, s).own[which];
      if (!isReplaceableSlot(which)) expect(later).toEqual(own);
      expect(later?.attempted).toBe(true);
      expect(later && versionsOf(later).slice(0, versionsOf(own).length)).toEqual(versionsOf(own));
    }),
    RUNS,
  );
});

test("a second transaction of a slot never takes the place of the first, whether or not that has left", () => {
  const sign = (txid: string): SwapEvent => ({ type: "tx_signed", slot: "makerPayment", txid, raw: "00", notAfter: null });
  const first: readonly SwapEvent[] = [{ type: "started", terms: terms("maker") }, negotiated, sign("first")];
  for (const left of [[], [{ type: "tx_attempted", slot: "makerPayment" }]] as const)
    expect(fold([...first, ...left, sign("second")]).own.makerPayment?.txid).toBe("first");
});

test("folding a stored log gives the same state as living through it, also after JSON", () => {
  fc.assert(
    fc.property(role, fc.array(anyEvent, { maxLength: 40 }), (r, events) => {
      const log: SwapEvent[] = [{ type: "started", terms: terms(r) }, ...events];
      expect(fold(JSON.parse(JSON.stringify(log)) as SwapEvent[])).toEqual(run(r, events));
    }),
  );
});

test("the status shows each KDF event once, never takes one back, and never shows the secret of a maker", () => {
  fc.assert(
    fc.property(role, fc.array(anyEvent, { maxLength: 40 }), (r, events) => {
      const log = [{ type: "started", terms: terms(r) } as SwapEvent, ...events].map((event, i) => ({ v: 1 as const, atMs: i, event }));
      const shown = (upTo: number): string[] =>
        (swapStatus(log.slice(0, upTo)).events as { event: { type: string } }[]).map((e) => e.event.type);
      const all = shown(log.length);
      expect(new Set(all).size).toBe(all.length);
      for (let n = 1; n < log.length; n++) expect(all.slice(0, shown(n).length)).toEqual(shown(n));
    }),
  );
});

test("a reorg that takes the claim back after the finish shows beside the status and makes the claim go out again", () => {
  const t = "aa".repeat(32);
  const done = run("maker", [
    negotiated,
    { type: "tx_signed", slot: "makerPayment", txid: t, raw: "00", notAfter: null },
    { type: "tx_attempted", slot: "makerPayment" },
    { type: "tx_signed", slot: "takerPaymentSpend", txid: t, raw: "00", notAfter: null },
    { type: "tx_attempted", slot: "takerPaymentSpend" },
    { type: "tx_seen", slot: "takerPaymentSpend", txid: t, raw: "00", block: { height: 5, hash: "h" } },
    { type: "tx_confirmed", slot: "takerPaymentSpend", txid: t, block: { height: 5, hash: "h" } },
    { type: "finished", outcome: "success" },
  ]);
  expect(duties(done).some((d) => d.do === "publish" && d.slot === "takerPaymentSpend")).toBe(false);
  const back = step(done, { type: "tx_withdrawn", slot: "takerPaymentSpend", txid: t });
  expect(back.withdrawnAfterFinish).toEqual(["takerPaymentSpend"]);
  expect(duties(back).some((d) => d.do === "publish" && d.slot === "takerPaymentSpend")).toBe(true);
});

test("versions of a transaction are all kept, payments and the fee have one, and what left stays marked", () => {
  fc.assert(
    fc.property(role, fc.array(anyEvent, { maxLength: 40 }), (r, events) => {
      const s = run(r, events);
      for (const [name, tx] of Object.entries(s.own) as [Slot, OwnTx][]) {
        const ids = versionsOf(tx).map((v) => v.txid);
        expect(new Set(ids).size).toBe(ids.length);
        if (!isReplaceableSlot(name)) expect(ids).toHaveLength(1);
        const firstIn = events.findLastIndex((e) => e.type === "tx_signed" && e.slot === name && e.txid === ids[0]);
        expect(firstIn).toBeGreaterThanOrEqual(0);
      }
      // A version more never takes the mark away.
      for (const e of events.filter((x) => x.type === "tx_replaced")) {
        expect(step(s, e).own[e.slot]?.attempted).toBe(s.own[e.slot]?.attempted);
      }
    }),
  );
});

test("the forms of a payment are kept in the order in which they first counted, and no more of them than can be spent", () => {
  const id = (n: number): string => n.toString(16).padStart(64, "0");
  const announced: SwapEvent[] = [1, 2, 1].map((n) => ({ type: "tx_received", slot: "makerPayment", txid: id(n), raw: "00" }));
  const shown: SwapEvent[] = [3, 2, 4].map((n) => ({ type: "tx_seen", slot: "makerPayment", txid: id(n), raw: "00", block: inBlock }));
  const s = run("taker", [negotiated, ...announced, ...shown, signed("fee"), { type: "tx_withdrawn", slot: "makerPayment", txid: id(4) }]);
  expect(s.forms).toEqual({ makerPayment: [1, 2, 3, 4].map((n) => ({ txid: id(n), raw: "00" })) });
  const many: SwapEvent[] = Array.from({ length: 99 }, (_, n) => ({
    type: "tx_seen",
    slot: "makerPayment",
    txid: id(n),
    raw: "00",
    block: null,
  }));
  expect(run("taker", [negotiated, ...many]).forms.makerPayment).toHaveLength(MAX_FORMS);
});

test.each(["maker", "taker"] as const)("what is paid against, or the secret shown for, is kept whatever was shown before: %s", (r) => {
  const theirs = r === "maker" ? "takerPayment" : "makerPayment";
  const junk: SwapEvent[] = Array.from({ length: 20 }, (_, n) => ({
    type: "tx_seen",
    slot: theirs,
    txid: `j${n}`,
    raw: "00",
    block: null,
  }));
  const step = signed(r === "maker" ? ownClaim(r) : ownPayment(r));
  const { forms } = run(r, [negotiated, ...junk, seen(theirs), step, ...junk]);
  expect(forms[theirs]?.[0]).toEqual({ txid: hex, raw: "00" });
  expect(forms[theirs]).toHaveLength(MAX_FORMS);
  if (r === "taker") expect(forms.takerPayment).toEqual([{ txid: hex, raw: "00" }]);
});

test("a child is made and published only for a transaction that left, is published and waits", () => {
  fc.assert(
    fc.property(role, fc.array(anyEvent, { maxLength: 40 }), (r, events) => {
      const s = run(r, [negotiated, ...events]);
      const wanted = duties(s);
      for (const d of wanted) {
        const parent = d.do === "bump" ? d.slot : d.do === "publish" && isChildSlot(d.slot) ? parentOf(r, d.slot) : null;
        if (parent === null) continue;
        expect(wanted.some((p) => p.do === "publish" && p.slot === parent)).toBe(true);
        expect(s.own[parent]?.attempted).toBe(true);
        expect(s.facts[parent]?.confirmed).not.toBe(true);
        if (parent === ownPayment(r)) expect(s.own.cancel).toBeUndefined();
      }
    }),
  );
});

test("a chain that turns a success round after the end is believed: both payments are the other side's", () => {
  const [a, b, c, d] = ["aa", "bb", "cc", "dd"].map((x) => x.repeat(32)) as [string, string, string, string];
  const blockAt = (height: number) => ({ height, hash: `h${height}` });
  const deep = (name: Slot, id: string): SwapEvent[] => [
    { type: "tx_seen", slot: name, txid: id, raw: "00", block: blockAt(5) },
    { type: "tx_confirmed", slot: name, txid: id, block: blockAt(5) },
  ];
  const done = run("maker", [
    negotiated,
    { type: "tx_signed", slot: "makerPayment", txid: a, raw: "00", notAfter: null },
    { type: "tx_attempted", slot: "makerPayment" },
    { type: "tx_signed", slot: "takerPaymentSpend", txid: b, raw: "00", notAfter: null },
    { type: "tx_attempted", slot: "takerPaymentSpend" },
    ...deep("takerPaymentSpend", b),
    { type: "finished", outcome: "success" },
    ...deep("makerPaymentSpend", c),
    { type: "tx_withdrawn", slot: "takerPaymentSpend", txid: b },
    ...deep("takerPaymentRefund", d),
  ]);
  expect([done.finished, outcomeOf(done)]).toEqual(["success", "lost"]);
  const told = step(done, { type: "finished", outcome: "lost" });
  expect([told.finished, dangerOf(told)]).toEqual(["lost", "the other side took both payments"]);
  expect(step(told, { type: "finished", outcome: "lost" })).toBe(told);
});

test.each(["maker", "taker"] as const)(
  "of a %s the own payment is published until a block has it, though an old log calls it confirmed in none",
  (r) => {
    const slot = ownPayment(r);
    const unseen: SwapEvent[] = [
      { type: "tx_seen", slot, txid: hex, raw: "00", block: null },
      { type: "tx_confirmed", slot, txid: hex, block: null },
    ];
    const state = run(r, [negotiated, signed(slot), attempted(slot), ...unseen]);
    expect(duties(state)).toContainEqual({ do: "publish", slot });
    const mined = run(r, [negotiated, signed(slot), attempted(slot), ...unseen, seen(slot), confirmed(slot)]);
    expect(duties(mined)).not.toContainEqual({ do: "publish", slot });
  },
);

test("a payment given up for gone makes the swap a loss until the chain shows it again", () => {
  const block = { height: 5, hash: "h5" };
  const claimed: SwapEvent[] = [
    { type: "tx_signed", slot: "takerPayment", txid: "aa", raw: "00", notAfter: null },
    { type: "tx_attempted", slot: "takerPayment" },
    { type: "tx_seen", slot: "takerPaymentSpend", txid: "bb", raw: "00", block },
  ];
  const gone = run("taker", [negotiated, ...claimed, { type: "payment_gone" }]);
  expect(outcomeOf(gone)).toBeNull();
  const lost = step(gone, { type: "tx_confirmed", slot: "takerPaymentSpend", txid: "bb", block });
  expect(outcomeOf(lost)).toBe("lost");
  expect(step(lost, { type: "payment_gone" })).toBe(lost);
  const back = step(lost, { type: "tx_seen", slot: "makerPayment", txid: "cc", raw: "00", block: null });
  expect(outcomeOf(back)).toBeNull();
  expect(outcomeOf(step(back, { type: "payment_gone" }))).toBe("lost");
});

test.each(["maker", "taker"] as const)(
  "the swap of a %s whose own payment is gone has failed, and goes on as before once the chain shows it",
  (r) => {
    const slot = ownPayment(r);
    const gone: SwapEvent = { type: "own_payment_gone" };
    const unsent = run(r, [negotiated, { type: "tx_signed", slot, txid: hex, raw: "00", notAfter: null }]);
    expect(step(unsent, gone)).toBe(unsent);
    const sent = run(r, [negotiated, signed(slot), attempted(slot), seen(slot)]);
    expect(step(sent, gone)).toBe(sent);
    // A backend took it, and no block ever had it.
    const taken: SwapEvent = { type: "tx_seen", slot, txid: hex, raw: "00", block: null };
    const over = run(r, [negotiated, signed(slot), attempted(slot), taken, { type: "refund_decided", failure }, gone]);
    expect([outcomeOf(over), step(over, gone)]).toEqual(["failed", over]);
    const ended = step(over, { type: "finished", outcome: "failed" });
    const money = [{ do: "observe" }, { do: "publish", slot }, { do: "refund" }];
    expect(duties(ended)).toEqual(expect.arrayContaining(money));
    const back = step(ended, taken);
    expect([outcomeOf(back), duties(back)]).toEqual([null, expect.arrayContaining(money)]);
    expect(outcomeOf(step(over, seen(theirClaim(r))))).toBeNull();
  },
);

test("a payment or fee has one version for ever, a claim as many as come and no version twice", () => {
  const [a, b] = ["aa", "bb"].map((x) => x.repeat(32)) as [string, string];
  for (const name of ["fee", "makerPayment", "takerPayment", "makerPaymentSpend"] as const) {
    const s = run("taker", [negotiated, { type: "tx_signed", slot: name, txid: a, raw: "00", notAfter: null }]);
    const next = step(s, { type: "tx_replaced", slot: name, txid: b, raw: "01", fee: "9" });
    expect(next === s).toBe(!isReplaceableSlot(name));
    expect(step(next, { type: "tx_replaced", slot: name, txid: a, raw: "00", fee: "9" })).toBe(next);
  }
});

test("a maker of a swap that KDF began claims on any road once the secret was seen, and not for a spend that shows none", () => {
  const takenOver = { ...terms("maker"), takenOver: { secret: "33".repeat(32), events: [] } };
  const seen = (slot: Slot): SwapEvent => ({ type: "tx_seen", slot, txid: "aa".repeat(32), raw: "00", block: null });
  const givenUp: readonly SwapEvent[] = [
    negotiated,
    { type: "tx_signed", slot: "makerPayment", txid: "bb".repeat(32), raw: "00", notAfter: null },
    { type: "tx_attempted", slot: "makerPayment" },
    seen("takerPayment"),
    { type: "refund_decided", failure },
    seen("makerPaymentSpend"),
  ];
  const claims = (of: SwapTerms, ...more: readonly SwapEvent[]): boolean =>
    duties(fold([{ type: "started", terms: of }, ...givenUp, ...more])).some((d) => d.do === "claim");
  const shown: SwapEvent = { type: "secret_learned", secret: "33".repeat(32) };
  expect(claims(takenOver)).toBe(false);
  expect(claims(takenOver, shown)).toBe(true);
  // One in a block needs no second beside it.
  expect(claims(takenOver, shown, { ...seen("takerPaymentSpend"), block: { height: 5, hash: "h" } } as SwapEvent)).toBe(false);
  // Nothing of this is a road of a swap of this node's own.
  expect(claims(terms("maker"), shown)).toBe(false);
});

test.each(["takerPaymentSpend", "makerPaymentSpend"] as const)("a maker's secret is out for good once a claim was seen: %s", (slot) => {
  const before = [{ type: "started", terms: terms("maker") } as const, negotiated, seen("takerPayment"), seen("takerPaymentRefund")];
  expect(mayShowSecret(fold(before))).toBe(true);
  expect(mayShowSecret(fold([...before, seen(slot), { type: "tx_withdrawn", slot, txid: hex }]))).toBe(false);
  expect(mayShowSecret(fold([{ type: "started", terms: terms("taker") }, negotiated]))).toBe(false);
});

test("a swap whose record was cut begins nothing: it looks for its payment, and sends on only what the record says has left", () => {
  fc.assert(
    fc.property(roleAndLog, ([r, events]) => {
      const s = run(r, [negotiated, { type: "record_cut" }, ...events]);
      const begun = duties(s).filter((d) => d.do === "negotiate" || d.do === "pay" || d.do === "pay_fee");
      expect(begun).toEqual([]);
      for (const slot of ["fee", ownPayment(r)] as const) if (publishes(s, slot)) expect(s.own[slot]?.attempted).toBe(true);
      const isOpen = !s.refund && !s.abandoned && !s.finished;
      if (isOpen && s.own[ownPayment(r)]?.attempted !== true) expect(duties(s)).toContainEqual({ do: "seek" });
    }),
    RUNS,
  );
});

test.each(["maker", "taker"] as const)(
  "a %s whose payment was dropped when its refund was decided gives the swap up, or looks for that first",
  (r) => {
    const paid = ROAD[r].findIndex((e) => "slot" in e && e.slot === ownPayment(r) && e.type === "tx_attempted");
    const events: readonly SwapEvent[] = [...ROAD[r].slice(0, paid), { type: "refund_decided", failure }];
    const dropped: readonly SwapEvent[] = [negotiated, ...events, { type: "tx_dropped", slot: ownPayment(r), failure: null }];
    expect(duties(run(r, dropped))).toContainEqual({ do: "pay" });
    expect(duties(run(r, [...dropped, { type: "record_cut" }]))).toContainEqual({ do: "seek" });
    expect(duties(run(r, [negotiated, ...events, { type: "record_cut" }]))).toContainEqual({ do: "seek" });
  },
);

test("a taker's fee is moot once the swap came to nothing, its payment is taken back, or the secret is out; not while the maker may go on", () => {
  const upTo = (count: number): SwapState => run("taker", [negotiated, ...ROAD.taker.slice(0, count)]);
  const paid = ROAD.taker.findIndex((e) => e.type === "tx_seen" && e.slot === "takerPayment");
  for (let count = 0; count <= paid; count++) expect(isFeeMoot(upTo(count))).toBe(false);
  const out = upTo(paid);
  const decided = step(out, { type: "refund_decided", failure });
  expect(isFeeMoot(decided)).toBe(false);
  const ends: readonly SwapEvent[] = [
    signed("cancel"),
    signed("takerPaymentRefund"),
    { type: "secret_learned", secret: "33".repeat(32) },
    { type: "finished", outcome: "failed" },
  ];
  expect(ends.map((end) => isFeeMoot(step(decided, end)))).toEqual(ends.map(() => true));
});

test("a child never is once its parent is deep in a block, unless it left before", () => {
  const started: SwapEvent = { type: "started", terms: terms("maker") };
  const sign = (slot: Slot, id: string): SwapEvent => ({ type: "tx_signed", slot, txid: id, raw: "00", notAfter: null });
  const at = { height: 5, hash: "h1" };
  const parent: readonly SwapEvent[] = [
    sign("makerPaymentRefund", "refund"),
    { type: "tx_seen", slot: "makerPaymentRefund", txid: "refund", raw: "00", block: at },
  ];
  const deep: SwapEvent = { type: "tx_confirmed", slot: "makerPaymentRefund", txid: "refund", block: at };
  const child = sign("refundChild", "child");
  const log = [started, negotiated, ...parent];
  expect(fold([...log, child, deep]).own.refundChild).toBeUndefined();
  expect(fold([...log, deep, child]).own.refundChild).toBeUndefined();
  expect(fold([...log, child, { type: "tx_attempted", slot: "refundChild" }, deep]).own.refundChild?.txid).toBe("child");
});
