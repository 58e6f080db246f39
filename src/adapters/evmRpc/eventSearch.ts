import { isSecretOf, type PaymentState, parseSwapEvent, SWAP_TOPICS } from "../../core/evm/swapContract.ts";
import { toHex } from "../../core/util/bytes.ts";
import { ok, type Result } from "../../core/util/result.ts";
import type { ShownSecret } from "../../ports/accountChain.ts";
import type { Clock } from "../../ports/clock.ts";
import type { LogAnswer } from "./answers.ts";
import { paymentKey } from "./chainView.ts";
import type { EvmNode } from "./evmNode.ts";
import { isLater, type LookFault, lacksBlock } from "./fault.ts";
import { claimOfLog, eventIn, type FollowedTx, lookAtTxs, type SwapLog, type TxLook } from "./followedTxs.ts";
import { blockQuery, logsQuery } from "./query.ts";
import type { WatchedPayment } from "./watches.ts";

export type EventKind = SwapLog["kind"];

/** What must have happened for a payment to be in a state. */
export const EVENTS_OF: { readonly [state in PaymentState]: readonly EventKind[] } = {
  uninitialized: [],
  sent: ["sent"],
  spent: ["sent", "spent"],
  refunded: ["sent", "refunded"],
};

/** Log questions of one look, over all payments, and how long they may take together: a look must end, and be in time. */
const QUESTIONS_PER_LOOK = 30;
const SEARCH_MS = 15_000;
/** A node that refuses so few blocks has no logs to give. Some give those of ten at most, and one block may hold very many. */
const LEAST_RANGE = 1;
/** Wait before a node's blocks are read once more for what it did not name: its logs may come after its blocks. */
const REPEAT_MS = 60_000;
/** So many looks in a row a node may be away when it is asked for logs before it counts as one without: it may answer all but these. */
const MAX_OUTAGES = 8;
/** Whether a node is away must be found out soon: the time of a look is limited. */
const HEADER_MS = 3_000;
/** Transactions one answer may name for one event; honest ones name one. */
const MAX_CANDIDATES = 5;

/** How far a node's logs are read: blocks above `to`. `tookMs`: the time its answers took. `againAtMs`: not before, when it is through. */
type Reading = { to: number; tookMs: number; againAtMs: number | null };

type Search = {
  /** What it looks for: of what came later, blocks that are read say nothing. */
  readonly kinds: ReadonlySet<EventKind>;
  readonly readings: Map<EvmNode, Reading>;
  /** Nodes that were read to the end, or give no logs. */
  readonly finished: Set<EvmNode>;
  /** Its last question, counted over all searches; 0: none yet. */
  turn: number;
  /** Null while it goes on. */
  repeatAtMs: number | null;
};

/** `lockTime`: as the contract has it. */
type Missing = { readonly payment: WatchedPayment & { readonly lockTime: bigint }; readonly kinds: readonly EventKind[] };

/**
 * Looks for the transactions behind the state of payments in the logs of each node, newest blocks first. What a node names is believed
 * when a majority has it in the transaction's receipt. The contract's state says what there must be: an answer without it is incomplete,
 * and others are asked. Nodes and payments take turns: one node that answers late and says nothing, or one payment whose logs are nowhere,
 * must not keep a secret from us until it is worth nothing. Nor do those who are through wait for it: they are read again.
 */
export class EventSearch {
  readonly #clock: Clock;
  readonly #searches = new Map<string, Search>();
  /** Looks in which a node was away, since it last gave logs. */
  readonly #outages = new Map<EvmNode, number>();
  /** What logs showed of claims that most nodes do not know, by payment. */
  readonly #shown = new Map<string, ShownSecret>();
  #turns = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** True when every block was read by every node and nothing more is done for now. */
  isExhausted(key: string): boolean {
    return (this.#searches.get(key)?.repeatAtMs ?? null) !== null;
  }

  /** The secret in a claim of which one node's log tells alone: it is the one that the payment's id was made for, whoever shows it. */
  shown(key: string): ShownSecret | null {
    return this.#shown.get(key) ?? null;
  }

  /** Forgets the searches for all other payments. */
  keepOnly(keys: ReadonlySet<string>): void {
    for (const known of [this.#searches, this.#shown]) for (const key of [...known.keys()]) if (!keys.has(key)) known.delete(key);
  }

  /** One bounded part of the search; transactions that are proven to hold a missing event. */
  async step(look: TxLook, missing: readonly Missing[], signal: AbortSignal): Promise<Result<readonly FollowedTx[], LookFault>> {
    const found: FollowedTx[] = [];
    const sinceMs = this.#clock.nowMs();
    const away = new Set<EvmNode>();
    const queue = missing
      .map(({ payment, kinds }) => ({ payment, open: new Set(kinds), search: this.#searchFor(payment, kinds, look) }))
      .filter(({ search }) => search.repeatAtMs === null)
      .sort((a, b) => a.search.turn - b.search.turn);
    for (let asked = 0; asked < QUESTIONS_PER_LOOK && this.#clock.nowMs() - sinceMs < SEARCH_MS; asked++) {
      const next = queue.shift();
      if (next === undefined) break;
      const { payment, open, search } = next;
      search.turn = ++this.#turns;
      const node = reader(search, look, away);
      if (node === undefined) {
        // Whoever is away is asked in the next look.
        if (isThrough(search, look)) search.repeatAtMs = look.nowMs + REPEAT_MS;
        continue;
      }
      const part = await this.#ask(node, search, payment, open, look, signal);
      if (part === "away") {
        away.add(node);
        queue.push(next);
        continue;
      }
      if (!part.ok) return part;
      for (const tx of part.value) {
        found.push(tx);
        for (const { kind, id, contract } of tx.swapLogs) if (id === payment.id && contract === payment.contract) open.delete(kind);
      }
      if (open.size === 0) this.#searches.delete(paymentKey(payment));
      else if (search.repeatAtMs === null) queue.push(next);
    }
    return ok(found);
  }

  #searchFor(payment: WatchedPayment, kinds: readonly EventKind[], { nowMs }: TxLook): Search {
    const key = paymentKey(payment);
    const known = this.#searches.get(key);
    if (known && kinds.every((kind) => known.kinds.has(kind)) && (known.repeatAtMs === null || nowMs < known.repeatAtMs)) return known;
    const search: Search = { kinds: new Set(kinds), readings: new Map(), finished: new Set(), turn: 0, repeatAtMs: null };
    this.#searches.set(key, search);
    return search;
  }

  /** One question to one node. `away`: it answers nothing, so that its silence says nothing of its logs. */
  async #ask(
    node: EvmNode,
    search: Search,
    payment: Missing["payment"],
    open: ReadonlySet<EventKind>,
    look: TxLook,
    signal: AbortSignal,
  ): Promise<Result<readonly FollowedTx[], LookFault> | "away"> {
    const { quorum, nowMs } = look;
    const reading = search.readings.get(node) ?? { to: quorum.block.height, tookMs: 0, againAtMs: null };
    search.readings.set(node, reading);
    if (reading.againAtMs !== null) Object.assign(reading, { to: quorum.block.height, againAtMs: null });
    const { to } = reading;
    const through = (): Result<readonly FollowedTx[], LookFault> => {
      search.finished.add(node);
      reading.againAtMs = nowMs + REPEAT_MS;
      return ok([]);
    };
    const from = Math.max(payment.fromHeight, to - node.logRange + 1);
    if (from > to) return through();
    const topics = [...open].map((kind) => SWAP_TOPICS[kind]);
    const askedMs = this.#clock.nowMs();
    const [answer] = await node.ask([logsQuery(payment.contract, topics, from, to)], null, quorum.timeoutMs, signal);
    const fault = answer?.ok === false ? answer.error : null;
    const isAway = fault !== null && fault.kind !== "bad_answer" && (isLater(fault) || !(await answersAtAll(node, look, signal)));
    reading.tookMs += Math.max(1, this.#clock.nowMs() - askedMs);
    const outages = this.#outages.get(node) ?? 0;
    if (isAway && outages < MAX_OUTAGES) {
      this.#outages.set(node, outages + 1);
      return "away";
    }
    if (answer === undefined || !answer.ok) {
      if (node.logRange <= LEAST_RANGE || (fault?.kind === "rpc" && lacksBlock(fault.message))) return through();
      node.halveLogRange();
      return ok([]);
    }
    this.#outages.delete(node);
    reading.to = from - 1;
    const named = new Map<string, LogAnswer>();
    for (const log of answer.value) {
      if (log.address !== payment.contract || log.blockNumber < from || log.blockNumber > to || log.removed === true) continue;
      const event = parseSwapEvent(log.topics, log.data);
      if (event.ok && open.has(event.value.kind) && toHex(event.value.id) === payment.id) named.set(log.transactionHash, log);
    }
    if (named.size === 0) return ok([]);
    const found = await this.#proven(node, payment, open, new Map([...named].slice(0, MAX_CANDIDATES)), look, signal);
    if (found.ok) for (const tx of found.value) contradictSilent(search, node, tx);
    return found;
  }

  /**
   * A claim whose receipt cannot be read counts as the node's log has it: the contract's state says that there is one, and the payment's
   * id proves the secret.
   */
  async #proven(
    node: EvmNode,
    payment: Missing["payment"],
    open: ReadonlySet<EventKind>,
    named: ReadonlyMap<string, LogAnswer>,
    look: TxLook,
    signal: AbortSignal,
  ): Promise<Result<readonly FollowedTx[], LookFault>> {
    const found: FollowedTx[] = [];
    let isContradicted = false;
    for (const [txid, log] of named) {
      const read = await lookAtTxs(look, [txid], signal);
      if (!read.ok && read.error.kind === "moved") return read;
      const tx = read.ok ? (read.value.get(txid) ?? null) : await claimOfLog(look, log, payment.lockTime, signal);
      if (tx && [...open].some((kind) => eventIn(tx, payment.contract, payment.id, kind) !== null)) found.push(tx);
      else if (read.ok && !this.#noteSecret(payment, log)) isContradicted = true;
    }
    if (isContradicted) node.contradicted("the logs of a swap contract");
    return ok(found);
  }

  /** @returns whether a log has the secret of the payment: then it is no invention, whatever most nodes know of its transaction */
  #noteSecret(payment: Missing["payment"], log: LogAnswer): boolean {
    const event = parseSwapEvent(log.topics, log.data);
    if (!event.ok || event.value.kind !== "spent" || !isSecretOf(payment.id, payment.lockTime, event.value.secret)) return false;
    this.#shown.set(paymentKey(payment), { txid: log.transactionHash, secret: event.value.secret });
    return true;
  }
}

/** Whose logs were read at the block of an event and did not have it. */
function contradictSilent({ readings }: Search, named: EvmNode, { block }: FollowedTx): void {
  for (const [node, { to }] of readings)
    if (node !== named && block !== null && to < block.height) node.contradicted("the logs of a swap contract");
}

/** A node that is down, or limits how often it is asked, refuses any question; one that has too many logs to give, those for logs. */
async function answersAtAll(node: EvmNode, { quorum }: TxLook, signal: AbortSignal): Promise<boolean> {
  const [header] = await node.ask([blockQuery(quorum.block.height)], null, Math.min(quorum.timeoutMs, HEADER_MS), signal);
  return header?.ok === true;
}

const isThrough = ({ finished }: Search, { quorum: { nodes } }: TxLook): boolean => nodes.every((node) => finished.has(node));

/**
 * Who is asked next: whose answers took the least time so far, so that a slow one costs the others no more than their own. Each goes on
 * where it was, and begins again a while after it was through. Undefined: everybody was, or is away.
 */
function reader(search: Search, look: TxLook, away: ReadonlySet<EvmNode>): EvmNode | undefined {
  if (isThrough(search, look)) return undefined;
  const { readings } = search;
  const open = look.quorum.nodes.filter((node) => !away.has(node) && look.nowMs >= (readings.get(node)?.againAtMs ?? 0));
  const there = open.filter(({ state }) => state !== "away");
  const tookMs = (node: EvmNode): number => readings.get(node)?.tookMs ?? 0;
  const [next] = (there.length > 0 ? there : open).sort((a, b) => tookMs(a) - tookMs(b) || a.cost - b.cost);
  return next;
}
