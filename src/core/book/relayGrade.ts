import { passedMs } from "../util/passedMs.ts";

/** How often what a relay said without a signature was refuted by one. Times unix ms. */
export type RelayRecord = { readonly points: number; readonly atMs: number };

export const NEW_RELAY: RelayRecord = { points: 0, atMs: 0 };

/** An honest relay is overtaken by a maker's message now and then; one that invents orders has each of them refuted. */
const DOUBT_POINTS = 5;
const MAX_POINTS = 30;
const POINT_LIFE_MS = 600_000;

const pointsOf = ({ points, atMs }: RelayRecord, nowMs: number): number =>
  Math.max(0, points - Math.floor(passedMs(atMs, nowMs, MAX_POINTS * POINT_LIFE_MS) / POINT_LIFE_MS));

/** Whether its word counts for nothing: its orders wait for two others, and it confirms none. */
export const isDoubtedRelay = (r: RelayRecord, nowMs: number): boolean => pointsOf(r, nowMs) >= DOUBT_POINTS;

export const isSpentRelay = (r: RelayRecord, nowMs: number): boolean => pointsOf(r, nowMs) === 0;

/** @param times keys whose orders, as the relay told them, were refuted at once */
export const withRefutations = (r: RelayRecord, times: number, nowMs: number): RelayRecord => ({
  points: Math.min(MAX_POINTS, pointsOf(r, nowMs) + times),
  atMs: nowMs,
});

export const relayRecordToJson = ({ points, atMs }: RelayRecord): string => JSON.stringify({ v: 1, points, atMs });

/** Reads what `relayRecordToJson` wrote; null for anything else. At most 200 characters are looked at. */
export function parseRelayRecord(text: string): RelayRecord | null {
  const match = text.length <= 200 ? /^\{"v":1,"points":(\d{1,3}),"atMs":(\d{1,15})\}$/.exec(text) : null;
  return match ? { points: Number(match[1]), atMs: Number(match[2]) } : null;
}
