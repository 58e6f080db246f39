import { bitsOfTarget, targetOfBits } from "./compactTarget.ts";
import type { Easing, TargetRule } from "./headerRules.ts";

/** Blocks of one period, and how far its end may move the target. */
const PERIOD = 2_016;
const FACTOR = 4n;
/** Headers whose easiest target bounds the next (`smooth`). */
const WINDOW = 100;

/** A header's target and time. */
export type Timed = { readonly timeSec: number; readonly bits: number };
/** The time of one header that a later target is measured from. */
export type TimeMark = { readonly height: number; readonly timeSec: number };
/** What stands before a header. */
export type Before = {
  /** Of the last one. */
  readonly height: number;
  /** Oldest first, at least one. */
  readonly headers: readonly Timed[];
  readonly marks: readonly TimeMark[];
};

type Period = Extract<TargetRule, { kind: "period" }>;

const clamp = (n: bigint, low: bigint, high: bigint): bigint => (n < low ? low : n > high ? high : n);

/**
 * Target of the next 2016 blocks: the last one, stretched by the time they took, at most by 4 either way, never easier
 * than the limit (Bitcoin Core, `CalculateNextWorkRequired`).
 *
 * @param bits     compact target of the period that ends
 * @param tookSec  from the block measured from to the period's last; may be negative
 */
export function nextPeriodBits(bits: number, tookSec: number, rule: Pick<Period, "limitBits" | "spanSec">): number {
  const span = BigInt(rule.spanSec);
  const took = clamp(BigInt(tookSec), span / FACTOR, span * FACTOR);
  const limit = targetOfBits(rule.limitBits) ?? 0n;
  const next = ((targetOfBits(bits) ?? 0n) * took) / span;
  return bitsOfTarget(next > limit ? limit : next);
}

/** Whether a later target will be measured from the header at this height. */
export function isMark(height: number, rule: TargetRule | null): boolean {
  return rule?.kind === "period" && (height === 0 || (height + rule.measuredFrom) % PERIOD === 0);
}

function fitsPeriod(bits: number, before: Before, rule: Period): boolean {
  const last = before.headers.at(-1);
  if (!last) return true;
  const height = before.height + 1;
  if (height % PERIOD !== 0) return bits === last.bits;
  // The very first period has no block before it to measure from.
  const from = Math.max(0, height - PERIOD - rule.measuredFrom);
  const mark = before.marks.find((m) => m.height === from);
  if (mark) return bits === nextPeriodBits(last.bits, last.timeSec - mark.timeSec, rule);
  const hardest = targetOfBits(nextPeriodBits(last.bits, 0, rule)) ?? 0n;
  const easiest = targetOfBits(nextPeriodBits(last.bits, Number(FACTOR) * rule.spanSec, rule)) ?? 0n;
  const target = targetOfBits(bits) ?? 0n;
  return target >= hardest && target <= easiest;
}

function fitsWindow(target: bigint, before: Before): boolean {
  let easiest = 0n;
  for (const { bits } of before.headers.slice(-WINDOW)) {
    const one = targetOfBits(bits) ?? 0n;
    if (one > easiest) easiest = one;
  }
  return target <= FACTOR * easiest;
}

/** What rounding and the chains' own approximations may add to a target, three times over: one in so many. */
const SLACK = 1_000n;
/** Doublings past which any target is above every limit. */
const MOST_DOUBLINGS = 256;
/** Of the factor between two doublings, behind the point. */
const FACTOR_BITS = 32;

/** Whether a target is no easier after the last one than its chain makes it. */
function fitsEasing(target: bigint, { headers }: Before, easing: Easing, limit: bigint): boolean {
  const [former, last] = headers.slice(-2);
  const known = (last ?? former) && (targetOfBits((last ?? former)?.bits ?? 0) ?? 0n);
  if (known === undefined) return true;
  const most = known + known / SLACK;
  if (easing.kind === "step") return target * 100n <= most * BigInt(easing.percent);
  // How far the chain is beyond its limit nobody sees.
  if (!former || !last || former.timeSec < easing.sinceSec || most >= limit) return true;
  // Early ones make it harder: times that go to and fro would else ease it as often as they go.
  const lateSec = last.timeSec - former.timeSec - easing.spacingSec;
  const whole = Math.floor(lateSec / easing.halfLifeSec);
  const doublings = BigInt(Math.max(-MOST_DOUBLINGS, Math.min(MOST_DOUBLINGS, whole)));
  const factor = BigInt(Math.round(2 ** (lateSec / easing.halfLifeSec - whole + FACTOR_BITS)));
  const [ours, theirs] = [target << BigInt(FACTOR_BITS), most * factor];
  return doublings < 0n ? ours << -doublings <= theirs : ours <= theirs << doublings;
}

/**
 * Whether a header may have this compact target after those before it. Null `before`: it is the first, and only the
 * limit binds.
 */
export function targetFits(bits: number, before: Before | null, rule: TargetRule | null): boolean {
  if (rule === null) return true;
  const target = targetOfBits(bits);
  if (target === null || target > (targetOfBits(rule.limitBits) ?? 0n)) return false;
  if (before === null) return true;
  return rule.kind === "period"
    ? fitsPeriod(bits, before, rule)
    : fitsWindow(target, before) && fitsEasing(target, before, rule.easing, targetOfBits(rule.limitBits) ?? 0n);
}
