import { nobleVerify } from "../core/crypto/nobleVerifier.ts";
import { toHex } from "../core/util/bytes.ts";
import { err, ok, type Result } from "../core/util/result.ts";
import type { Clock } from "../ports/clock.ts";
import type { Rng } from "../ports/rng.ts";
import type { SignatureVerifier } from "../ports/signatures.ts";
import type { Block } from "./block.ts";
import { buildBlock } from "./buildBlock.ts";
import { type ChainParams, COINBASE_MATURITY } from "./chainParams.ts";
import { type ChainPolicy, defaultPolicy } from "./chainPolicy.ts";
import { type BlockEntry, ChainState, type SubmitOutcome } from "./chainState.ts";
import { ChainTime } from "./chainTime.ts";
import { type ChainTx, outPointKey } from "./chainTx.ts";
import type { Coin } from "./coinSet.ts";
import type { Reject } from "./consensus/reject.ts";
import { type FaucetError, faucetKey, faucetPayment, faucetScript } from "./faucet.ts";
import { type Accepted, type AcceptOptions, Mempool, type MempoolReject } from "./mempool.ts";
import { ScriptChecks } from "./scriptChecks.ts";
import { selectTxs } from "./selectTxs.ts";
import { WatchWallet } from "./watchWallet.ts";

export type EmbeddedChainDeps = {
  readonly params: ChainParams;
  readonly clock: Clock;
  readonly rng: Rng;
  /** Default: plain JavaScript. */
  readonly verifier?: SignatureVerifier;
};

export type EmbeddedChainOptions = {
  /** Blocks mined to the faucet at the start; at least 101 for the faucet to have a coin. Default 120. */
  readonly initialBlocks?: number;
  /** Seconds between their times, which end now. Default 1. */
  readonly initialSpacingSec?: number;
  /** Default 200,000, side branches included. */
  readonly maxBlocks?: number;
  /** Default 5,000,000 virtual bytes. */
  readonly maxMempoolVbytes?: number;
};

export type MineError = { readonly kind: "CannotMine" } & Reject;

export type ReorgPlan = {
  /** Blocks taken off the tip. */
  readonly depth: number;
  /** Blocks put there instead; one more than `depth` unless said. */
  readonly blocks?: number;
  /** Transactions of the first new block; they may conflict with those taken off. */
  readonly txs?: readonly ChainTx[];
  /** Ids that vanish instead of going back to the mempool. */
  readonly forget?: readonly string[];
};

const byValueDown = (a: Coin, b: Coin): number => (a.value < b.value ? 1 : a.value > b.value ? -1 : 0);

/** One chain in memory: blocks, coins, mempool, miner, faucet and watch-only wallet, on the given clock and randomness. */
export class EmbeddedChain {
  readonly params: ChainParams;
  /** Changed at will: see `chain_policy`. */
  readonly policy: ChainPolicy;
  readonly state: ChainState;
  readonly mempool: Mempool;
  readonly wallet: WatchWallet;
  readonly time: ChainTime;
  readonly startedSec: number;
  /** Transactions the miner leaves in the mempool. */
  readonly held = new Set<string>();
  /** Last notarized block, KMD family; null before the first one. */
  notarized: BlockEntry | null = null;
  readonly #clock: Clock;
  readonly #faucet = faucetKey();
  #extraNonce: number;
  #disconnected: BlockEntry[] = [];
  #stopAutoMine: (() => void) | null = null;
  readonly #listeners = new Set<() => void>();

  constructor(deps: EmbeddedChainDeps, options: EmbeddedChainOptions = {}) {
    const { params, clock, rng } = deps;
    this.params = params;
    this.policy = defaultPolicy(params);
    this.#clock = clock;
    this.time = new ChainTime(clock);
    this.startedSec = this.time.nowSec;
    const scripts = new ScriptChecks(params, deps.verifier ?? { verify: nobleVerify });
    this.state = new ChainState(params, scripts, () => this.time.nowSec, options.maxBlocks ?? 200_000);
    this.mempool = new Mempool(this.state, scripts, options.maxMempoolVbytes ?? 5_000_000, this.policy, () => this.#changed());
    this.wallet = new WatchWallet(this.state, this.mempool);
    this.#extraNonce = new DataView(rng.bytes(4).slice().buffer).getUint32(0) * 2 ** 20;
    this.state.setListener({
      connected: (entry) => {
        if (this.#disconnected.length === 0) this.mempool.blockConnected(entry);
        this.#changed();
      },
      disconnected: (entry) => {
        this.#disconnected.push(entry);
        this.#changed();
      },
    });
    const spacing = options.initialSpacingSec ?? 1;
    const count = options.initialBlocks ?? 120;
    for (let i = 1; i <= count; i++) {
      const made = this.#mineOne(this.faucetScript, [], 0n, this.startedSec - (count - i) * spacing);
      if (!made.ok) throw new Error(`cannot mine the first blocks: ${made.error.reason}`);
    }
  }

  /**
   * Tells of every change of blocks and mempool, in the middle of what changes it: a listener notes it and looks later.
   * @returns the unsubscriber
   */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }

  get faucetScript(): Uint8Array {
    return faucetScript(this.#faucet);
  }

  /** Runs a change of the chain and then, if blocks were taken off, judges the mempool again. */
  #settle<T>(change: () => T): T {
    const result = change();
    const off = this.#disconnected;
    this.#disconnected = [];
    if (off.length > 0) this.mempool.rebuild(off.reverse().flatMap((e) => e.block.txs));
    return result;
  }

  #mineOne(payTo: Uint8Array, txs: readonly ChainTx[], fees: bigint, atSec = this.time.nowSec): Result<BlockEntry, MineError> {
    const mined = this.submit(this.draft(this.state.tip, payTo, txs, fees, atSec));
    return mined.ok ? mined : err({ ...mined.error, kind: "CannotMine" });
  }

  /** A mined block on `previous` with these transactions, not yet submitted and not validated. */
  draft(previous: BlockEntry, payTo: Uint8Array, txs: readonly ChainTx[], fees: bigint, atSec = this.time.nowSec): Block {
    // Never before the block below, and above its median as consensus asks.
    const time = Math.max(atSec, previous.block.header.time, previous.medianTime + 1);
    return buildBlock(this.params, { previous, txs, fees, payTo, time, extraNonce: this.#extraNonce++ });
  }

  submit(block: Block): SubmitOutcome {
    return this.#settle(() => this.state.submit(block));
  }

  /** Mines `count` blocks from the mempool; stops at the first that fails. */
  mine(count: number, payTo: Uint8Array = this.faucetScript): Result<readonly BlockEntry[], MineError> {
    const made: BlockEntry[] = [];
    for (let i = 0; i < count; i++) {
      const { txs, fees } = selectTxs(this.mempool.graph, this.state.tip, this.held, this.policy, this.params, this.time.nowSec);
      const mined = this.#mineOne(payTo, txs, fees);
      if (!mined.ok) return mined;
      made.push(mined.value);
    }
    return ok(made);
  }

  /** Mines one block of exactly these transactions. The coinbase takes no fees. */
  mineExactly(payTo: Uint8Array, txs: readonly ChainTx[]): Result<BlockEntry, MineError> {
    return this.#mineOne(payTo, txs, 0n);
  }

  send(chainTx: ChainTx, options?: AcceptOptions): Result<Accepted, MempoolReject> {
    return this.mempool.accept(chainTx, options);
  }

  /** A signed payment from the faucet, not sent: for scripts that are not relayed. `amount` in base units. */
  faucetTx(script: Uint8Array, amount: bigint): Result<ChainTx, FaucetError> {
    const height = this.state.tip.height + 1;
    const unspent = this.#faucetCoins().filter((c) => !c.coinbase || height - c.height >= COINBASE_MATURITY);
    return faucetPayment(this.params, this.#faucet, unspent, { value: amount, script });
  }

  /** Pays from the faucet into the mempool. `amount` in base units. */
  payFromFaucet(script: Uint8Array, amount: bigint): Result<ChainTx, FaucetError | MempoolReject> {
    const payment = this.faucetTx(script, amount);
    if (!payment.ok) return payment;
    const sent = this.send(payment.value);
    return sent.ok ? payment : sent;
  }

  /** What the faucet may spend: confirmed coins, largest first, then its unconfirmed change, whose chains end at 25. */
  #faucetCoins(): readonly Coin[] {
    const scriptHex = toHex(this.faucetScript);
    const { graph } = this.mempool;
    const change = graph.entries().flatMap(({ chainTx }) =>
      [...chainTx.tx.outputs.keys()].flatMap((vout) => {
        const coin = this.mempool.coin(chainTx.txid, vout);
        return coin?.scriptHex === scriptHex ? [coin] : [];
      }),
    );
    const free = (coins: readonly Coin[]): Coin[] => coins.filter((c) => graph.spender(outPointKey(c)) === undefined).sort(byValueDown);
    return [...free(this.state.coins.ofScript(scriptHex)), ...free(change)];
  }

  /** Replaces the last blocks by others. Nothing changes when a new block is invalid. */
  reorg(plan: ReorgPlan): Result<BlockEntry, MineError> {
    const fork = this.state.at(this.state.tip.height - plan.depth);
    const count = plan.blocks ?? plan.depth + 1;
    if (!fork || plan.depth < 1 || count <= plan.depth) {
      return err({
        kind: "CannotMine",
        reason: `a reorg of depth ${plan.depth} with ${count} blocks on height ${this.state.tip.height} is not possible`,
      });
    }
    const outcome = this.#settle((): Result<BlockEntry, MineError> => {
      let previous = fork;
      for (let i = 0; i < count; i++) {
        const made = this.state.submit(this.draft(previous, this.faucetScript, i === 0 ? (plan.txs ?? []) : [], 0n));
        if (!made.ok) return err({ ...made.error, kind: "CannotMine" });
        previous = made.value;
      }
      return ok(previous);
    });
    for (const id of plan.forget ?? []) this.mempool.graph.removeWithDescendants(id);
    return outcome;
  }

  invalidate(entry: BlockEntry): void {
    if (this.notarized && this.state.isActive(entry) && entry.height <= this.notarized.height) this.#setNotarized(null);
    this.#settle(() => this.state.invalidate(entry));
  }

  reconsider(entry: BlockEntry): void {
    this.#settle(() => this.state.reconsider(entry));
  }

  /** Marks a block of the active chain, and all before it, as notarized: no reorganisation undoes it. Never goes back. */
  notarize(entry: BlockEntry): void {
    if (!this.notarized || entry.height > this.notarized.height) this.#setNotarized(entry);
  }

  #setNotarized(entry: BlockEntry | null): void {
    this.notarized = entry;
    this.state.finalHeight = entry?.height ?? 0;
  }

  /** Mines one block every `intervalMs` of the clock from now on; null stops it. */
  autoMine(intervalMs: number | null): void {
    this.#stopAutoMine?.();
    this.#stopAutoMine = null;
    if (intervalMs === null) return;
    const next = (): void => {
      this.#stopAutoMine = this.#clock.after(intervalMs, () => {
        const mined = this.mine(1);
        if (mined.ok) next();
        else this.#stopAutoMine = null;
      });
    };
    next();
  }

  /** Why no block was added by the timer is seen from the outside as this being false. */
  get isAutoMining(): boolean {
    return this.#stopAutoMine !== null;
  }

  stop(): void {
    this.autoMine(null);
  }
}
