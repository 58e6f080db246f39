import { ZERO_ADDRESS } from "../../core/evm/address.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { NodeHealth } from "../../ports/accountChain.ts";
import type { BlockRef } from "../../ports/chain.ts";
import type { Clock } from "../../ports/clock.ts";
import type { DaemonError, DaemonRpc } from "../../ports/daemonRpc.ts";
import type { Log } from "../../ports/log.ts";
import type { HeaderAnswer } from "./answers.ts";
import { isLimit, lacksBlock, type NodeFault, nodeFaultText } from "./fault.ts";
import { balanceQuery, blockQuery, hexQuantity, type Query } from "./query.ts";

/** One JSON-RPC node of a chain, behind whatever carries the calls. */
export type EvmBackend = {
  /** Host and port for people and logs; never a path, which may hold a key. */
  readonly name: string;
  readonly rpc: DaemonRpc;
  /** Tells of new heads where the transport can; the unsubscriber is given back. */
  readonly onHead?: (listener: () => void) => () => void;
  readonly close: () => void;
};

/** Calls of one request; some providers take no more. */
const MAX_BATCH = 100;
/** Weight of the last answer in the smoothed latency: one in five. */
const LATENCY_SHARE = 0.2;
/** Latency assumed of a node that has not answered yet. */
const UNKNOWN_LATENCY_MS = 500;
/** First wait before a node that gave no answer is asked again; doubles up to the longest. */
const FIRST_REST_MS = 2_000;
const MAX_REST_MS = 60_000;
/** A node of another chain is looked at again, should its operator mend it. */
const REFUSED_REST_MS = 120_000;
/** What a node once refused it is asked again after this: it may have been starting, or too busy. */
const AGAIN_MS = 600_000;
/** One that has called nothing final for so long does so no more. */
const FINAL_MS = 3_600_000;
const MAX_TROUBLE = 300;

export type NodeAnswer<T> = Result<T, NodeFault>;

/** One node: asks it, and keeps what is thought of it. */
export class EvmNode {
  readonly name: string;
  readonly backend: EvmBackend;
  readonly #clock: Clock;
  readonly #log: Pick<Log, "warn">;
  #state: NodeHealth["state"] = "new";
  #head: HeaderAnswer | null = null;
  #latencyMs: number | null = null;
  #contradictions = 0;
  #calls = 0;
  /** Troubles of late: one more for each, halved by each good answer. */
  #unrest = 0;
  #failures = 0;
  #restUntilMs = 0;
  #trouble: string | null = null;
  /** Null: not tried. */
  #takesBlockHash: boolean | null = null;
  #finalized: number | null = null;
  #finalizedAtMs = 0;
  #finalizesFromMs = 0;
  #finalRefusals = 0;
  #runsInitCodeFromMs = 0;
  readonly #mostLogRange: number;
  #logRange: number;
  #logRangeUntilMs = 0;

  constructor(backend: EvmBackend, clock: Clock, logRange: number, log: Pick<Log, "warn">) {
    this.name = backend.name;
    this.backend = backend;
    this.#clock = clock;
    this.#log = log;
    this.#mostLogRange = logRange;
    this.#logRange = logRange;
  }

  /** Whether it is asked for the block with the tag `finalized`. */
  get finalizes(): boolean {
    return this.#clock.nowMs() >= this.#finalizesFromMs;
  }
  /** The last block it called final. What was final stays so while it does not tell; for an hour: whoever waits for more would wait for ever. */
  get finalized(): number | null {
    return this.#clock.nowMs() - this.#finalizedAtMs < FINAL_MS ? this.#finalized : null;
  }
  finalizedAt(height: number): void {
    this.#finalized = height;
    this.#finalizedAtMs = this.#clock.nowMs();
    this.#finalRefusals = 0;
  }
  forgetFinalized(): void {
    this.#finalized = null;
  }
  /** It may have failed: one that never knew the tag is asked less and less often. */
  cannotFinalize(): void {
    this.#finalizesFromMs = this.#clock.nowMs() + Math.min(AGAIN_MS, FIRST_REST_MS * 2 ** Math.min(this.#finalRefusals++, 10));
  }
  /** Whether it runs init code that is not deployed. */
  get runsInitCode(): boolean {
    return this.#clock.nowMs() >= this.#runsInitCodeFromMs;
  }
  cannotRunInitCode(): void {
    this.#runsInitCodeFromMs = this.#clock.nowMs() + AGAIN_MS;
  }
  /** Blocks it is asked logs of at once. */
  get logRange(): number {
    return this.#clock.nowMs() < this.#logRangeUntilMs ? this.#logRange : this.#mostLogRange;
  }
  /** It gave no answer for so many. */
  halveLogRange(): void {
    this.#logRange = Math.floor(this.logRange / 2);
    this.#logRangeUntilMs = this.#clock.nowMs() + AGAIN_MS;
  }

  get state(): NodeHealth["state"] {
    return this.#state;
  }
  get head(): HeaderAnswer | null {
    return this.#head;
  }
  get trouble(): string | null {
    return this.#trouble === null ? null : `${this.name}: ${this.#trouble}`;
  }
  /** Lower is asked first. */
  get cost(): number {
    // Also one that answers within no time at all comes last once it has lied.
    return Math.max(1, this.#latencyMs ?? UNKNOWN_LATENCY_MS) * (1 + this.#unrest) * (1 + this.#contradictions);
  }
  /** Whether its time of rest after a failure is over. */
  get rested(): boolean {
    return this.#clock.nowMs() >= this.#restUntilMs;
  }

  health(): NodeHealth {
    return {
      name: this.name,
      state: this.#state,
      height: this.#head?.number ?? null,
      latencyMs: this.#latencyMs === null ? null : Math.round(this.#latencyMs),
      contradictions: this.#contradictions,
      calls: this.#calls,
      trouble: this.#trouble,
    };
  }

  /** It answered with its head, and is on the right chain. */
  arrived(head: HeaderAnswer, lagging: boolean): void {
    this.#head = head;
    this.#failures = 0;
    if (lagging) {
      this.#state = "lagging";
      this.#trouble = `it is behind the others, at block ${head.number}`;
      return;
    }
    if (this.#state !== "good") this.#trouble = null;
    this.#state = "good";
  }

  /** It serves another chain. */
  refuse(expected: bigint, found: bigint): void {
    this.#state = "refused";
    this.#head = null;
    this.#trouble = `it serves the chain with id ${found}, not ${expected}`;
    this.#restUntilMs = this.#clock.nowMs() + REFUSED_REST_MS;
  }

  /** What it said is not what the other nodes agree on: it is named in the log the first time, and asked last. */
  contradicted(what: string): void {
    if (this.#contradictions === 0) this.#log.warn("node_contradicted", { node: this.name, what });
    this.#contradictions++;
    this.#unrest++;
    this.#trouble = `it contradicts the other nodes about ${what}`;
  }

  noted(fault: NodeFault): void {
    this.#unrest++;
    this.#trouble = nodeFaultText(fault).slice(0, MAX_TROUBLE);
    if (fault.kind !== "unreachable" && fault.kind !== "busy") return;
    this.#state = this.#state === "refused" ? "refused" : "away";
    this.#takesBlockHash = null;
    this.#restUntilMs = this.#clock.nowMs() + Math.min(MAX_REST_MS, FIRST_REST_MS * 2 ** Math.min(this.#failures++, 10));
  }

  #answered(sinceMs: number): void {
    const tookMs = this.#clock.nowMs() - sinceMs;
    this.#latencyMs = this.#latencyMs === null ? tookMs : this.#latencyMs * (1 - LATENCY_SHARE) + tookMs * LATENCY_SHARE;
    this.#unrest /= 2;
  }

  /** Nobody waits for its answer any more: it takes as long as that at least, and others are asked first. */
  #gaveNoAnswer(sinceMs: number): void {
    this.#latencyMs = Math.max(this.#latencyMs ?? 0, this.#clock.nowMs() - sinceMs);
  }

  async #exchange(
    calls: readonly { readonly method: string; readonly params: readonly unknown[] }[],
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<readonly Result<unknown, DaemonError>[]> {
    const { rpc } = this.backend;
    this.#calls += calls.length;
    const [first] = calls;
    if (first !== undefined && calls.length === 1) return [await rpc.call(first.method, first.params, { signal, timeoutMs })];
    if (rpc.callBatch) return rpc.callBatch(calls, { signal, timeoutMs });
    return Promise.all(calls.map(({ method, params }) => rpc.call(method, params, { signal, timeoutMs })));
  }

  /**
   * Asks, in as many requests as it takes; answers in the order of `queries`. A part that cannot be reached fails all that
   * follows. Rejects only with `Aborted`.
   */
  async ask<T>(queries: readonly Query<T>[], block: unknown, timeoutMs: number, signal: AbortSignal): Promise<readonly NodeAnswer<T>[]> {
    const answers: NodeAnswer<T>[] = [];
    for (let at = 0; at < queries.length; at += MAX_BATCH) {
      const part = queries.slice(at, at + MAX_BATCH);
      const sinceMs = this.#clock.nowMs();
      const calls = part.map(({ method, params }) => ({ method, params: params(block) }));
      const got = await this.#exchange(calls, timeoutMs, signal).catch((cause: unknown) => {
        this.#gaveNoAnswer(sinceMs);
        throw cause;
      });
      for (const [i, query] of part.entries()) answers.push(read(query, got[i]));
      const lost = answers.find((a) => !a.ok && (a.error.kind === "unreachable" || a.error.kind === "busy"));
      if (lost !== undefined && !lost.ok) {
        this.noted(lost.error);
        while (answers.length < queries.length) answers.push(lost);
        break;
      }
      this.#answered(sinceMs);
    }
    const bad = answers.find((a) => !a.ok && a.error.kind === "bad_answer");
    if (bad !== undefined && !bad.ok) this.noted(bad.error);
    return answers;
  }

  /**
   * The same at exactly one block: named by its hash where the node takes that (EIP-1898), else by its number, and the hash at
   * that number is compared afterwards. `moved`: this node does not have the block there.
   */
  async askAt<T>(
    queries: readonly Query<T>[],
    block: BlockRef,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<readonly NodeAnswer<T>[] | "moved"> {
    if (queries.length === 0) return [];
    const byHash = { blockHash: `0x${block.hash}`, requireCanonical: true };
    if (this.#takesBlockHash === null) {
      const [probe] = await this.ask([balanceQuery(ZERO_ADDRESS)], byHash, timeoutMs, signal);
      if (probe?.ok) this.#takesBlockHash = true;
      else if (probe?.error.kind !== "rpc" || isLimit(probe.error))
        return queries.map(() => probe ?? err({ kind: "unreachable", message: "no answer" }));
      // One that does not have the block may not take hashes either: it is asked by number this time, and for a hash the next.
      else if (!lacksBlock(probe.error.message)) this.#takesBlockHash = false;
    }
    if (this.#takesBlockHash) return this.ask(queries, byHash, timeoutMs, signal);
    const answers = await this.ask(queries, hexQuantity(block.height), timeoutMs, signal);
    const [there] = await this.ask([blockQuery(block.height)], null, timeoutMs, signal);
    return there?.ok && there.value?.hash === block.hash ? answers : "moved";
  }
}

function read<T>(query: Query<T>, answer: Result<unknown, DaemonError> | undefined): NodeAnswer<T> {
  if (answer === undefined) return err({ kind: "unreachable", message: "it left a call of a batch unanswered" });
  if (!answer.ok) return answer;
  const parsed = query.parse(answer.value);
  return parsed.ok ? ok(parsed.value) : err({ kind: "bad_answer", method: query.method, detail: parsed.error.detail });
}
