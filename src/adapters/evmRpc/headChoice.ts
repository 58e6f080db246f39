import { err, ok, type Result } from "../../core/util/result.ts";
import type { Clock } from "../../ports/clock.ts";
import type { HeaderAnswer } from "./answers.ts";
import type { EvmNode } from "./evmNode.ts";
import type { LookFault } from "./fault.ts";
import { blockQuery } from "./query.ts";
import type { Quorum } from "./quorum.ts";

/** A node that told its newest block. `finalized`: null where it has no such notion. */
export type Arrival = { readonly node: EvmNode; readonly head: HeaderAnswer; readonly finalized: number | null };

/** The block a look is about. `quorum` holds the nodes that have it. */
export type ChosenHead = {
  readonly header: HeaderAnswer;
  readonly finalized: number | null;
  readonly quorum: Quorum;
  /** Heights of the newest blocks of the nodes that count, whether or not they have this one. */
  readonly heads: readonly number[];
  /**
   * A block below it that more nodes have, for when those of this one do not agree on what it holds, or, where all have it and too few answer, as
   * many: behind one address stand many machines, and some may not have the newest block yet. Null: there is none.
   */
  readonly lower: (why: LookFault, signal: AbortSignal) => Promise<ChosenHead | null>;
};

export type HeadRules = {
  /** How many must have the block. */
  readonly need: number;
  /** No block older than this is chosen, Unix seconds. */
  readonly notBeforeSec: number;
  /** Deadline of one request, ms. */
  readonly timeoutMs: number;
  readonly clock: Clock;
};

/** Blocks below each head that are tried: honest nodes may stand on two branches for a few. */
const BELOW_HEAD = 4;
/** Longest wait for one header: several may be asked for, and one node that is late with each must not use up the time of a look. */
const HEADER_MS = 3_000;
/** Heights tried for one look. */
const MAX_TRIES = 40;

/** The greatest number that `need` of them reach. */
const reachedBy = (numbers: readonly number[], need: number): number | undefined => [...numbers].sort((a, b) => b - a)[need - 1];
/** The header as the node gave it: one with the same hash and another time or base fee is another one. */
const sameHeader = (h: HeaderAnswer): string => [h.hash, h.parentHash, h.timestamp, h.baseFeePerGas, h.gasUsed, h.gasLimit].join("/");

type Group = { readonly header: HeaderAnswer; readonly arrivals: Arrival[] };

/** One look's way down from the highest block that enough nodes say they have to one that enough have alike. */
class Descent {
  readonly #arrivals: readonly Arrival[];
  readonly #rules: HeadRules;
  readonly #heights: number[];
  /** Who gave no answer: nobody waits for it again in this look. */
  readonly #silent = new Set<EvmNode>();

  constructor(arrivals: readonly Arrival[], rules: HeadRules) {
    this.#arrivals = arrivals;
    this.#rules = rules;
    const heads = arrivals.map(({ head }) => head.number);
    const top = reachedBy(heads, rules.need) ?? -1;
    const below = heads.flatMap((head) => Array.from({ length: BELOW_HEAD + 1 }, (_, i) => head - i));
    const distinct = new Set(below.filter((height) => height >= 0 && height <= top));
    this.#heights = [...distinct].sort((a, b) => b - a).slice(0, MAX_TRIES);
  }

  /** Those that answer, by the header they have at `height`. */
  async #groupsAt(height: number, signal: AbortSignal): Promise<readonly Group[]> {
    const asked = this.#arrivals.filter(({ node, head }) => head.number >= height && !this.#silent.has(node));
    const headers = await Promise.all(
      asked.map(async ({ node, head }) => {
        if (head.number === height) return head;
        const [at] = await node.ask([blockQuery(height)], null, Math.min(this.#rules.timeoutMs, HEADER_MS), signal);
        if (at?.ok && at.value?.number === height) return at.value;
        // Another machine behind its address may have the next one.
        if (!at?.ok || at.value !== null) this.#silent.add(node);
        return null;
      }),
    );
    const groups = new Map<string, Group>();
    for (const [i, arrival] of asked.entries()) {
      const header = headers[i];
      if (!header) continue;
      const group = groups.get(sameHeader(header));
      if (group === undefined) groups.set(sameHeader(header), { header, arrivals: [arrival] });
      else group.arrivals.push(arrival);
    }
    return [...groups.values()];
  }

  /** The next block on the way down that at least `least` nodes have alike; else why the first one tried is none. */
  async next(least: number, signal: AbortSignal): Promise<Result<ChosenHead, LookFault>> {
    const { need, notBeforeSec } = this.#rules;
    let why: LookFault | null = null;
    for (let height = this.#heights.shift(); height !== undefined; height = this.#heights.shift()) {
      const groups = await this.#groupsAt(height, signal);
      const winner = groups.find((group) => group.arrivals.length >= least);
      const isOld = winner !== undefined && winner.header.timestamp < notBeforeSec;
      why ??= isOld ? this.#tooFew("a recent block", need - 1) : this.#whyNone(height, groups);
      if (isOld) break;
      if (winner === undefined) continue;
      for (const group of groups) if (group !== winner) for (const { node } of group.arrivals) node.contradicted(`block ${height}`);
      return ok(this.#chosen(winner));
    }
    return err(why ?? this.#tooFew("the newest block", this.#arrivals.length));
  }

  #chosen({ header, arrivals }: Group): ChosenHead {
    const { need, timeoutMs, clock } = this.#rules;
    const finals = arrivals.flatMap(({ finalized }) => (finalized === null ? [] : Math.min(finalized, header.number)));
    const block = { height: header.number, hash: header.hash };
    return {
      header,
      finalized: reachedBy(finals, need) ?? null,
      quorum: { block, nodes: arrivals.map(({ node }) => node), need, timeoutMs, clock },
      heads: this.#arrivals.map(({ head }) => head.number),
      lower: async (why, signal) => {
        // Who left this one unanswered until the deadline would leave each below it so.
        const isServed = arrivals.filter(({ node }) => node.state !== "away").length >= need;
        const isOfAll = why.kind === "too_few" && isServed && arrivals.length === this.#arrivals.length;
        const found = await this.next(isOfAll ? arrivals.length : arrivals.length + 1, signal);
        return found.ok ? found.value : null;
      },
    };
  }

  #whyNone(height: number, groups: readonly Group[]): LookFault {
    const what = `block ${height}`;
    const names = groups.flatMap((group) => group.arrivals.map(({ node }) => node.name));
    if (groups.length > 1) return { kind: "disagree", what, nodes: names };
    return this.#tooFew(what, names.length);
  }
  #tooFew(what: string, have: number): LookFault {
    const troubles = this.#arrivals.flatMap(({ node }) => node.trouble ?? []);
    return { kind: "too_few", what, have, need: this.#rules.need, troubles };
  }
}

/**
 * The highest block that `need` of the nodes have alike. Where the newest one is known to fewer, lower ones are tried: nodes that come
 * a block later, and one that makes up its own, must not keep the others from what they have in common.
 */
export function chooseAmong(arrivals: readonly Arrival[], rules: HeadRules, signal: AbortSignal): Promise<Result<ChosenHead, LookFault>> {
  return new Descent(arrivals, rules).next(rules.need, signal);
}
