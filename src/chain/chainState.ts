import { err, ok, type Result } from "../core/util/result.ts";
import { type Block, workOf } from "./block.ts";
import type { ChainParams } from "./chainParams.ts";
import { outPointKey } from "./chainTx.ts";
import { CoinSet, spendableCoins } from "./coinSet.ts";
import { checkBlock } from "./consensus/blockRules.ts";
import { type BlockUndo, type ConnectContext, checkBlockCoins } from "./consensus/connectBlock.ts";
import type { Reject } from "./consensus/reject.ts";
import { genesisBlock } from "./genesis.ts";
import type { ScriptChecks } from "./scriptChecks.ts";

/** A block in the tree of all blocks seen. */
export type BlockEntry = {
  readonly block: Block;
  readonly height: number;
  readonly previous: BlockEntry | null;
  /** Sum of the work up to and with this block. */
  readonly work: bigint;
  /** Median of the last 11 header times, this block's included (BIP-113). */
  readonly medianTime: number;
  /** First-seen order: breaks ties of work. */
  readonly order: number;
  /** Found invalid, or told to be by `invalidate`. */
  invalid: Reject | null;
  /** Set while the block is in the active chain, genesis excepted. */
  undo: BlockUndo | null;
};

export type ChainListener = { readonly connected: (entry: BlockEntry) => void; readonly disconnected: (entry: BlockEntry) => void };

const MEDIAN_SPAN = 11;

function medianTimeWith(previous: BlockEntry | null, time: number): number {
  const times = [time];
  for (let e = previous; e && times.length < MEDIAN_SPAN; e = e.previous) times.push(e.block.header.time);
  times.sort((a, b) => a - b);
  return times[Math.floor(times.length / 2)] ?? time;
}

export type SubmitOutcome = Result<BlockEntry, Reject & { readonly kind: "duplicate" | "orphan" | "invalid" | "full" }>;

/**
 * The tree of blocks, the active chain (most work, first seen) and its coins. Every block is checked in full when it
 * is connected; a reorganisation disconnects and connects one block after the other and tells the listener.
 */
export class ChainState {
  readonly params: ChainParams;
  readonly coins = new CoinSet();
  readonly #scripts: ScriptChecks;
  readonly #nowSec: () => number;
  readonly #maxBlocks: number;
  readonly #entries = new Map<string, BlockEntry>();
  readonly #active: BlockEntry[] = [];
  /** Block of every transaction in the active chain. */
  readonly #txBlocks = new Map<string, BlockEntry>();
  /** Branches that leave the active chain below this height are refused (a notarized block is final). */
  finalHeight = 0;
  #listener: ChainListener = { connected: () => {}, disconnected: () => {} };

  /** @param maxBlocks blocks kept at most, side branches included; further ones are refused */
  constructor(params: ChainParams, scripts: ScriptChecks, nowSec: () => number, maxBlocks: number) {
    this.params = params;
    this.#scripts = scripts;
    this.#nowSec = nowSec;
    this.#maxBlocks = maxBlocks;
    const block = genesisBlock(params);
    const time = block.header.time;
    const entry = {
      block,
      height: 0,
      previous: null,
      work: workOf(block.header.bits),
      medianTime: time,
      order: 0,
      invalid: null,
      undo: null,
    };
    this.#entries.set(block.hash, entry);
    this.#active.push(entry);
  }

  setListener(listener: ChainListener): void {
    this.#listener = listener;
  }

  get tip(): BlockEntry {
    const tip = this.#active.at(-1);
    if (!tip) throw new Error("a chain without genesis");
    return tip;
  }

  get nowSec(): number {
    return this.#nowSec();
  }

  entry(hash: string): BlockEntry | undefined {
    return this.#entries.get(hash);
  }

  entries(): readonly BlockEntry[] {
    return [...this.#entries.values()];
  }

  /** Block of the active chain. */
  at(height: number): BlockEntry | undefined {
    return this.#active[height];
  }

  isActive(entry: BlockEntry): boolean {
    return this.#active[entry.height] === entry;
  }

  /** The block or one before it is invalid. */
  isInvalid(entry: BlockEntry): boolean {
    return this.#invalidIn(entry) !== null;
  }

  #invalidIn(entry: BlockEntry): Reject | null {
    for (let e: BlockEntry | null = entry; e && !this.isActive(e); e = e.previous) if (e.invalid) return e.invalid;
    return null;
  }

  blockOfTx(txid: string): BlockEntry | undefined {
    return this.#txBlocks.get(txid);
  }

  contextAfter(previous: BlockEntry): ConnectContext {
    return {
      height: previous.height + 1,
      medianTime: previous.medianTime,
      nowSec: this.#nowSec(),
      medianTimeAt: (height) => ancestorAt(previous, height).medianTime,
    };
  }

  /** Whether `block` could follow the tip; changes nothing. Null: yes. */
  test(block: Block): Reject | null {
    const context = this.contextAfter(this.tip);
    const problem = checkBlock(block, this.params, context);
    if (problem) return { reason: problem };
    const checked = checkBlockCoins(block, this.params, this.coins, context, this.#scripts);
    return "reason" in checked ? checked : null;
  }

  /** Takes a block in, and makes its branch the active one when that has more work. */
  submit(block: Block): SubmitOutcome {
    const known = this.#entries.get(block.hash);
    if (known?.invalid) return err({ kind: "invalid", reason: "duplicate-invalid", detail: known.invalid.reason });
    if (known) return err({ kind: "duplicate", reason: "duplicate" });
    const previous = this.#entries.get(block.header.previous);
    if (!previous) return err({ kind: "orphan", reason: "prev-blk-not-found" });
    if (this.isInvalid(previous)) return err({ kind: "invalid", reason: "bad-prevblk" });
    if (this.#forkHeight(previous) < this.finalHeight) return err({ kind: "invalid", reason: "bad-fork-prior-to-notarization" });
    const problem = checkBlock(block, this.params, this.contextAfter(previous));
    if (problem) return err({ kind: "invalid", reason: problem });
    if (this.#entries.size >= this.#maxBlocks) return err({ kind: "full", reason: `the chain keeps at most ${this.#maxBlocks} blocks` });
    const entry: BlockEntry = {
      block,
      height: previous.height + 1,
      previous,
      work: previous.work + workOf(block.header.bits),
      medianTime: medianTimeWith(previous, block.header.time),
      order: this.#entries.size,
      invalid: null,
      undo: null,
    };
    this.#entries.set(block.hash, entry);
    if (entry.work > this.tip.work) this.#activate(entry);
    const failed = this.#invalidIn(entry);
    return failed ? err({ kind: "invalid", ...failed }) : ok(entry);
  }

  /** Marks a block and all that follow it as invalid; the best other branch becomes active. Genesis stays. */
  invalidate(entry: BlockEntry): void {
    if (entry.height === 0) return;
    entry.invalid = { reason: "invalidated" };
    if (this.isActive(entry)) while (this.tip.height >= entry.height) this.#disconnectTip();
    this.#activateBest();
  }

  /** Takes the mark away from a block, its ancestors and all that follow it. */
  reconsider(entry: BlockEntry): void {
    for (let e: BlockEntry | null = entry; e; e = e.previous) e.invalid = null;
    for (const other of this.#entries.values()) {
      if (other.height > entry.height && ancestorAt(other, entry.height) === entry) other.invalid = null;
    }
    this.#activateBest();
  }

  /** Height of the last block of the active chain that `entry` builds on. */
  #forkHeight(entry: BlockEntry): number {
    let e: BlockEntry = entry;
    while (!this.isActive(e) && e.previous) e = e.previous;
    return e.height;
  }

  #activateBest(): void {
    let best = this.tip;
    for (const e of this.#entries.values()) {
      const better = e.work > best.work || (e.work === best.work && e.order < best.order);
      if (better && !this.isInvalid(e)) best = e;
    }
    if (best !== this.tip) this.#activate(best);
  }

  #activate(target: BlockEntry): void {
    const path: BlockEntry[] = [];
    let fork: BlockEntry = target;
    while (!this.isActive(fork)) {
      path.unshift(fork);
      if (!fork.previous) throw new Error("a branch without a root");
      fork = fork.previous;
    }
    while (this.tip !== fork) this.#disconnectTip();
    for (const entry of path) {
      if (this.#connect(entry)) continue;
      this.#activateBest();
      return;
    }
  }

  #connect(entry: BlockEntry): boolean {
    const checked = checkBlockCoins(entry.block, this.params, this.coins, this.contextAfter(this.tip), this.#scripts);
    if ("reason" in checked) {
      entry.invalid = checked;
      return false;
    }
    entry.undo = checked.undo;
    for (const [i, chainTx] of entry.block.txs.entries()) {
      if (i > 0) for (const input of chainTx.tx.inputs) this.coins.remove(outPointKey(input));
      for (const coin of spendableCoins(chainTx, entry.height)) this.coins.add(coin);
      this.#txBlocks.set(chainTx.txid, entry);
    }
    this.#active.push(entry);
    this.#listener.connected(entry);
    return true;
  }

  #disconnectTip(): void {
    const entry = this.tip;
    const { undo } = entry;
    if (!undo) throw new Error("genesis cannot be disconnected");
    for (let i = entry.block.txs.length - 1; i >= 0; i--) {
      const chainTx = entry.block.txs[i];
      if (!chainTx) continue;
      for (const coin of spendableCoins(chainTx, entry.height)) this.coins.remove(outPointKey(coin));
      for (const coin of undo[i] ?? []) this.coins.add(coin);
      this.#txBlocks.delete(chainTx.txid);
    }
    entry.undo = null;
    this.#active.pop();
    this.#listener.disconnected(entry);
  }
}

function ancestorAt(entry: BlockEntry, height: number): BlockEntry {
  let e = entry;
  while (e.height > height && e.previous) e = e.previous;
  return e;
}
