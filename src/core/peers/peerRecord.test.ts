import { expect, test } from "vitest";
import {
  banOf,
  gradeOf,
  hasHistory,
  isSpent,
  NEW_PEER,
  type PeerRecord,
  trustedUnits,
  withFinishedSwap,
  withProof,
  withSilence,
} from "./peerRecord.ts";
import { parsePeerRecord, peerRecordToJson } from "./peerRecordJson.ts";

const T = 1_795_000_000_000;
const MIN = 60_000;
const HOUR = 60 * MIN;
const DAY = 24 * HOUR;
const proof = (swap: string) =>
  ({ kind: "FailedSwap", swap, side: "Maker", event: "TakerFeeValidateFailed", detail: "wrong amount" }) as const;
const hoursBanned = (r: PeerRecord, nowMs: number): number => ((banOf(r, nowMs)?.untilMs ?? nowMs) - nowMs) / HOUR;

test("each proven offence bans four times longer, up to a week, and one is forgotten a week", () => {
  let r = NEW_PEER;
  const lengths = [1, 2, 3, 4, 5, 6].map((n) => {
    r = withProof(r, proof(`s${n}`), T);
    return hoursBanned(r, T);
  });
  expect(lengths).toEqual([1, 4, 16, 64, 168, 168]);
  expect([gradeOf(r, T + 168 * HOUR - 1), gradeOf(r, T + 168 * HOUR), gradeOf(r, T + 42 * DAY)]).toEqual(["ban", "note", "none"]);
  const again = withProof(r, proof("later"), T + 35 * DAY);
  expect(hoursBanned(again, T + 35 * DAY)).toBe(4);
});

test("silence of any amount never bans: it throttles, and is forgotten within hours", () => {
  let r = NEW_PEER;
  for (let i = 0; i < 10_000; i++) r = withSilence(r, "noPayment", T);
  expect(gradeOf(r, T)).toBe("throttle");
  expect([gradeOf(r, T + 3 * HOUR + 19 * MIN), gradeOf(r, T + 3 * HOUR + 30 * MIN), gradeOf(r, T + 5 * HOUR)]).toEqual([
    "throttle",
    "note",
    "none",
  ]);
  expect(gradeOf(withSilence(NEW_PEER, "noFee", T), T)).toBe("note");
  expect(gradeOf(withSilence(NEW_PEER, "late", T), T)).toBe("note");
});

test("proof outranks suspicion: silence neither shortens nor replaces a ban, and a good swap clears only suspicion", () => {
  const banned = withProof(withSilence(NEW_PEER, "noPayment", T), proof("s"), T);
  const after = withFinishedSwap(withSilence(banned, "neverConnected", T + 1), { AAA: 5n }, T + 2);
  expect(banOf(after, T + 2)).toEqual({ reason: proof("s"), untilMs: T + HOUR });
  expect([after.points, after.offences]).toEqual([0, 1]);
});

test("the operator's ban stays where it lasts longer, and gives way where it does not", () => {
  const manual = { kind: "Manual", reason: "rude" } as const;
  const forGood = withProof({ ...NEW_PEER, ban: { reason: manual, untilMs: null } }, proof("s"), T);
  expect(banOf(forGood, T)?.reason).toEqual(manual);
  const short = withProof({ ...NEW_PEER, ban: { reason: manual, untilMs: T + MIN } }, proof("s"), T);
  expect(banOf(short, T)?.reason).toEqual(proof("s"));
});

test("after the clock was set back a ban for a swap does not last for years", () => {
  const r = withProof(NEW_PEER, proof("s"), T);
  expect([banOf(r, T - 300 * DAY), gradeOf(r, T - DAY)]).toEqual([null, "ban"]);
});

test("what was dated by a clock that has been set back since does not count for years", () => {
  const silent = withSilence(NEW_PEER, "noPayment", T);
  const proven = withProof(NEW_PEER, proof("s"), T);
  const traded = withFinishedSwap(NEW_PEER, { AAA: 3n }, T);
  const [years, minute] = [T - 1_000 * DAY, T - MIN];
  expect([gradeOf(silent, minute), gradeOf(proven, minute), hasHistory(traded, minute)]).toEqual(["throttle", "ban", true]);
  expect([gradeOf(silent, years), gradeOf(proven, years), hasHistory(traded, years)]).toEqual(["none", "none", false]);
  expect(gradeOf(withSilence(silent, "noFee", years), years)).toBe("note");
});

test("history vouches for ten times what was finished, in that coin, until it is 90 days old or something speaks against it", () => {
  const r = withFinishedSwap(withFinishedSwap(NEW_PEER, { AAA: 3n, BBB: 1n }, T), { AAA: 4n }, T);
  const aaa = (record: PeerRecord, nowMs = T): bigint => trustedUnits(record, "AAA", nowMs);
  expect([aaa(r), trustedUnits(r, "BBB", T), trustedUnits(r, "CCC", T)]).toEqual([70n, 10n, 0n]);
  expect([aaa(r, T + 90 * DAY - 1), aaa(r, T + 90 * DAY)]).toEqual([70n, 0n]);
  expect([aaa(withSilence(r, "noFee", T)), aaa(withSilence(r, "noPayment", T)), aaa(withProof(r, proof("s"), T), T + 2 * HOUR)]).toEqual([
    70n,
    0n,
    0n,
  ]);
  expect(withFinishedSwap(r, { AAA: 1n }, T + 91 * DAY).volumes).toEqual({ AAA: 1n });
});

test("a record says nothing any more when its grade and its history are gone", () => {
  const r = withSilence(withFinishedSwap(NEW_PEER, { AAA: 1n }, T), "noFee", T);
  expect([isSpent(r, T), isSpent(r, T + DAY), isSpent(r, T + 90 * DAY), hasHistory(r, T + DAY)]).toEqual([false, false, true, true]);
});

test("the coins of a history are bounded", () => {
  let r = NEW_PEER;
  for (let i = 0; i < 100; i++) r = withFinishedSwap(r, { [`C${i}`]: 1n }, T);
  expect(Object.keys(r.volumes)).toHaveLength(32);
});

test("what is stored comes back; what is damaged does not", () => {
  const r = withSilence(withProof(withFinishedSwap(NEW_PEER, { AAA: 10n ** 30n }, T), proof("s"), T), "noFee", T);
  expect(parsePeerRecord(peerRecordToJson(r))).toEqual({ ok: true, value: r });
  const manual = { ...NEW_PEER, ban: { reason: { kind: "Manual", reason: "x" }, untilMs: null } } as const;
  expect(parsePeerRecord(peerRecordToJson(manual))).toEqual({ ok: true, value: manual });
  const text = peerRecordToJson(r);
  for (const bad of [
    "",
    "{",
    "null",
    "[]",
    '{"v":2}',
    text.replace('"points":5', '"points":-5'),
    text.replace('"Maker"', '"maker"'),
    text.replace('"1000', '"x000'),
  ]) {
    expect([bad, parsePeerRecord(bad).ok]).toEqual([bad, false]);
  }
});
