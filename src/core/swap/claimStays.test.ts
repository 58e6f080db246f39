import { expect, test } from "vitest";
import { type ClaimView, claimStays } from "./claimStays.ts";

const YES_NO = [true, false] as const;
const TOLD = ["there", "gone", "unknown"] as const;
const PAYOUTS = ["paid", "refused", "unknown"] as const;

/** Every view there is. */
const VIEWS: readonly ClaimView[] = YES_NO.flatMap((isEarly) =>
  YES_NO.flatMap((isOursReturnable) =>
    TOLD.flatMap((theirs) =>
      YES_NO.flatMap((mustBeSeen) =>
        PAYOUTS.flatMap((payout) =>
          YES_NO.flatMap((isSlow) => YES_NO.map((isShort) => ({ isEarly, isOursReturnable, theirs, mustBeSeen, payout, isSlow, isShort }))),
        ),
      ),
    ),
  ),
);
const leaves = (view: ClaimView): boolean => claimStays(view) === null;
const LEAVING = VIEWS.filter(leaves);

test("all views are looked at", () => {
  expect(new Set(VIEWS.map((view) => JSON.stringify(view))).size).toBe(288);
});

test("no claim leaves that would show its secret for nothing, as far as that is known", () => {
  const inVain = LEAVING.filter((v) => v.isOursReturnable || v.theirs === "gone" || v.payout === "refused" || v.isShort);
  expect(inVain).toEqual([]);
});

test("a claim that everything speaks for leaves: what stays for ever costs the payment", () => {
  const paid = VIEWS.filter((v) => !v.isOursReturnable && v.theirs === "there" && v.payout === "paid" && !v.isSlow && !v.isShort);
  expect(paid).toHaveLength(4);
  expect(paid.filter((v) => !leaves(v))).toEqual([]);
});

test("what whoever withholds an answer brings about keeps no claim past its limit, but where nobody looks or its payment may be gone", () => {
  const known = VIEWS.filter((v) => !v.isOursReturnable && v.theirs !== "gone" && v.payout !== "refused" && !v.isShort);
  const late = known.filter((v) => !v.isEarly && !v.mustBeSeen);
  expect(late).toHaveLength(8);
  expect(late.filter((v) => !leaves(v))).toEqual([]);
});

test("before its limit less knowledge allows less: what leaves unsaid leaves whatever the answer is", () => {
  const early = LEAVING.filter((v) => v.isEarly);
  expect(early.length).toBeGreaterThan(0);
  for (const v of early) {
    if (v.theirs === "unknown") for (const theirs of TOLD) expect(leaves({ ...v, theirs }), JSON.stringify({ ...v, theirs })).toBe(true);
    if (v.payout === "unknown") for (const payout of PAYOUTS) expect(leaves({ ...v, payout }), JSON.stringify({ ...v, payout })).toBe(true);
  }
});

test("after it what is not said counts as favourable, for the claim may be out", () => {
  for (const v of VIEWS.filter((view) => !view.isEarly)) {
    expect(leaves({ ...v, payout: "unknown" })).toBe(leaves({ ...v, payout: "paid" }));
    const theirs = v.mustBeSeen ? "gone" : "there";
    expect(leaves({ ...v, theirs: "unknown" })).toBe(leaves({ ...v, theirs }));
  }
});

test("no claim leaves the sooner for time that is left, for what must be seen, or for what speaks against it", () => {
  const stricter: readonly Partial<ClaimView>[] = [
    { isEarly: true },
    { mustBeSeen: true },
    { isOursReturnable: true },
    { isSlow: true },
    { isShort: true },
    { theirs: "gone" },
    { payout: "refused" },
  ];
  for (const v of VIEWS)
    for (const more of stricter) if (leaves({ ...v, ...more })) expect(leaves(v), JSON.stringify([v, more])).toBe(true);
});
