import { err, ok, type Result } from "../../core/util/result.ts";
import type { NodeHealth } from "../../ports/accountChain.ts";
import { Aborted, type Clock } from "../../ports/clock.ts";
import type { HeaderAnswer } from "./answers.ts";
import type { EvmNode } from "./evmNode.ts";
import { type LookFault, type NodeFault, nodeFaultText } from "./fault.ts";
import { blockQuery, chainIdQuery, type Query } from "./query.ts";
import type { Quorum } from "./quorum.ts";

export type NodePoolDeps = {
  readonly nodes: readonly EvmNode[];
  readonly chainId: bigint;
  readonly clock: Clock;
  /** Deadline of one request, ms. */
  readonly timeoutMs: number;
};

/** The block a look is about. `quorum` holds the nodes that have it. */
export type ChosenHead = { readonly header: HeaderAnswer; readonly finalized: number | null; readonly quorum: Quorum };

/** Longest wait for a head; the rest of a look has the usual deadline. */
const HEAD_TIMEOUT_MS = 5_000;
/** A head older than this is stale when another node has a younger one. */
const STALE_SEC = 60;

type Arrival = { readonly node: EvmNode; readonly head: HeaderAnswer; readonly finalized: number | null };

const majority = (count: number): number => Math.floor(count / 2) + 1;
/** The greatest number that `need` of them reach. */
const reachedBy = (numbers: readonly number[], need: number): number | undefined => [...numbers].sort((a, b) => b - a)[need - 1];
/** The header as the node gave it: one with the same hash and another time or base fee is another one. */
const sameHeader = (h: HeaderAnswer): string => [h.hash, h.parentHash, h.timestamp, h.baseFeePerGas, h.gasUsed, h.gasLimit].join("/");

/** The nodes of one chain, and which of them count. */
export class NodePool {
  readonly #deps: NodePoolDeps;
  readonly #probing = new Set<EvmNode>();

  constructor(deps: NodePoolDeps) {
    this.#deps = deps;
  }

  health(): readonly NodeHealth[] {
    return this.#deps.nodes.map((node) => node.health());
  }

  /** Those a transaction is given to: all but those of another chain. */
  senders(): readonly EvmNode[] {
    return this.#deps.nodes.filter((n) => n.state !== "refused").sort((a, b) => a.cost - b.cost);
  }

  /**
   * Asks the nodes for their heads and takes the highest block that a majority of those that answered and do not lag has.
   * Nodes that gave no answer lately are asked beside it, and nobody waits for them.
   */
  async chooseHead(signal: AbortSignal): Promise<Result<ChosenHead, LookFault>> {
    const { nodes } = this.#deps;
    const present = nodes.filter((n) => n.state === "good" || n.state === "lagging" || n.state === "new");
    const others = nodes.filter((n) => !present.includes(n) && (n.rested || (present.length === 0 && n.state === "away")));
    if (present.length > 0) for (const node of others) this.#probeBeside(node, signal);
    const asked = present.length > 0 ? present : others;
    const arrivals = (await Promise.all(asked.map((node) => this.#probe(node, signal)))).filter((a) => a !== null);
    if (arrivals.length === 0) return err(this.#nobody());
    return this.#choose(this.#withoutLaggards(arrivals), signal);
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
        if (arrival !== null) node.arrived(arrival.head, false);
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
    if (finalized !== undefined && !finalized.ok && finalized.error.kind === "rpc") node.cannotFinalize();
    const last = finalized?.ok && finalized.value !== null && typeof finalized.value !== "bigint" ? finalized.value.number : null;
    return { node, head, finalized: last };
  }

  /**
   * A node lags when its head is stale and at least half of the others' are not. Against the clock, and not against the highest
   * head: one node that invents blocks must not make laggards of the honest ones.
   */
  #withoutLaggards(arrivals: readonly Arrival[]): readonly Arrival[] {
    const staleBefore = Math.floor(this.#deps.clock.nowMs() / 1000) - STALE_SEC;
    const fresh = arrivals.filter(({ head }) => head.timestamp >= staleBefore);
    const counted = fresh.length * 2 >= arrivals.length && fresh.length > 0 ? fresh : arrivals;
    for (const arrival of arrivals) arrival.node.arrived(arrival.head, !counted.includes(arrival));
    return counted;
  }

  async #choose(arrivals: readonly Arrival[], signal: AbortSignal): Promise<Result<ChosenHead, LookFault>> {
    const { timeoutMs } = this.#deps;
    const need = majority(arrivals.length);
    const height = reachedBy(
      arrivals.map(({ head }) => head.number),
      need,
    );
    if (height === undefined) return err(this.#nobody());
    const there = await Promise.all(
      arrivals.map(async (arrival) => {
        if (arrival.head.number === height) return { arrival, header: arrival.head };
        if (arrival.head.number < height) return null;
        const [at] = await arrival.node.ask([blockQuery(height)], null, timeoutMs, signal);
        return at?.ok && at.value !== null && at.value.number === height ? { arrival, header: at.value } : null;
      }),
    );
    const groups = new Map<string, { readonly header: HeaderAnswer; readonly arrivals: Arrival[] }>();
    for (const witness of there) {
      if (witness === null) continue;
      const group = groups.get(sameHeader(witness.header));
      if (group === undefined) groups.set(sameHeader(witness.header), { header: witness.header, arrivals: [witness.arrival] });
      else group.arrivals.push(witness.arrival);
    }
    const winner = [...groups.values()].find((group) => group.arrivals.length >= need);
    if (winner === undefined) {
      const names = [...groups.values()].flatMap((group) => group.arrivals.map(({ node }) => node.name));
      if (groups.size > 1) return err({ kind: "disagree", what: `block ${height}`, nodes: names });
      const troubles = arrivals.flatMap(({ node }) => node.trouble ?? []);
      return err({ kind: "too_few", what: `block ${height}`, have: names.length, need, troubles });
    }
    for (const group of groups.values()) if (group !== winner) for (const { node } of group.arrivals) node.contradicted(`block ${height}`);
    const finals = winner.arrivals.flatMap(({ finalized }) => (finalized === null ? [] : Math.min(finalized, height)));
    const witnesses = winner.arrivals.map(({ node }) => node);
    return ok({
      header: winner.header,
      finalized: reachedBy(finals, need) ?? null,
      quorum: { block: { height, hash: winner.header.hash }, nodes: witnesses, need, timeoutMs },
    });
  }
}

/** Without its chain id and head a node is of no use, whatever kept it from telling. What could not be reached is noted already. */
function unusable(node: EvmNode, fault: NodeFault): void {
  if (fault.kind === "unreachable" && node.state === "away") return;
  node.noted({ kind: "unreachable", message: nodeFaultText(fault) });
}
