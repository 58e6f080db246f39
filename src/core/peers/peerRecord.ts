import { passedMs } from "../util/passedMs.ts";

/** Why a key is banned. `side`: this node's part in the swap; `event`: KDF's name of the step that failed. */
export type BanReason =
  | { readonly kind: "Manual"; readonly reason: string }
  | {
      readonly kind: "FailedSwap";
      readonly swap: string;
      readonly side: "Maker" | "Taker";
      readonly event: string;
      readonly detail: string;
    };

/** `untilMs`: unix ms; null = until it is lifted. */
export type Ban = { readonly reason: BanReason; readonly untilMs: number | null };

/**
 * What this node remembers of one counterparty. Times unix ms. Two kinds of evidence never mix: `offences` are contents the
 * key has signed and no accident explains; `points` are suspicion, which its own or our network trouble explains as well.
 */
export type PeerRecord = {
  readonly ban: Ban | null;
  readonly offences: number;
  readonly offenceAtMs: number;
  readonly points: number;
  readonly pointsAtMs: number;
  /** Swaps that ended well for both, and the coins that changed hands in them: base units by ticker. */
  readonly finished: number;
  readonly finishedAtMs: number;
  readonly volumes: { readonly [ticker: string]: bigint };
};

/** `note`: something is suspected. `throttle`: its history counts for nothing and its share is small. `ban`: not answered. */
export type Grade = "none" | "note" | "throttle" | "ban";

export const NEW_PEER: PeerRecord = {
  ban: null,
  offences: 0,
  offenceAtMs: 0,
  points: 0,
  pointsAtMs: 0,
  finished: 0,
  finishedAtMs: 0,
  volumes: {},
};

/** What a kind of silence costs, by what it may have cost us: a held offer, a swap begun in vain, a payment locked in vain. */
const SUSPICION = { neverConnected: 1, late: 1, noFee: 5, noPayment: 10 } as const;
export type Silence = keyof typeof SUSPICION;

/** Points at which a key is throttled, and most that it can have: silence is forgotten, however long it lasted. */
const THROTTLE_POINTS = 10;
const MAX_POINTS = 30;
/** One point is forgotten after this long. */
const POINT_LIFE_MS = 600_000;
/** First ban for proven bad faith; each further one four times longer, up to a week. KDF: always an hour (reference swap-protocol.md 6.7). */
const FIRST_BAN_MS = 3_600_000;
const BAN_FACTOR = 4;
const LONGEST_BAN_MS = 168 * 3_600_000;
/** One proven offence is forgotten after this long. */
const OFFENCE_LIFE_MS = 7 * 86_400_000;
/** History counts until the key has finished nothing for this long. */
const HISTORY_LIFE_MS = 90 * 86_400_000;
/** A key is trusted with this many times what it has finished: to fake a history costs fees in proportion to what it can hold. */
const TRUST_FACTOR = 10;
/** Coins remembered per key; the smallest number of them is enough for anybody who trades by hand. */
const MAX_VOLUMES = 32;

const suspicionOf = (r: PeerRecord, nowMs: number): number =>
  Math.max(0, r.points - Math.floor(passedMs(r.pointsAtMs, nowMs, MAX_POINTS * POINT_LIFE_MS) / POINT_LIFE_MS));

const offencesOf = (r: PeerRecord, nowMs: number): number =>
  Math.max(0, r.offences - Math.floor(passedMs(r.offenceAtMs, nowMs, OFFENCE_LIFE_MS) / OFFENCE_LIFE_MS));

/** The ban in force. One for a swap that would outlast the longest means that the clock was set back: it is over. */
export function banOf({ ban }: PeerRecord, nowMs: number): Ban | null {
  if (!ban || ban.untilMs === null) return ban;
  const leftMs = ban.untilMs - nowMs;
  return leftMs <= 0 || (ban.reason.kind === "FailedSwap" && leftMs > LONGEST_BAN_MS) ? null : ban;
}

export function gradeOf(r: PeerRecord, nowMs: number): Grade {
  if (banOf(r, nowMs)) return "ban";
  const points = suspicionOf(r, nowMs);
  if (points >= THROTTLE_POINTS) return "throttle";
  return points > 0 || offencesOf(r, nowMs) > 0 ? "note" : "none";
}

/** Whether finished swaps with the key still count. */
export const hasHistory = (r: PeerRecord, nowMs: number): boolean =>
  r.finished > 0 && passedMs(r.finishedAtMs, nowMs, HISTORY_LIFE_MS) < HISTORY_LIFE_MS;

/** What the key's history vouches for, base units of a coin. Nothing while it is throttled, banned, or an offence is remembered. */
export function trustedUnits(r: PeerRecord, ticker: string, nowMs: number): bigint {
  return isTrusted(r, nowMs) ? BigInt(TRUST_FACTOR) * (r.volumes[ticker] ?? 0n) : 0n;
}

/** For how many matches at a time that hold gas the key's history in a coin vouches: the finished ones have cost gas each. */
export const trustedMatches = (r: PeerRecord, ticker: string, nowMs: number): number =>
  trustedUnits(r, ticker, nowMs) > 0n ? TRUST_FACTOR * r.finished : 0;

/** Whether swaps finished with the key speak for it, and nothing against it. */
export function isTrusted(r: PeerRecord, nowMs: number): boolean {
  const grade = gradeOf(r, nowMs);
  return grade !== "ban" && grade !== "throttle" && offencesOf(r, nowMs) === 0 && hasHistory(r, nowMs);
}

/** Contents the key has signed that no accident explains: a ban, longer each time. Never shortens a ban, and leaves the operator's alone. */
export function withProof(r: PeerRecord, proof: Extract<BanReason, { kind: "FailedSwap" }>, nowMs: number): PeerRecord {
  const offences = offencesOf(r, nowMs) + 1;
  const lengthMs = Math.min(LONGEST_BAN_MS, FIRST_BAN_MS * BAN_FACTOR ** (offences - 1));
  const live = banOf(r, nowMs);
  const outlasts = live?.reason.kind === "Manual" && (live.untilMs === null || live.untilMs > nowMs + lengthMs);
  return { ...r, offences, offenceAtMs: nowMs, ban: outlasts ? live : { reason: proof, untilMs: nowMs + lengthMs } };
}

/** Silence or lateness. Never bans. */
export function withSilence(r: PeerRecord, what: Silence, nowMs: number): PeerRecord {
  return { ...r, points: Math.min(MAX_POINTS, suspicionOf(r, nowMs) + SUSPICION[what]), pointsAtMs: nowMs };
}

/** A swap that ended well clears suspicion, not what was proven. `units`: by ticker. */
export function withFinishedSwap(r: PeerRecord, units: { readonly [ticker: string]: bigint }, nowMs: number): PeerRecord {
  const counts = hasHistory(r, nowMs);
  const volumes: { [ticker: string]: bigint } = counts ? { ...r.volumes } : {};
  for (const [ticker, amount] of Object.entries(units)) {
    const before = volumes[ticker];
    if (before !== undefined || Object.keys(volumes).length < MAX_VOLUMES) volumes[ticker] = (before ?? 0n) + amount;
  }
  return { ...r, finished: (counts ? r.finished : 0) + 1, finishedAtMs: nowMs, volumes, points: 0, pointsAtMs: nowMs };
}

/** Nothing in it says anything any more. */
export const isSpent = (r: PeerRecord, nowMs: number): boolean => gradeOf(r, nowMs) === "none" && !hasHistory(r, nowMs);
