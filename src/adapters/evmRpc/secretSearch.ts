import type { EvmAddress } from "../../core/evm/address.ts";
import { isSecretOf, parseSwapEvent, SWAP_TOPICS } from "../../core/evm/swapContract.ts";
import { toHex } from "../../core/util/bytes.ts";
import type { ShownSecret } from "../../ports/accountChain.ts";
import { Aborted, type Clock, sleep, withDeadline } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import type { LogAnswer } from "./answers.ts";
import { paymentKey } from "./chainView.ts";
import type { EvmNode } from "./evmNode.ts";
import { isLater, lacksBlock } from "./fault.ts";
import { blockQuery, logsQuery } from "./query.ts";
import type { WatchedPayment, Watches } from "./watches.ts";

export type SecretSearchDeps = {
  readonly clock: Clock;
  readonly log: Pick<Log, "error" | "info">;
  readonly watches: Watches;
  /** Those that may be asked now; others after an exchange. */
  readonly nodes: () => readonly EvmNode[];
  /** Since the nodes last agreed on a block, ms; or how long they have agreed on none that is new while one of them has one. */
  readonly shortMs: () => number;
  /** Deadline of one request, ms. */
  readonly timeoutMs: number;
  /** A secret was found of the payment with this id. */
  readonly onSecret: (id: string) => void;
};

/** So long a look may fail before nodes are read one by one. */
const PATIENCE_MS = 60_000;
const PAUSE_MS = 15_000;
/** Questions for logs to one node in one round, and the time a round may take: a node that is late keeps the others waiting no longer. */
const QUESTIONS = 20;
const ROUND_MS = 60_000;
/** Blocks read once more with what came since: those at the tip may have been replaced. Of a node that gives few at once no more than half of these. */
const OVERLAP = 32;

type Sought = WatchedPayment & { readonly lockTime: bigint };
/** What was read of a contract's logs at one node: from `bottom` to `top`, for the payments in `ids`. */
type Region = { readonly ids: ReadonlySet<string>; top: number; bottom: number };

/**
 * Reads the secrets of claims from each node by itself while too few agree on anything. Whoever shows the secret for which a payment's id
 * was made had it from the claim, so it proves itself; and a taker that waits for the others until its lock has lost its payment. Nothing
 * else that such a node says is believed.
 */
export class SecretSearch {
  readonly #deps: SecretSearchDeps;
  /** By payment. */
  readonly #found = new Map<string, ShownSecret>();
  #regions = new WeakMap<EvmNode, Map<string, Region>>();

  constructor(deps: SecretSearchDeps) {
    this.#deps = deps;
  }

  shown(key: string): ShownSecret | null {
    return this.#found.get(key) ?? null;
  }

  /** Runs until `signal` fires. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, shortMs, watches, nodes } = this.#deps;
    for (;;) {
      await sleep(clock, PAUSE_MS, signal);
      for (const key of this.#found.keys()) if (!watches.payments.has(key)) this.#found.delete(key);
      if (shortMs() < PATIENCE_MS) {
        this.#regions = new WeakMap();
        continue;
      }
      await Promise.all(nodes().map((node) => this.#readNode(node, signal)));
    }
  }

  async #readNode(node: EvmNode, signal: AbortSignal): Promise<void> {
    const sought = this.#sought();
    const contracts = [...new Set(sought.map(({ contract }) => contract))];
    if (contracts.length === 0) return;
    const { clock, log, timeoutMs } = this.#deps;
    try {
      await withDeadline(clock, ROUND_MS, [signal], async (s) => {
        const [latest] = await node.ask([blockQuery("latest")], null, timeoutMs, s);
        if (!latest?.ok || latest.value === null) return;
        const tip = latest.value.number;
        for (const contract of contracts) {
          const payments = sought.filter((payment) => payment.contract === contract);
          await this.#readContract(node, contract, payments, tip, s);
        }
      });
    } catch (cause) {
      if (signal.aborted) throw cause;
      // The next round reads on; what one node answered must not end the search at the others.
      if (!(cause instanceof Aborted))
        log.error("secret_search_failed", { node: node.name, cause: cause instanceof Error ? cause.message : String(cause) });
    }
  }

  #sought(): readonly Sought[] {
    return [...this.#deps.watches.payments.values()].flatMap((payment) => {
      const { lockTime } = payment;
      return lockTime === undefined || this.#found.has(paymentKey(payment)) ? [] : [{ ...payment, lockTime }];
    });
  }

  /** What is new first, then on the way down from where this node was read to. */
  async #readContract(node: EvmNode, contract: EvmAddress, payments: readonly Sought[], tip: number, signal: AbortSignal): Promise<void> {
    const lowest = Math.min(...payments.map(({ fromHeight }) => fromHeight));
    const region = this.#regionOf(node, contract, payments, tip);
    let newest = tip;
    let below = 1;
    for (let asked = 0; asked < QUESTIONS; asked++) {
      const isNew = region.top < newest;
      const again = Math.min(OVERLAP, Math.floor(node.logRange / 2));
      const from = isNew ? Math.max(0, region.top + 1 - again) : Math.max(lowest, region.bottom - node.logRange);
      const to = isNew ? Math.min(newest, from + node.logRange - 1) : region.bottom - 1;
      if (from > to) return;
      const query = logsQuery(contract, [SWAP_TOPICS.spent], from, to);
      const [answer] = await node.ask([query], null, this.#deps.timeoutMs, signal);
      if (answer === undefined || !answer.ok) {
        if (node.state === "away" || node.logRange <= 1) return;
        const fault = answer?.ok === false ? answer.error : null;
        if (fault?.kind === "rpc" && isLater(fault)) {
          // Of one whose logs come later than its blocks the rest is read, on a quick chain many blocks below; one that is asked too often is let be.
          if (!isNew || !lacksBlock(fault.message)) return;
          newest = to - below;
          below *= 2;
          continue;
        }
        node.halveLogRange();
        continue;
      }
      for (const log of answer.value) this.#take(log, payments);
      if (isNew) region.top = to;
      else region.bottom = from;
    }
  }

  #regionOf(node: EvmNode, contract: EvmAddress, payments: readonly Sought[], tip: number): Region {
    const regions = this.#regions.get(node) ?? new Map<string, Region>();
    this.#regions.set(node, regions);
    const known = regions.get(contract);
    if (known && payments.every(({ id }) => known.ids.has(id))) return known;
    const region = { ids: new Set(payments.map(({ id }) => id)), top: tip, bottom: tip + 1 };
    regions.set(contract, region);
    return region;
  }

  #take(log: LogAnswer, payments: readonly Sought[]): void {
    const event = parseSwapEvent(log.topics, log.data);
    if (!event.ok || event.value.kind !== "spent") return;
    const { secret } = event.value;
    const id = toHex(event.value.id);
    const payment = payments.find((p) => p.id === id && p.contract === log.address);
    if (payment === undefined || this.#found.has(paymentKey(payment)) || !isSecretOf(id, payment.lockTime, secret)) return;
    this.#found.set(paymentKey(payment), { txid: log.transactionHash, secret });
    this.#deps.log.info("secret_shown", { payment: id, txid: log.transactionHash });
    this.#deps.onSecret(id);
  }
}
