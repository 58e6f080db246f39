import type { EvmAddress } from "../../../src/core/evm/address.ts";
import { effectiveGasPrice } from "../../../src/core/evm/gas.ts";
import type { SignedEvmTx } from "../../../src/core/evm/tx.ts";
import type { Clock } from "../../../src/ports/clock.ts";
import type { EvmState } from "./evmState.ts";
import { bidOf, intrinsicGas, upFront } from "./executeTx.ts";

export type PoolRules = {
  readonly chainId: bigint;
  /** Block makers may agree on another one. */
  blockGasLimit: bigint;
  /** Wei per gas for whoever makes the block below which nothing is taken. */
  readonly leastTip: bigint;
  readonly maxTxs: number;
  /** Nonces of one account beyond the first that is free. */
  readonly maxAhead: bigint;
  /** One that waits for an earlier nonce is dropped after so long. */
  readonly queuedForMs: number;
};

export type PoolAnswer = { readonly kind: "taken" | "known" } | { readonly kind: "refused"; readonly message: string };

type Entry = { readonly signed: SignedEvmTx; readonly sinceMs: number; readonly number: number };

const refused = (message: string): PoolAnswer => ({ kind: "refused", message });
const tipCap = ({ tx }: SignedEvmTx): bigint => (tx.type === "eip1559" ? tx.maxPriorityFeePerGas : tx.gasPrice);
/** Most a transaction pays, wei per gas. */
export const feeCap = ({ tx }: SignedEvmTx): bigint => (tx.type === "eip1559" ? tx.maxFeePerGas : tx.gasPrice);
/** At least a tenth more. */
const isTenthMore = (now: bigint, before: bigint): boolean => now * 10n >= before * 11n && now > before;

/** Transactions that wait for a block: one for each nonce of an account, those after a gap included. */
export class EvmPool {
  readonly rules: PoolRules;
  readonly #state: EvmState;
  readonly #clock: Clock;
  readonly #dataFee: (signed: SignedEvmTx) => bigint;
  readonly #byId = new Map<string, Entry>();
  readonly #byAccount = new Map<EvmAddress, Map<bigint, Entry>>();
  #count = 0;

  /** @param dataFee what the chain takes from the sender beside gas */
  constructor(rules: PoolRules, state: EvmState, clock: Clock, dataFee: (signed: SignedEvmTx) => bigint) {
    this.rules = rules;
    this.#state = state;
    this.#clock = clock;
    this.#dataFee = dataFee;
  }

  get(txid: string): SignedEvmTx | undefined {
    return this.#byId.get(txid)?.signed;
  }
  /** In the order they came. */
  ids(): readonly string[] {
    return [...this.#byId.keys()];
  }

  /** Those that can be in the next blocks one after the other; what comes after a gap is left out. */
  pending(account: EvmAddress): readonly SignedEvmTx[] {
    const entries = this.#byAccount.get(account);
    const list: SignedEvmTx[] = [];
    for (let nonce = this.#state.nonce(account); ; nonce++) {
      const entry = entries?.get(nonce);
      if (entry === undefined) return list;
      list.push(entry.signed);
    }
  }

  add(signed: SignedEvmTx): PoolAnswer {
    if (this.#byId.has(signed.txid)) return { kind: "known" };
    const old = this.#byAccount.get(signed.from)?.get(signed.tx.nonce)?.signed;
    const no = this.#refusal(signed, old);
    if (no !== null) return refused(no);
    if (old !== undefined) this.remove(old.txid);
    else if (this.#byId.size >= this.rules.maxTxs) {
      const cheapest = [...this.#byId.values()].map((e) => e.signed).reduce((a, b) => (feeCap(b) < feeCap(a) ? b : a));
      if (feeCap(cheapest) >= feeCap(signed)) return refused("the pool is full of transactions that pay more");
      this.remove(cheapest.txid);
    }
    const entry = { signed, sinceMs: this.#clock.nowMs(), number: this.#count++ };
    this.#byId.set(signed.txid, entry);
    const entries = this.#byAccount.get(signed.from) ?? new Map<bigint, Entry>();
    this.#byAccount.set(signed.from, entries.set(signed.tx.nonce, entry));
    return { kind: "taken" };
  }

  #refusal(signed: SignedEvmTx, old: SignedEvmTx | undefined): string | null {
    const { tx, from } = signed;
    const { chainId, blockGasLimit, leastTip, maxAhead } = this.rules;
    const nonce = this.#state.nonce(from);
    if (tx.chainId !== chainId) return `signed for the chain ${tx.chainId}`;
    if (tx.to === null) return "this chain takes no new contracts";
    if (tx.gasLimit > blockGasLimit) return "more gas than a block has";
    if (tx.gasLimit < intrinsicGas(tx.data)) return "less gas than the transaction itself costs";
    if (tx.nonce < nonce) return `nonce ${tx.nonce} is used, the next is ${nonce}`;
    if (tx.nonce > nonce + maxAhead) return `nonce ${tx.nonce} is too far ahead of ${nonce}`;
    if (tipCap(signed) < leastTip) return "pays too little";
    if (old !== undefined && !(isTenthMore(feeCap(signed), feeCap(old)) && isTenthMore(tipCap(signed), tipCap(old))))
      return "pays too little to replace the other with this nonce";
    const others = [...(this.#byAccount.get(from)?.values() ?? [])].filter((entry) => entry.signed !== old);
    const needed = others.reduce((sum, entry) => sum + this.#cost(entry.signed), this.#cost(signed));
    return this.#state.wei(from) < needed ? `the account has too little for all that waits: ${needed} wei` : null;
  }

  #cost(signed: SignedEvmTx): bigint {
    return upFront(signed.tx) + this.#dataFee(signed);
  }

  remove(txid: string): void {
    const entry = this.#byId.get(txid);
    if (entry === undefined) return;
    this.#byId.delete(txid);
    const { from, tx } = entry.signed;
    const entries = this.#byAccount.get(from);
    entries?.delete(tx.nonce);
    if (entries?.size === 0) this.#byAccount.delete(from);
  }

  clear(): void {
    this.#byId.clear();
    this.#byAccount.clear();
  }

  /** Drops what can never be in a block any more, what its account cannot pay for any more, and what waited for an earlier nonce for too long. */
  tidy(): void {
    const late = this.#clock.nowMs() - this.rules.queuedForMs;
    for (const [account, entries] of this.#byAccount) {
      const nonce = this.#state.nonce(account);
      const free = nonce + BigInt(this.pending(account).length);
      for (const { signed, sinceMs } of [...entries.values()]) {
        const isStuck = signed.tx.nonce > free && sinceMs < late;
        const isCovered = this.#cost(signed) <= this.#state.wei(account);
        if (signed.tx.nonce < nonce || isStuck || !isCovered) this.remove(signed.txid);
      }
    }
  }

  /**
   * Fills a block: always the transaction that pays most beside the base fee among the next ones of each account, of equals the
   * older. `take` puts it in and tells how much of the block it used; null: it cannot be in it, and nothing after it.
   */
  fill(baseFee: bigint, take: (signed: SignedEvmTx) => bigint | null): void {
    const { blockGasLimit } = this.rules;
    let gasLeft = blockGasLimit;
    const queues = [...this.#byAccount.keys()].map((account) => [...this.pending(account)]);
    const tipOf = (signed: SignedEvmTx): bigint => (effectiveGasPrice(bidOf(signed.tx), baseFee) ?? -1n) - baseFee;
    const number = (signed: SignedEvmTx): number => this.#byId.get(signed.txid)?.number ?? 0;
    for (;;) {
      let best: SignedEvmTx[] | null = null;
      for (const queue of queues) {
        const [head] = queue;
        if (head === undefined) continue;
        // One below the base fee, or too big for the rest, keeps its account waiting.
        if (tipOf(head) < 0n || head.tx.gasLimit > gasLeft) {
          queue.length = 0;
          continue;
        }
        const leader = best?.[0];
        const isBetter =
          leader === undefined || tipOf(head) > tipOf(leader) || (tipOf(head) === tipOf(leader) && number(head) < number(leader));
        if (isBetter) best = queue;
      }
      const head = best?.shift();
      if (best === null || head === undefined) return;
      const used = take(head);
      if (used === null) best.length = 0;
      else gasLeft -= used;
    }
  }
}
