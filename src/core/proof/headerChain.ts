import { err, ok, type Result } from "../util/result.ts";
import { type BlockHeader, withoutProof } from "./blockHeader.ts";
import { targetOfBits } from "./compactTarget.ts";
import type { HeaderFault } from "./headerFault.ts";
import type { HeaderRules } from "./headerRules.ts";
import { hasWork, workOf } from "./proofOfWork.ts";
import { isMark, type TimeMark, targetFits } from "./targetRule.ts";

/**
 * Headers kept: as many blocks, less one, may be taken back without asking for headers again. All that whoever follows the chain keeps of it:
 * a branch that leaves it further back could not be compared with it by its work.
 */
export const KEPT_HEADERS = 401;
/** Marks kept: those of the present period and of the one before, into which a chain may be taken back. */
const KEPT_MARKS = 3;
/** No kept header of an honest chain is easier than another by more: those of Dogecoin, which move most, by some four. */
const MOST_UNEVEN = 8n;
/** Headers whose times' median the next must pass (Bitcoin's median time past). */
const MEDIAN_OF = 11;
/**
 * A header may be so far ahead of our clock, seconds: Bitcoin's two hours, and no chain known allows more; the seventy minutes by which
 * daemons of its family may set their clock after their peers'; and a minute that ours may be slow. Who shows more is taken for a liar.
 */
const MAX_AHEAD_SEC = (120 + 70 + 1) * 60;

/** A chain of headers that was checked from its anchor on. Never changed: `extend` and `rewind` give new ones. */
export type Checked = {
  /** Of the last header. */
  readonly height: number;
  /** Oldest first, at least one, at most `KEPT_HEADERS`, without the proofs of their parents. The last is the tip. */
  readonly headers: readonly BlockHeader[];
  /** Of all headers since the anchor, the anchor's included, in hashes (`workOf`). */
  readonly work: bigint;
  /** Times from which later targets are measured; empty where none is, and until the first was passed. */
  readonly marks: readonly TimeMark[];
};

export type HeaderLimits = { /** Unix seconds, our clock. */ readonly nowSec: number };

/** The last header of the chain. */
export function tipOf(chain: Checked): BlockHeader {
  const tip = chain.headers.at(-1);
  if (!tip) throw new Error("a checked chain has at least one header");
  return tip;
}

/** Null until there are eleven: what the others were nobody has checked. */
function medianTime(headers: readonly BlockHeader[]): number | null {
  const times = headers.slice(-MEDIAN_OF).map((h) => h.timeSec);
  if (times.length < MEDIAN_OF) return null;
  return times.sort((a, b) => a - b)[(MEDIAN_OF - 1) / 2] ?? null;
}

/** What is wrong with a header at a height whatever stands before it. The dear check comes last. */
function faultAlone(header: BlockHeader, at: number, height: number, rules: HeaderRules, limits: HeaderLimits): HeaderFault | null {
  const { hash, timeSec } = header;
  const { checkpoint } = rules;
  if (checkpoint?.height === height && checkpoint.hash !== hash) {
    return { kind: "NotCheckpoint", at, hash, expected: checkpoint.hash };
  }
  if (timeSec > limits.nowSec + MAX_AHEAD_SEC) return { kind: "FromFuture", at, hash, timeSec };
  return hasWork(header, rules) ? null : { kind: "NoWork", at, hash };
}

/** What is wrong with a header after those of the chain. */
function faultAfter(header: BlockHeader, at: number, before: Checked, rules: HeaderRules): HeaderFault | null {
  const { hash, prevHash, timeSec, bits } = header;
  if (tipOf(before).hash !== prevHash) return { kind: "NotLinked", at, hash, prevHash };
  const median = rules.work.kind === "unchecked" ? null : medianTime(before.headers);
  if (median !== null && timeSec <= median) return { kind: "TooOld", at, hash, timeSec };
  return targetFits(bits, before, rules.target) ? null : { kind: "WrongTarget", at, hash, bits };
}

function markOf(header: BlockHeader, height: number, rules: HeaderRules): readonly TimeMark[] {
  return isMark(height, rules.target) ? [{ height, timeSec: header.timeSec }] : [];
}

/** Without a checkpoint the target itself must show that this is the chain: no few machines can mine at it. */
function anchorFits(bits: number, height: number, rules: HeaderRules): boolean {
  if (!targetFits(bits, null, rules.target)) return false;
  if (rules.anchorBits === null || rules.checkpoint?.height === height) return true;
  return (targetOfBits(bits) ?? 0n) <= (targetOfBits(rules.anchorBits) ?? 0n);
}

/**
 * Begins a chain at a header that is trusted for another reason: a checkpoint, or the agreement of servers. Where
 * targets go by periods, exactness begins with the first whole period after it. Its target may not be easier than the
 * chain's has been for years (`anchorBits`), so that even servers who all lie need miners; a checkpoint lifts that.
 *
 * @param height 0 or more
 */
export function anchorAt(header: BlockHeader, height: number, rules: HeaderRules, limits: HeaderLimits): Result<Checked, HeaderFault> {
  const { hash, bits } = header;
  if (!anchorFits(bits, height, rules)) return err({ kind: "WrongTarget", at: 0, hash, bits });
  const fault = faultAlone(header, 0, height, rules, limits);
  if (fault) return err(fault);
  return ok({ height, headers: [withoutProof(header)], work: workOf(header, rules), marks: markOf(header, height, rules) });
}

/**
 * The chain with more headers on its tip, all checked: links, times, targets, work, checkpoint. All or nothing. Holds
 * the thread for as long as `hasWork` takes for each header.
 *
 * @param next oldest first; the first follows the tip
 */
export function extend(
  from: Checked,
  next: readonly BlockHeader[],
  rules: HeaderRules,
  limits: HeaderLimits,
): Result<Checked, HeaderFault> {
  const headers = [...from.headers];
  let chain: Checked = { ...from, headers };
  for (const [at, header] of next.entries()) {
    const height = chain.height + 1;
    const fault = faultAfter(header, at, chain, rules) ?? faultAlone(header, at, height, rules, limits);
    if (fault) return err(fault);
    headers.push(withoutProof(header));
    const marks = [...chain.marks, ...markOf(header, height, rules)].slice(-KEPT_MARKS);
    chain = { height, headers, work: chain.work + workOf(header, rules), marks };
  }
  return ok({ ...chain, headers: headers.slice(-KEPT_HEADERS) });
}

/** The chain as it was at a height; null where that header is no longer kept, or not there yet. */
export function rewind(chain: Checked, height: number, rules: HeaderRules): Checked | null {
  const dropped = chain.height - height;
  if (!Number.isInteger(dropped) || dropped < 0 || dropped >= chain.headers.length) return null;
  const kept = chain.headers.length - dropped;
  const lost = chain.headers.slice(kept).reduce((sum, h) => sum + workOf(h, rules), 0n);
  const marks = chain.marks.filter((m) => m.height <= height);
  return { height, headers: chain.headers.slice(0, kept), work: chain.work - lost, marks };
}

/**
 * Whether a branch is to be followed instead of the chain: more work since the anchor both have. At equal work what was
 * seen first stays, as every node of such a chain does it.
 */
export const beats = (branch: Checked, chain: Checked): boolean => branch.work > chain.work;

/**
 * Whether no kept header shows far less work than another: where each may be easier than the one before it, a few blocks that cost much
 * can be followed by any number that cost nothing.
 */
export function isEven({ headers }: Checked, rules: HeaderRules): boolean {
  const works = headers.map((header) => workOf(header, rules));
  const least = works.reduce((a, b) => (a < b ? a : b));
  const most = works.reduce((a, b) => (a > b ? a : b));
  return most <= least * MOST_UNEVEN;
}

/** The kept header at a height, or null. */
export function headerAt(chain: Checked, height: number): BlockHeader | null {
  const index = chain.headers.length - 1 - (chain.height - height);
  return index >= 0 ? (chain.headers[index] ?? null) : null;
}
