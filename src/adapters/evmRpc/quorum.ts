import { parseHex, toHex } from "../../core/util/bytes.ts";
import { err, ok, type Result } from "../../core/util/result.ts";
import type { BlockRef } from "../../ports/chain.ts";
import type { Clock } from "../../ports/clock.ts";
import { askInTurn } from "./askInTurn.ts";
import type { EvmNode, NodeAnswer } from "./evmNode.ts";
import { type LookFault, type NodeFault, saysNothing } from "./fault.ts";
import type { Query } from "./query.ts";

/** At which block something is read, and how many of which nodes must say the same. All of them had the block. */
export type Quorum = {
  readonly block: BlockRef;
  readonly nodes: readonly EvmNode[];
  readonly need: number;
  readonly timeoutMs: number;
  readonly clock: Clock;
};

/**
 * Why one question has no answer although nodes were reached.
 * - `reverted`: the contract refused the call; so a majority says, of `votes` nodes.
 * - `refused`: none of the nodes carries the request out; `isForNow`: for their own reasons alone, for they are asked too often, say.
 */
export type ReadFault =
  | LookFault
  | { readonly kind: "reverted"; readonly data: Uint8Array | null; readonly message: string; readonly votes: number }
  | Refusal;
type Refusal = { readonly kind: "refused"; readonly message: string; readonly isForNow: boolean };
export type Read<T> = Result<T, ReadFault>;

/** Geth's "execution reverted", taken over by most; OpenEthereum's "VM execution error". */
const REVERT_CODES = [3, -32015];
/** Geth's catch-all; Besu answers a revert with it and the returned data. */
const SERVER_ERROR = -32000;
/**
 * What a contract that ends a call without a word is told of under codes that stand for any failure: geth up to 1.15.5, what is made from it,
 * and Erigon say so of a plain `revert()`, all of them of INVALID, which old compilers put into every check; reth has words of its own for that.
 * That whatever gas there is would not do is what old geth answers to every estimate of a call that fails; that it ran out of it, what a call
 * comes to that asks for more than it was given.
 */
const WORDLESS_REVERT =
  /^(execution reverted|invalid opcode|invalid jump destination|EVM error: (InvalidFEOpcode|OpcodeNotFound|InvalidJump)|out of gas|gas required exceeds)\b/i;
const MAX_REVERT_CHARS = 2_000;
const MAX_WORDS_CHARS = 300;

function revertData(fault: NodeFault): Uint8Array | null {
  if (fault.kind !== "rpc" || typeof fault.data !== "string" || fault.data.length > MAX_REVERT_CHARS) return null;
  const bytes = fault.data.startsWith("0x") ? parseHex(fault.data.slice(2)) : null;
  return bytes?.ok ? bytes.value : null;
}

/** Whether the contract refused the call, and not the node the request. */
export const isRevert = (fault: NodeFault): boolean =>
  fault.kind === "rpc" &&
  (REVERT_CODES.includes(fault.code) ||
    (fault.code === SERVER_ERROR && revertData(fault) !== null) ||
    WORDLESS_REVERT.test(fault.message.slice(0, MAX_WORDS_CHARS)));

/** In other words than those: a node that has no time, or limits how often it is asked, has none of them. */
const namesRevert = (fault: NodeFault): boolean => fault.kind === "rpc" && /\brevert/i.test(fault.message.slice(0, MAX_WORDS_CHARS));

/** JSON-RPC's own code and that of EIP-1474; providers that hide a method say so in words, under any code. */
const LACK_CODES = [-32601, -32004];
const LACK_TEXT = /\bmethod\b.{0,80}\b(not (found|supported|available|allowed|whitelisted)|unsupported|disabled|does not exist)/i;
const lacksMethod = (fault: NodeFault): boolean =>
  fault.kind === "rpc" && (LACK_CODES.includes(fault.code) || LACK_TEXT.test(fault.message.slice(0, MAX_WORDS_CHARS)));

/** The same text for the same answer. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (_key, v: unknown) => (typeof v === "bigint" ? `${v}n` : v instanceof Uint8Array ? toHex(v) : v));
}

const REVERTED = "reverted";

/** Votes of the nodes on one question. */
class Ballot<T> {
  readonly #query: Query<T>;
  readonly #voters = new Map<string, { readonly answer: Read<T>; readonly nodes: EvmNode[] }>();
  readonly #troubles: string[] = [];
  readonly #quorum: Pick<Quorum, "need" | "nodes">;
  #refusal: Refusal | null = null;
  #lacking = 0;

  constructor(query: Query<T>, quorum: Pick<Quorum, "need" | "nodes">) {
    this.#query = query;
    this.#quorum = quorum;
  }

  /** How many must say the same; where some lack the method, a majority of those that have it. */
  get #need(): number {
    const { need, nodes } = this.#quorum;
    // Of the block's nodes, which may be fewer than all: only who lacks a method makes the number that is needed less.
    if (this.#lacking === 0) return need;
    return Math.min(need, Math.floor((nodes.length - this.#lacking) / 2) + 1);
  }

  take(node: EvmNode, answer: NodeAnswer<T>): void {
    if (answer.ok) {
      this.#vote(node, `=${this.#query.vote?.(answer.value) ?? textOf(answer.value)}`, answer);
      return;
    }
    const { error } = answer;
    if (isRevert(error) || (this.#query.mayBeReverted && namesRevert(error))) {
      const message = error.kind === "rpc" ? error.message : "";
      this.#vote(node, REVERTED, err({ kind: "reverted", data: revertData(error), message, votes: 1 }));
      return;
    }
    if (error.kind === "rpc" && (this.#refusal?.isForNow ?? true))
      this.#refusal = { kind: "refused", message: error.message, isForNow: saysNothing(error) };
    if (this.#query.mayLack && lacksMethod(error)) this.#lacking++;
    this.#troubles.push(node.trouble ?? `${node.name}: ${error.kind === "rpc" ? error.message : "no answer"}`);
  }

  #vote(node: EvmNode, text: string, answer: Read<T>): void {
    const known = this.#voters.get(text);
    if (known === undefined) this.#voters.set(text, { answer, nodes: [node] });
    else known.nodes.push(node);
  }

  isDecided(): boolean {
    return [...this.#voters.values()].some(({ nodes }) => nodes.length >= this.#need);
  }

  /** The answer of the majority; those who said otherwise are noted. */
  result(): Read<T> {
    const need = this.#need;
    const what = `the answer to ${this.#query.method}`;
    const ballots = [...this.#voters.values()];
    const winner = ballots.find(({ nodes }) => nodes.length >= need);
    if (winner !== undefined) {
      for (const other of ballots) if (other !== winner) for (const node of other.nodes) node.contradicted(what);
      const { answer, nodes } = winner;
      return answer.ok || answer.error.kind !== "reverted" ? answer : err({ ...answer.error, votes: nodes.length });
    }
    if (ballots.length > 1) return err({ kind: "disagree", what, nodes: ballots.flatMap(({ nodes }) => nodes.map((n) => n.name)) });
    if (ballots.length === 0 && this.#refusal !== null) return err(this.#refusal);
    return err({ kind: "too_few", what, have: ballots[0]?.nodes.length ?? 0, need, troubles: this.#troubles });
  }
}

/** One node's answers. What it refuses as it is it is asked in the plain way, where there is one: it may know no more. */
async function askNode<T>(node: EvmNode, queries: readonly Query<T>[], { block, timeoutMs }: Quorum, signal: AbortSignal) {
  const answers = await node.askAt(queries, block, timeoutMs, signal);
  if (answers === "moved") return answers;
  const refused = queries.flatMap(({ plainParams, ...query }, i) => {
    const answer = answers[i];
    if (plainParams === undefined || answer === undefined || answer.ok || answer.error.kind !== "rpc") return [];
    return isRevert(answer.error) || saysNothing(answer.error) ? [] : [{ i, query: { ...query, params: plainParams } }];
  });
  const plain = await node.askAt(
    refused.map(({ query }) => query),
    block,
    timeoutMs,
    signal,
  );
  if (plain === "moved") return plain;
  return answers.map((answer, i) => plain[refused.findIndex((one) => one.i === i)] ?? answer);
}

/**
 * Asks the best nodes, as many as must agree, and further ones where they do not agree, or do not answer or not soon. One result for each
 * query, in order. Rejects only with `Aborted`.
 *
 * @param first how many are asked at once instead, and waited for a moment longer than is needed
 */
export async function quorumRead<T>(
  quorum: Quorum,
  queries: readonly Query<T>[],
  signal: AbortSignal,
  first = quorum.need,
): Promise<readonly Read<T>[]> {
  const { clock, need } = quorum;
  const ballots = queries.map((query) => new Ballot(query, quorum));
  const open = (): readonly number[] => [...queries.keys()].filter((i) => !ballots[i]?.isDecided());
  const how = { clock, first, isDone: () => open().length === 0, waitsForMore: first > need };
  await askInTurn(quorum.nodes, how, signal, async (node, s) => {
    const asked = open();
    const answers = await askNode(
      node,
      asked.flatMap((i) => queries[i] ?? []),
      quorum,
      s,
    );
    if (answers === "moved") return;
    for (const [a, i] of asked.entries()) {
      const answer = answers[a];
      if (answer !== undefined) ballots[i]?.take(node, answer);
    }
  });
  return ballots.map((ballot) => ballot.result());
}

/** All of the results, or the first that is missing because of the nodes. */
export function wholeRead<T>(reads: readonly Read<T>[]): Result<readonly T[], LookFault> {
  const values: T[] = [];
  for (const read of reads) {
    if (read.ok) values.push(read.value);
    else return err(asLookFault(read.error));
  }
  return ok(values);
}

/** For questions that cannot be refused or reverted: such an answer is the nodes' failure. */
export function asLookFault(fault: ReadFault): LookFault {
  if (fault.kind !== "reverted" && fault.kind !== "refused") return fault;
  return { kind: "too_few", what: "the state of a block", have: 0, need: 1, troubles: [fault.message] };
}
