import { expect, test } from "vitest";
import type { StoredWatch } from "../ports/chainStore.ts";
import { KnownStatus, type StatusFacts } from "./chainStatus.ts";

const watch: StoredWatch = { kind: "script", key: "aa", fromHeight: 5, nextHeight: 7 };
const tip = (height: number) => ({ height, hash: `${height}`, timeSec: height, medianTimePastSec: height });
const CALM: StatusFacts = { tip: tip(500), failure: null, stuck: null, reached: true, following: null, pending: [] };

test("a status is the same object until a fact is another, and then says what one made anew says", () => {
  const others: readonly Partial<StatusFacts>[] = [
    { tip: tip(501) },
    { failure: "away" },
    { stuck: "pruned" },
    { reached: false },
    { following: { from: 400, to: 600 } },
    { following: { from: 400, to: 601 } },
    { following: { from: 401, to: 601 } },
    { pending: [watch] },
    { pending: [{ ...watch, nextHeight: 8 }] },
  ];
  const known = new KnownStatus();
  let before = known.of(CALM);
  expect(known.of({ ...CALM })).toBe(before);
  for (const other of others) {
    const facts = { ...CALM, ...other };
    const now = known.of(facts);
    expect(now).not.toEqual(before);
    expect(now).toEqual(new KnownStatus().of(facts));
    expect(known.of({ ...facts })).toBe(now);
    before = now;
  }
});
