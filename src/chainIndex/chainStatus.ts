import type { ChainStatus, ChainTip, ScanProgress } from "../ports/chain.ts";
import type { StoredWatch } from "../ports/chainStore.ts";

/** A watch that has more blocks to read than this shows as "syncing". */
const SHOWN_BACKLOG = 100;

/** What a chain's status is made of. */
export type StatusFacts = {
  readonly tip: ChainTip | null;
  /** Why the last look failed; null when it did not. */
  readonly failure: string | null;
  /** Why a watch cannot be covered; null when all can. */
  readonly stuck: string | null;
  /** The daemon has answered once since the start. */
  readonly reached: boolean;
  /** Blocks still to be read to the daemon's tip; null at the tip. */
  readonly following: { readonly from: number | null; readonly to: number } | null;
  /** Watches that still want old blocks. */
  readonly pending: readonly StoredWatch[];
};

function progressOf({ tip, following, pending }: StatusFacts): ScanProgress | null {
  if (tip === null) return null;
  if (following !== null) {
    const from = following.from ?? tip.height;
    return reading(from, tip.height, following.to);
  }
  if (pending.length === 0) return null;
  const from = Math.min(...pending.map((w) => w.fromHeight));
  const next = Math.min(...pending.map((w) => w.nextHeight ?? tip.height));
  return reading(from - 1, next - 1, tip.height);
}

/** Blocks `before + 1` to `target` are read, `height` was the last one. */
const reading = (before: number, height: number, target: number): ScanProgress => ({
  done: Math.max(0, height - before),
  total: Math.max(0, target - before),
  height: Math.max(0, height),
  target: Math.max(0, target),
});

/** A chain's status, worked out anew only when one of its facts is another: every look of every swap asks for it. */
export class KnownStatus {
  #facts: StatusFacts | null = null;
  #status: ChainStatus | null = null;

  /** @param facts `tip` and `pending` are the same objects for as long as they say the same */
  of(facts: StatusFacts): ChainStatus {
    if (this.#status === null || this.#facts === null || !isSame(facts, this.#facts)) this.#status = chainStatus(facts);
    this.#facts = facts;
    return this.#status;
  }
}

const isSame = (a: StatusFacts, b: StatusFacts): boolean =>
  a.tip === b.tip &&
  a.failure === b.failure &&
  a.stuck === b.stuck &&
  a.reached === b.reached &&
  a.following?.from === b.following?.from &&
  a.following?.to === b.following?.to &&
  a.pending === b.pending;

function chainStatus(facts: StatusFacts): ChainStatus {
  const progress = progressOf(facts);
  const backlog = progress === null ? 0 : progress.total - progress.done;
  const syncing = facts.following !== null || backlog > SHOWN_BACKLOG;
  const state = facts.failure !== null ? "unreachable" : !facts.reached ? "starting" : syncing ? "syncing" : "ready";
  return { state, tip: facts.tip, progress, error: facts.failure ?? facts.stuck };
}
