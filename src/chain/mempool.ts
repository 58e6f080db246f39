import { err, ok, type Result } from "../core/util/result.ts";
import type { ChainPolicy } from "./chainPolicy.ts";
import type { BlockEntry, ChainState } from "./chainState.ts";
import { type ChainTx, isCoinbase, outPointKey } from "./chainTx.ts";
import { type Coin, coinOf } from "./coinSet.ts";
import { checkTransaction, checkTxInputs, hasAgedForMempool, isExpired, isFinal, relativeLocksMet } from "./consensus/txRules.ts";
import { type MempoolEntry, MempoolGraph } from "./mempoolGraph.ts";
import { formatCoins } from "./money.ts";
import { checkReplacement, isReplaceable } from "./replacement.ts";
import { SCRIPT_ERROR_TEXT } from "./script/scriptError.ts";
import { type ScriptChecks, sigOpsCost } from "./scriptChecks.ts";
import { inputsProblem, standardProblem } from "./standardness.ts";

/** Chains of unconfirmed transactions, each counted with itself: how many, and virtual bytes (Core's defaults). */
const MAX_CHAIN = 25;
const MAX_CHAIN_VBYTES = 101_000;
const MAX_STANDARD_SIGOPS_COST = 16_000;

export type MempoolReject = {
  readonly kind: "missing_inputs" | "in_mempool" | "invalid";
  /** Core's word for it. */
  readonly reason: string;
  readonly detail?: string;
};

export type Accepted = { readonly entry: MempoolEntry; readonly replaced: readonly string[] };

export type AcceptOptions = {
  /** Look only, change nothing. */
  readonly dryRun?: boolean;
  /** A transaction that comes back after a reorganisation: no fee and no chain-length limits. */
  readonly returning?: boolean;
};

const invalid = (reason: string, detail?: string): Result<never, MempoolReject> =>
  err({ kind: "invalid", reason, ...(detail === undefined ? {} : { detail }) });

/** Unconfirmed transactions that could be in the next block, kept by Bitcoin Core's relay rules. */
export class Mempool {
  readonly graph: MempoolGraph;
  readonly #state: ChainState;
  readonly #scripts: ScriptChecks;
  readonly #maxVbytes: number;
  readonly #policy: ChainPolicy;
  /** Rate below which nothing enters after transactions were pushed out for lack of room; base units per 1000 bytes. */
  #floorFeePerKb = 0n;

  /** @param onChange called after every change of the graph */
  constructor(state: ChainState, scripts: ScriptChecks, maxVbytes: number, policy: ChainPolicy, onChange?: () => void) {
    this.graph = new MempoolGraph(onChange);
    this.#state = state;
    this.#scripts = scripts;
    this.#maxVbytes = maxVbytes;
    this.#policy = policy;
  }

  get maxVbytes(): number {
    return this.#maxVbytes;
  }

  /** Lowest fee rate that enters now, base units per 1000 virtual bytes. */
  get minFeePerKb(): bigint {
    const relay = this.#state.params.minRelayFeePerKb;
    return this.#entryFeePerKb > relay ? this.#entryFeePerKb : relay;
  }

  get #entryFeePerKb(): bigint {
    const { entryFeePerKb } = this.#policy;
    return this.#floorFeePerKb > entryFeePerKb ? this.#floorFeePerKb : entryFeePerKb;
  }

  /** Pushes out what pays less with all that hangs on it, as a full mempool does. @returns the ids */
  evictBelow(feePerKb: bigint): readonly string[] {
    const gone: string[] = [];
    for (const { chainTx } of this.graph.entries()) {
      if (!this.graph.get(chainTx.txid)) continue;
      const all = this.graph.descendants(chainTx.txid);
      if (this.graph.feesOf(all) * 1_000n < feePerKb * BigInt(this.graph.vsizeOf(all)))
        gone.push(...this.graph.removeWithDescendants(chainTx.txid));
    }
    return gone;
  }

  /** The coin an input spends: unconfirmed or in the chain; unconfirmed ones count as in the next block. */
  coin(txid: string, vout: number): Coin | undefined {
    const parent = this.graph.get(txid);
    if (parent) return coinOf(parent.chainTx, vout, this.#state.tip.height + 1) ?? undefined;
    return this.#state.coins.get(outPointKey({ txid, vout }));
  }

  accept(chainTx: ChainTx, options: AcceptOptions = {}): Result<Accepted, MempoolReject> {
    const early = this.#checkForm(chainTx);
    if (early) return err(early);
    const conflicts = this.#conflicts(chainTx);
    if (!conflicts.ok) return conflicts;
    const coins = this.#inputCoins(chainTx);
    if (!coins.ok) return coins;
    const fee = this.#checkCoins(chainTx, coins.value, options);
    if (!fee.ok) return fee;
    const parents = new Set(chainTx.tx.inputs.map((i) => i.txid).filter((id) => this.graph.get(id)));
    const replaced = this.#checkPlace(chainTx, fee.value, parents, conflicts.value, options);
    if (!replaced.ok) return replaced;
    const failed = this.#checkScripts(chainTx, coins.value);
    if (failed) return err(failed);
    const { tip, nowSec } = this.#state;
    const entry = { chainTx, coins: coins.value, fee: fee.value, time: nowSec, height: tip.height, parents, children: new Set<string>() };
    if (!options.dryRun) {
      for (const id of replaced.value) this.graph.remove(id);
      this.graph.add(entry);
      this.#trim();
      if (!this.graph.get(chainTx.txid)) return invalid("mempool full");
    }
    return ok({ entry, replaced: replaced.value });
  }

  #checkForm(chainTx: ChainTx): MempoolReject | null {
    const { params, tip } = this.#state;
    const bad = (reason: string, detail?: string): MempoolReject => ({ kind: "invalid", reason, ...(detail ? { detail } : {}) });
    const problem = checkTransaction(chainTx, params);
    if (problem) return bad(problem);
    if (isCoinbase(chainTx.tx)) return bad("coinbase");
    const odd = standardProblem(chainTx, params);
    if (odd) return bad(odd);
    if (!isFinal(chainTx.tx, tip.height + 1, tip.medianTime)) return bad("non-final");
    if (isExpired(chainTx.tx, tip.height + 1)) return bad("tx-overwinter-expired");
    if (hasAgedForMempool(chainTx.tx, params, tip.medianTime)) return bad("komodo-interest-invalid");
    const known = this.graph.get(chainTx.txid);
    if (!known) return null;
    const same = known.chainTx.wtxid === chainTx.wtxid;
    return { kind: "in_mempool", reason: same ? "txn-already-in-mempool" : "txn-same-nonwitness-data-in-mempool" };
  }

  #conflicts(chainTx: ChainTx): Result<readonly string[], MempoolReject> {
    const found = new Set<string>();
    for (const input of chainTx.tx.inputs) {
      const other = this.graph.spender(outPointKey(input));
      if (other === undefined) continue;
      if (!this.#policy.replacement || !isReplaceable(other, this.graph)) return invalid("txn-mempool-conflict");
      found.add(other);
    }
    return ok([...found]);
  }

  #inputCoins(chainTx: ChainTx): Result<readonly Coin[], MempoolReject> {
    const coins: Coin[] = [];
    for (const input of chainTx.tx.inputs) {
      const coin = this.coin(input.txid, input.vout);
      if (coin) coins.push(coin);
      else if (this.#state.blockOfTx(chainTx.txid)) return invalid("txn-already-known");
      else return err({ kind: "missing_inputs", reason: "bad-txns-inputs-missingorspent", detail: outPointKey(input) });
    }
    return ok(coins);
  }

  #checkCoins(chainTx: ChainTx, coins: readonly Coin[], options: AcceptOptions): Result<bigint, MempoolReject> {
    const { params, tip } = this.#state;
    const context = this.#state.contextAfter(tip);
    if (params.relativeLocks && !relativeLocksMet(chainTx.tx, coins, tip.height + 1, tip.medianTime, context.medianTimeAt)) {
      return invalid("non-BIP68-final");
    }
    const checked = checkTxInputs(chainTx.tx, coins, tip.height + 1);
    if ("reason" in checked) return invalid(checked.reason, checked.detail);
    const odd = inputsProblem(chainTx, coins);
    if (odd) return invalid(odd);
    if (sigOpsCost(chainTx, coins, params.policyFlags) > MAX_STANDARD_SIGOPS_COST) return invalid("bad-txns-too-many-sigops");
    if (options.returning) return ok(checked.fee);
    const needed = (rate: bigint): bigint => (BigInt(chainTx.vsize) * rate) / 1_000n;
    const tooLow = (rate: bigint): string | null =>
      checked.fee < needed(rate) ? `${formatCoins(checked.fee)} < ${formatCoins(needed(rate))}` : null;
    const belowFloor = tooLow(this.#entryFeePerKb);
    if (belowFloor) return invalid("mempool min fee not met", belowFloor);
    const belowRelay = tooLow(params.minRelayFeePerKb);
    return belowRelay ? invalid("min relay fee not met", belowRelay) : ok(checked.fee);
  }

  /** Limits on chains of unconfirmed transactions, and replacement. @returns what would be replaced */
  #checkPlace(
    chainTx: ChainTx,
    fee: bigint,
    parents: ReadonlySet<string>,
    conflicts: readonly string[],
    options: AcceptOptions,
  ): Result<readonly string[], MempoolReject> {
    const ancestors = this.graph.ancestors(parents);
    if (conflicts.some((id) => ancestors.includes(id))) return invalid("bad-txns-spends-conflicting-tx");
    if (!options.returning) {
      const tooLong = this.#chainTooLong(chainTx, ancestors);
      if (tooLong) return invalid("too-long-mempool-chain", tooLong);
    }
    if (conflicts.length === 0) return ok([]);
    const outcome = checkReplacement(chainTx, fee, conflicts, this.graph, this.#state.params.minRelayFeePerKb);
    return "reason" in outcome ? invalid(outcome.reason, outcome.detail) : ok(outcome.replaced);
  }

  #chainTooLong(chainTx: ChainTx, ancestors: readonly string[]): string | null {
    if (ancestors.length + 1 > MAX_CHAIN) return `too many unconfirmed ancestors [limit: ${MAX_CHAIN}]`;
    if (this.graph.vsizeOf(ancestors) + chainTx.vsize > MAX_CHAIN_VBYTES) return `exceeds ancestor size limit [limit: ${MAX_CHAIN_VBYTES}]`;
    for (const id of ancestors) {
      const descendants = this.graph.descendants(id);
      if (descendants.length + 1 > MAX_CHAIN) return `too many descendants for tx ${id} [limit: ${MAX_CHAIN}]`;
      if (this.graph.vsizeOf(descendants) + chainTx.vsize > MAX_CHAIN_VBYTES) {
        return `exceeds descendant size limit for tx ${id} [limit: ${MAX_CHAIN_VBYTES}]`;
      }
    }
    return null;
  }

  #checkScripts(chainTx: ChainTx, coins: readonly Coin[]): MempoolReject | null {
    const { policyFlags, consensusFlags } = this.#state.params;
    const failed = this.#scripts.run(chainTx, coins, policyFlags);
    if (failed === null) {
      // Relay rules only add to those of blocks, so a block need not run the scripts again.
      this.#scripts.remember(chainTx, consensusFlags);
      return null;
    }
    const mandatory = this.#scripts.run(chainTx, coins, consensusFlags);
    if (mandatory) return { kind: "invalid", reason: `mandatory-script-verify-flag-failed (${SCRIPT_ERROR_TEXT[mandatory]})` };
    return { kind: "invalid", reason: `non-mandatory-script-verify-flag (${SCRIPT_ERROR_TEXT[failed]})` };
  }

  /** Pushes out the packages that pay least until the rest fits. */
  #trim(): void {
    while (this.graph.vbytes > this.#maxVbytes) {
      let worst: { id: string; fee: bigint; vsize: bigint } | null = null;
      for (const { chainTx } of this.graph.entries()) {
        const all = this.graph.descendants(chainTx.txid);
        const fee = this.graph.feesOf(all);
        const vsize = BigInt(this.graph.vsizeOf(all));
        if (!worst || fee * worst.vsize < worst.fee * vsize) worst = { id: chainTx.txid, fee, vsize };
      }
      if (!worst) return;
      this.graph.removeWithDescendants(worst.id);
      this.#floorFeePerKb = (worst.fee * 1_000n) / worst.vsize + this.#state.params.minRelayFeePerKb;
    }
  }

  /** After a block joined the chain's end: its transactions leave, and so do those that conflict with it. */
  blockConnected({ block, height, medianTime }: BlockEntry): void {
    for (const { txid, tx } of block.txs) {
      this.graph.remove(txid);
      for (const input of tx.inputs) {
        const rival = this.graph.spender(outPointKey(input));
        if (rival !== undefined) this.graph.removeWithDescendants(rival);
      }
    }
    for (const { chainTx } of this.graph.entries()) {
      const isGone = isExpired(chainTx.tx, height + 1) || hasAgedForMempool(chainTx.tx, this.#state.params, medianTime);
      if (isGone) this.graph.removeWithDescendants(chainTx.txid);
    }
    // Core lets this floor decay with time; here it goes when there is room again.
    if (this.graph.vbytes < this.#maxVbytes / 2) this.#floorFeePerKb = 0n;
  }

  /**
   * After a reorganisation: every transaction is judged again on the new chain, first those of the disconnected
   * blocks in chain order, then those that were waiting.
   */
  rebuild(disconnected: readonly ChainTx[]): void {
    const waiting = this.graph.entries().map((e) => e.chainTx);
    this.graph.clear();
    for (const chainTx of [...disconnected, ...waiting]) {
      if (!isCoinbase(chainTx.tx) && !this.#state.blockOfTx(chainTx.txid)) this.accept(chainTx, { returning: true });
    }
  }
}
