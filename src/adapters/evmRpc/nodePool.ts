import { err, type Result } from "../../core/util/result.ts";
import type { NodeHealth } from "../../ports/accountChain.ts";
import { Aborted, type Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { HeaderAnswer } from "./answers.ts";
import type { EvmNode } from "./evmNode.ts";
import { type LookFault, type NodeFault, nodeFaultText, saysNothing } from "./fault.ts";
import { type Arrival, type ChosenHead, chooseAmong } from "./headChoice.ts";
import { LoneNode } from "./loneNode.ts";
import { blockQuery, chainIdQuery, type Query } from "./query.ts";

export type NodePoolDeps = {
  readonly nodes: readonly EvmNode[];
  readonly chainId: bigint;
  /** How long things take. */
  readonly clock: Clock;
  /** What time it is. */
  readonly wall: Clock;
  readonly log: Pick<Log, "warn">;
  /** Deadline of one request, ms. */
  readonly timeoutMs: number;
};

/** Longest wait for a head; the rest of a look has the usual deadline. */
const HEAD_TIMEOUT_MS = 5_000;
/** A head older than this is stale when another node has a younger one. */
const STALE_SEC = 60;

/**
 * Where too few heads are fresh, one that is not counts beside them if it is no further behind than this: it may only be late with one
 * block of a slow chain. What stopped longer ago must not take the view back to where it stopped.
 */
const LATE_SEC = 120;

const majority = (count: number): number => Math.floor(count / 2) + 1;

/** The nodes of one chain, and which of them count. */
export class NodePool {
  readonly #deps: NodePoolDeps;
  readonly #probing = new Set<EvmNode>();
  readonly #lone: LoneNode;

  constructor(deps: NodePoolDeps) {
    this.#deps = deps;
    this.#lone = new LoneNode(deps.nodes, deps.clock, deps.log);
  }

  health(): readonly NodeHealth[] {
    return this.#deps.nodes.map((node) => node.health());
  }

  /** Those a transaction is given to: all but those of another chain. */
  senders(): readonly EvmNode[] {
    return this.#deps.nodes.filter((n) => n.state !== "refused").sort((a, b) => a.cost - b.cost);
  }

  /**
   * Asks the nodes for their heads and takes the highest block that a majority has: of all that were given, so that whoever silences
   * the honest ones does not decide; but of two the one that is left does, once the other is gone. Nodes that gave no answer lately are
   * asked beside it, and nobody waits for them while the others are enough.
   * @param all they are waited for all the same: the others did not agree
   */
  async chooseHead(signal: AbortSignal, all = false): Promise<Result<ChosenHead, LookFault>> {
    const { nodes } = this.#deps;
    const isLone = this.#lone.believed !== null;
    const enough = isLone ? 1 : majority(nodes.length);
    const present = nodes.filter((n) => n.state === "good" || n.state === "lagging" || n.state === "new");
    const isEnough = !all && present.filter((n) => n.state !== "lagging").length >= enough;
    const isDue = (n: EvmNode): boolean => n.rested || (n.state === "away" && (!isEnough || isLone));
    const others = nodes.filter((n) => !present.includes(n) && isDue(n));
    if (isEnough) for (const node of others) this.#probeBeside(node, signal);
    const asked = isEnough ? present : [...present, ...others];
    const arrivals = (await Promise.all(asked.map((node) => this.#probe(node, signal)))).filter((a) => a !== null);
    const need = this.#needOf(arrivals, asked.length === nodes.length);
    if (arrivals.length === 0) return err(this.#nobody());
    if (arrivals.length < need) {
      for (const { node, head } of arrivals) node.arrived(head, false);
      const troubles = nodes.flatMap((node) => node.trouble ?? []);
      return err({ kind: "too_few", what: "the newest block", have: arrivals.length, need, troubles });
    }
    const { counted, notBeforeSec } = this.#withoutLaggards(arrivals, need);
    const { timeoutMs, clock } = this.#deps;
    return chooseAmong(counted, { need, notBeforeSec, timeoutMs, clock }, signal);
  }

  /**
   * How many nodes must say the same. Of two both, while both answer: a swap that waits for one that is gone loses its payment at the lock.
   * @param haveAll whether all were asked, and waited for
   */
  #needOf(arrivals: readonly Arrival[], haveAll: boolean): number {
    if (haveAll) this.#lone.noteLook(arrivals.map(({ node }) => node));
    return this.#lone.believed === null ? majority(this.#deps.nodes.length) : 1;
  }

  /** Who is believed alone of two, one sentence; null: nobody is. */
  aloneText(ticker: string): string | null {
    const { believed } = this.#lone;
    const gone = this.#deps.nodes.find((node) => node !== believed);
    if (believed === null || gone === undefined) return null;
    return `${believed.name} alone is believed of the two ${ticker} nodes, because ${gone.name} does not answer: add another.`;
  }

  /** That who is believed alone is so for the start alone, one sentence; null: nobody is. */
  hastyText(ticker: string): string | null {
    const { believed, isHasty } = this.#lone;
    const gone = this.#deps.nodes.find((node) => node !== believed);
    if (!isHasty || believed === null || gone === undefined) return null;
    return `${believed.name} alone has been believed of the two ${ticker} nodes for less than a minute, because ${gone.name} does not answer.`;
  }

  #nobody(): LookFault {
    const { nodes } = this.#deps;
    const troubles = nodes.flatMap((node) => node.trouble ?? []);
    return nodes.every((n) => n.state === "refused") ? { kind: "wrong_chain", troubles } : { kind: "no_nodes", troubles };
  }

  #probeBeside(node: EvmNode, signal: AbortSignal): void {
    if (this.#probing.has(node)) return;
    this.#probing.add(node);
    const done = (): void => void this.#probing.delete(node);
    this.#probe(node, signal).then(
      (arrival) => {
        done();
        if (arrival === null) {
          this.#lone.noteStillGone();
          return;
        }
        node.arrived(arrival.head, false);
        this.#lone.noteBack();
      },
      (cause: unknown) => {
        done();
        if (!(cause instanceof Aborted)) throw cause;
      },
    );
  }

  /** Null: no head to use; the node knows why. */
  async #probe(node: EvmNode, signal: AbortSignal): Promise<Arrival | null> {
    const { chainId, timeoutMs } = this.#deps;
    const queries: Query<bigint | HeaderAnswer | null>[] = [chainIdQuery, blockQuery("latest")];
    if (node.finalizes) queries.push(blockQuery("finalized"));
    const [id, latest, finalized] = await node.ask(queries, null, Math.min(timeoutMs, HEAD_TIMEOUT_MS), signal);
    if (!id?.ok || typeof id.value !== "bigint") {
      if (id !== undefined && !id.ok) unusable(node, id.error);
      return null;
    }
    if (id.value !== chainId) {
      node.refuse(chainId, id.value);
      return null;
    }
    const head = latest?.ok ? latest.value : null;
    if (head === null || typeof head === "bigint") {
      unusable(node, latest !== undefined && !latest.ok ? latest.error : { kind: "unreachable", message: "it has no latest block" });
      return null;
    }
    if (finalized !== undefined && !finalized.ok && finalized.error.kind === "rpc" && !saysNothing(finalized.error)) node.cannotFinalize();
    if (finalized?.ok && finalized.value !== null && typeof finalized.value !== "bigint") node.finalizedAt(finalized.value.number);
    // Its chain was begun anew, or is another one: nothing of it is final before it says so.
    else if (node.finalized !== null && head.number < node.finalized) node.forgetFinalized();
    return { node, head, finalized: node.finalized };
  }

  /**
   * A node lags when its head is stale and at least half of the others' are not. Against the clock, and not against the highest
   * head: one node that invents blocks must not make laggards of the honest ones.
   */
  #withoutLaggards(arrivals: readonly Arrival[], need: number): { readonly counted: readonly Arrival[]; readonly notBeforeSec: number } {
    const staleBefore = Math.floor(this.#deps.wall.nowMs() / 1000) - STALE_SEC;
    const fresh = arrivals.filter(({ head }) => head.timestamp >= staleBefore);
    const isMoving = fresh.length * 2 >= arrivals.length && fresh.length > 0;
    for (const arrival of arrivals) arrival.node.arrived(arrival.head, isMoving && !fresh.includes(arrival));
    if (!isMoving) return { counted: arrivals, notBeforeSec: 0 };
    if (fresh.length >= need) return { counted: fresh, notBeforeSec: 0 };
    return { counted: arrivals, notBeforeSec: staleBefore + STALE_SEC - LATE_SEC };
  }
}

/** Without its chain id and head a node is of no use, whatever kept it from telling. What could not be reached is noted already. */
function unusable(node: EvmNode, fault: NodeFault): void {
  if (fault.kind === "unreachable" && node.state === "away") return;
  node.noted({ kind: "unreachable", message: nodeFaultText(fault) });
}
