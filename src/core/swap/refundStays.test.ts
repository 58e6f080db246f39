import { expect, test } from "vitest";
import { type RefundView, refundStays } from "./refundStays.ts";

const YES_NO = [true, false] as const;
const SPENDS = ["none", "pooled", "mined"] as const;
const CLAIMS = ["mined", "none", "unknown"] as const;

/** Every view of the values of a field and of those before. */
const each = <F extends keyof RefundView>(views: readonly Partial<RefundView>[], field: F, values: readonly RefundView[F][]) =>
  views.flatMap((view) => values.map((value) => ({ ...view, [field]: value })));
const FLAGS = ["isSigned", "isPassed", "isHeldUp", "isPaid", "isTheirsBack", "wasClaimMined", "isFresh", "costsGas"] as const;
/** Every view there is. */
const VIEWS = FLAGS.reduce<readonly Partial<RefundView>[]>(
  (views, field) => each(views, field, YES_NO),
  each(each([{}], "spend", SPENDS), "claim", CLAIMS),
) as readonly RefundView[];
const leaves = (view: RefundView): boolean => refundStays(view) === null;
const LEAVING = VIEWS.filter(leaves);
const STAYING = VIEWS.filter((view) => !leaves(view));

test("all views are looked at", () => {
  expect(new Set(VIEWS.map((view) => JSON.stringify(view))).size).toBe(2_304);
  expect(LEAVING.length * STAYING.length).toBeGreaterThan(0);
});

test("none is signed before its time, by its chain and a second witness, or by the clock of who is kept from it", () => {
  expect(LEAVING.filter((v) => !v.isSigned && !v.isHeldUp && !(v.isPassed && v.isPaid))).toEqual([]);
});

test("none leaves beside an own claim that a block has, or had when somebody could look last", () => {
  expect(LEAVING.filter((v) => v.claim === "mined" || (v.claim === "unknown" && v.wasClaimMined))).toEqual([]);
});

test("none is signed for a payment that others have taken, in a block or with a secret that pays for something", () => {
  expect(LEAVING.filter((v) => !v.isSigned && (v.spend === "mined" || (v.spend === "pooled" && !v.isTheirsBack)))).toEqual([]);
});

test("where its time has come and nothing was spent it leaves in the end: what stays for ever costs the payment", () => {
  const due = VIEWS.filter((v) => v.isSigned || v.isHeldUp || (v.isPassed && v.isPaid));
  const unspent = due.filter(
    (v) => v.spend === "none" && !v.isFresh && (v.claim === "none" || (v.claim === "unknown" && !v.wasClaimMined)),
  );
  expect(unspent.length).toBeGreaterThan(0);
  expect(unspent.filter((v) => !leaves(v))).toEqual([]);
});

test("none is sent only to fail where that costs gas; elsewhere a block that took the payment, and may go, keeps nothing that is signed", () => {
  const taken = VIEWS.filter((v) => v.isSigned && v.spend === "mined");
  expect(taken.filter((v) => v.costsGas && leaves(v))).toEqual([]);
  const free = taken.filter((v) => !v.costsGas);
  expect(free.filter((v) => leaves(v) !== leaves({ ...v, spend: "none" }))).toEqual([]);
});

test("what is signed goes on whatever its chain's time and pools show: near the later lock whoever waits could lose both", () => {
  const signed = LEAVING.filter((v) => v.isSigned);
  expect(signed.length).toBeGreaterThan(0);
  for (const v of signed)
    for (const shown of [
      { isPassed: false },
      { isHeldUp: false },
      { isPaid: false },
      { spend: "pooled" },
      { isTheirsBack: false },
    ] as const)
      expect(leaves({ ...v, ...shown }), JSON.stringify([v, shown])).toBe(true);
});

test("less knowledge allows less while there was no time to look: what leaves then leaves whatever the look shows", () => {
  for (const v of LEAVING.filter((view) => view.isFresh && view.claim === "unknown"))
    for (const claim of CLAIMS) expect(leaves({ ...v, claim }), JSON.stringify({ ...v, claim })).toBe(true);
});

test("after that what nobody can look at counts as the log has it: own money comes before honesty", () => {
  for (const v of VIEWS.filter((view) => !view.isFresh)) {
    const recorded = v.wasClaimMined ? "mined" : "none";
    expect(leaves({ ...v, claim: "unknown" })).toBe(leaves({ ...v, claim: recorded }));
  }
});

test("none leaves the sooner for what speaks against it, or for what is not known", () => {
  const stricter: readonly Partial<RefundView>[] = [
    { isPassed: false },
    { isHeldUp: false },
    { isPaid: false },
    { spend: "mined" },
    { isTheirsBack: false },
    { claim: "mined" },
    { wasClaimMined: true },
    { isFresh: true },
    { isSigned: false },
    { costsGas: true },
  ];
  for (const v of VIEWS)
    for (const more of stricter) if (leaves({ ...v, ...more })) expect(leaves(v), JSON.stringify([v, more])).toBe(true);
});
