import { type PaymentState, parseSwapEvent, SWAP_TOPICS } from "../../core/evm/swapContract.ts";
import { toHex } from "../../core/util/bytes.ts";
import { ok, type Result } from "../../core/util/result.ts";
import type { LogAnswer } from "./answers.ts";
import { paymentKey } from "./chainView.ts";
import type { EvmNode } from "./evmNode.ts";
import type { LookFault } from "./fault.ts";
import { claimOfLog, eventIn, type FollowedTx, lookAtTxs, type SwapLog, type TxLook } from "./followedTxs.ts";
import { logsQuery } from "./query.ts";
import type { Quorum } from "./quorum.ts";
import type { WatchedPayment } from "./watches.ts";

export type EventKind = SwapLog["kind"];

/** What must have happened for a payment to be in a state. */
export const EVENTS_OF: { readonly [state in PaymentState]: readonly EventKind[] } = {
  uninitialized: [],
  sent: ["sent"],
  spent: ["sent", "spent"],
  refunded: ["sent", "refunded"],
};

/** Log questions of one look, over all payments: a look must end. */
const QUESTIONS_PER_LOOK = 30;
/** A node that refuses so few blocks has no logs to give. Some give those of ten at most, and one block may hold very many. */
const LEAST_RANGE = 1;
/** Wait before all blocks are searched once more for what no node's logs have. */
const REPEAT_MS = 60_000;
/** Transactions one answer may name for one event; honest ones name one. */
const MAX_CANDIDATES = 5;

type Search = {
  /** Whose logs are read just now, to their end; null: nobody's yet. */
  node: EvmNode | null;
  /** Blocks above are read, by that node. */
  to: number;
  /** Nodes that have nothing more to say. */
  readonly finished: Set<EvmNode>;
  /** Those of them that read to the end and did not name it. */
  readonly silent: Set<EvmNode>;
  /** Null while it goes on. */
  repeatAtMs: number | null;
};

type Missing = { readonly payment: WatchedPayment; readonly kinds: readonly EventKind[] };
type Found = { readonly tx: FollowedTx; readonly payment: WatchedPayment };

/**
 * Looks for the transactions behind the state of payments in the logs of one node after the other, newest blocks first. What a
 * node names is believed when a majority has it in the transaction's receipt. The contract's state says what there must be:
 * an answer without it is incomplete, and the next node is asked.
 */
export class EventSearch {
  readonly #searches = new Map<string, Search>();

  /** True when every block was read by every node and nothing more is done for now. */
  isExhausted(key: string): boolean {
    return (this.#searches.get(key)?.repeatAtMs ?? null) !== null;
  }

  /** Forgets the searches for all other payments. */
  keepOnly(keys: ReadonlySet<string>): void {
    for (const key of [...this.#searches.keys()]) if (!keys.has(key)) this.#searches.delete(key);
  }

  /** One bounded part of the search; transactions that are proven to hold a missing event. */
  async step(look: TxLook, missing: readonly Missing[], signal: AbortSignal): Promise<Result<readonly FollowedTx[], LookFault>> {
    const found: FollowedTx[] = [];
    let questions = QUESTIONS_PER_LOOK;
    for (const { payment, kinds } of missing) {
      const search = this.#searchFor(payment, look);
      const open = new Set(kinds);
      while (questions > 0 && open.size > 0 && search.repeatAtMs === null) {
        questions--;
        const part = await this.#ask(search, payment, open, look, signal);
        if (!part.ok) return part;
        for (const { tx } of part.value) {
          found.push(tx);
          for (const { kind, id, contract } of tx.swapLogs) if (id === payment.id && contract === payment.contract) open.delete(kind);
        }
      }
      if (open.size > 0) continue;
      for (const node of search.silent) node.contradicted("the logs of a swap contract");
      this.#searches.delete(paymentKey(payment));
    }
    return ok(found);
  }

  #searchFor(payment: WatchedPayment, { quorum, nowMs }: TxLook): Search {
    const key = paymentKey(payment);
    const known = this.#searches.get(key);
    if (known !== undefined && (known.repeatAtMs === null || nowMs < known.repeatAtMs)) return known;
    const search: Search = { node: null, to: quorum.block.height, finished: new Set(), silent: new Set(), repeatAtMs: null };
    this.#searches.set(key, search);
    return search;
  }

  /** One question to one node. */
  async #ask(
    search: Search,
    payment: WatchedPayment,
    open: ReadonlySet<EventKind>,
    look: TxLook,
    signal: AbortSignal,
  ): Promise<Result<readonly Found[], LookFault>> {
    const { quorum, nowMs } = look;
    const node = reader(search, quorum);
    if (node === undefined) {
      search.repeatAtMs = nowMs + REPEAT_MS;
      return ok([]);
    }
    const { to } = search;
    const from = Math.max(payment.fromHeight, to - node.logRange + 1);
    if (from > to) {
      search.finished.add(node);
      search.silent.add(node);
      return ok([]);
    }
    const topics = [...open].map((kind) => SWAP_TOPICS[kind]);
    const [answer] = await node.ask([logsQuery(payment.contract, topics, from, to)], null, quorum.timeoutMs, signal);
    if (answer === undefined || !answer.ok) {
      if (node.logRange > LEAST_RANGE) node.halveLogRange();
      else search.finished.add(node);
      return ok([]);
    }
    search.to = from - 1;
    const named = new Map<string, LogAnswer>();
    for (const log of answer.value) {
      if (log.address !== payment.contract || log.blockNumber < from || log.blockNumber > to || log.removed === true) continue;
      const event = parseSwapEvent(log.topics, log.data);
      if (event.ok && open.has(event.value.kind) && toHex(event.value.id) === payment.id) named.set(log.transactionHash, log);
    }
    return named.size === 0 ? ok([]) : this.#proven(node, payment, open, new Map([...named].slice(0, MAX_CANDIDATES)), look, signal);
  }

  /**
   * A claim whose receipt cannot be read counts as the node's log has it: the contract's state says that there is one, and whoever uses
   * the secret compares its hash.
   */
  async #proven(
    node: EvmNode,
    payment: WatchedPayment,
    open: ReadonlySet<EventKind>,
    named: ReadonlyMap<string, LogAnswer>,
    look: TxLook,
    signal: AbortSignal,
  ): Promise<Result<readonly Found[], LookFault>> {
    const found: FollowedTx[] = [];
    let isContradicted = false;
    for (const [txid, log] of named) {
      const read = await lookAtTxs(look, [txid], signal);
      if (!read.ok && read.error.kind === "moved") return read;
      const tx = read.ok ? (read.value.get(txid) ?? null) : await claimOfLog(look, log, signal);
      if (tx && [...open].some((kind) => eventIn(tx, payment.contract, payment.id, kind) !== null)) found.push(tx);
      else if (read.ok) isContradicted = true;
    }
    if (isContradicted) node.contradicted("the logs of a swap contract");
    return ok(found.map((tx) => ({ tx, payment })));
  }
}

/**
 * Who is asked next: the same node until it has nothing more to say or is away, however quick another one has become; another one begins
 * at the newest block again. Undefined: nobody is left.
 */
function reader(search: Search, { nodes, block }: Quorum): EvmNode | undefined {
  const open = nodes.filter((node) => !search.finished.has(node)).sort((a, b) => a.cost - b.cost);
  const there = open.filter(({ state }) => state !== "away");
  const next = there.find((node) => node === search.node) ?? there[0] ?? open[0];
  if (next !== undefined && next !== search.node) {
    search.node = next;
    search.to = block.height;
  }
  return next;
}
