import type { ChainIndex } from "../../chainIndex/chainIndex.ts";
import { FactsBuilder } from "../../chainIndex/factsBuilder.ts";
import { longSpent } from "../../chainIndex/longSpent.ts";
import { outKey } from "../../chainIndex/outKey.ts";
import { dropOldest } from "../../core/util/dropOldest.ts";
import type { Crowded } from "../../ports/chain.ts";
import type { ChainDelta, ChainStore } from "../../ports/chainStore.ts";
import { Aborted, type Clock } from "../../ports/clock.ts";
import type { Log } from "../../ports/log.ts";
import { AskAgain } from "./askAgain.ts";
import { BlockTxs, type PlacedTx } from "./blockTxs.ts";
import type { Guards } from "./guards.ts";
import type { HeaderReader } from "./headerReader.ts";
import type { Omissions } from "./omissions.ts";
import { ReadPace } from "./readPace.ts";
import type { RemoteServer } from "./remoteServer.ts";
import type { TxProver } from "./txProver.ts";

/** Blocks a search may have to begin before the last one: longer than swaps take on the quickest chains. */
const MAX_BACK = 2_000;
/** What ElectrumX (1.15) counts for a position of a block with its branch, and for the bytes of a transaction. */
const PLACE_COST = 0.3;
const BYTES_COST = 1;
/** Blocks read again that were there when the history was told last: servers may put what a block holds into histories late. */
const LATE_BLOCKS = 3;
/** Blocks read in part that are kept: the last one, and an older one behind it. */
const MAX_BEGUN = 2;
/** Scripts searched for. */
const MAX_SEARCHES = 200;

export type SpendSearchDeps = {
  readonly index: ChainIndex;
  readonly store: Pick<ChainStore, "spentIn">;
  readonly reader: HeaderReader;
  readonly prover: TxProver;
  readonly guards: Guards;
  readonly omissions: Omissions;
  readonly clock: Clock;
  readonly log: Log;
  readonly closed: AbortSignal;
  /** Runs between two looks. */
  readonly enqueue: (work: () => Promise<void>) => Promise<void>;
  readonly commit: (delta: ChainDelta) => Promise<void>;
  /** Something may be covered now. */
  readonly onRead: () => void;
};

/** Whether most servers tell the history of a script, or so many refuse it that these cannot; null: neither. */
export type Telling = "told" | "crowded" | null;
/** A script that is followed. */
export type Followed = { readonly scriptHex: string; readonly fromHeight: number; readonly telling: Telling };

/**
 * Finds in blocks what pays or spends a script whose history servers refuse: by reading the blocks since it was told last, each transaction
 * proven in its place (`BlockTxs`). That is dear, so it is done for scripts that are refused alone, for all of them together, and no faster
 * than servers bear.
 */
export class SpendSearch {
  readonly #deps: SpendSearchDeps;
  /** Of the refused ones the lowest block that was not read. */
  readonly #next = new Map<string, number>();
  /** Of the others the last block when they were told. */
  readonly #told = new Map<string, number>();
  /** Of the refused ones those that are not searched for; each was said once. */
  readonly #unread = new Set<string>();
  /** Guarded ones whose history somebody refuses, whatever the others tell. */
  readonly #doubted = new Set<string>();
  readonly #again = new AskAgain();
  readonly #pace = new ReadPace();
  /** Those that are not read to the end yet, by height, the one used last behind: each new block interrupts an older one. */
  readonly #blocks = new Map<number, BlockTxs>();
  #isRunning = false;

  constructor(deps: SpendSearchDeps) {
    this.#deps = deps;
  }

  /** To be called after each look: what is refused now is searched for, and nothing else. Does not wait for it. */
  tend(followed: readonly Followed[], servers: readonly RemoteServer[]): void {
    const { index, guards } = this.#deps;
    const tip = index.tipHeader?.height;
    if (tip === undefined) return;
    const known = new Set(followed.map(({ scriptHex }) => scriptHex));
    for (const map of [this.#next, this.#told, this.#unread]) for (const hex of map.keys()) if (!known.has(hex)) map.delete(hex);
    for (const hex of this.#doubted) if (guards.roundOf(hex) === 0) this.#doubted.delete(hex);
    for (const { scriptHex, fromHeight, telling } of followed) {
      if (telling === "told" && this.#doubted.has(scriptHex)) continue;
      if (telling === "told") {
        this.#next.delete(scriptHex);
        this.#told.set(scriptHex, tip);
        this.#unread.delete(scriptHex);
      }
      if (telling === "crowded") this.#begin(scriptHex, Math.max(fromHeight, (this.#told.get(scriptHex) ?? 0) - LATE_BLOCKS, 1), tip);
    }
    void this.#run(servers, true);
  }

  #begin(scriptHex: string, from: number, tip: number): void {
    if (this.#next.has(scriptHex)) return;
    const isSearched = tip - from < MAX_BACK && this.#next.size < MAX_SEARCHES;
    if (isSearched) this.#next.set(scriptHex, from);
    if (isSearched || !this.#unread.has(scriptHex))
      this.#deps.log.warn("history_refused", { script: scriptHex, from: isSearched ? from : null });
    if (!isSearched) this.#unread.add(scriptHex);
  }

  /**
   * One server refuses the history of a guarded script as too long. Those who tell a short one may leave out what matters, so its blocks are
   * read whatever they say, from the first one on, until it is guarded no more.
   */
  doubt(scriptHex: string): void {
    const { index, guards } = this.#deps;
    const watch = index.watch({ kind: "script", key: scriptHex });
    const tip = index.tipHeader?.height;
    if (watch === undefined || tip === undefined || guards.roundOf(scriptHex) === 0) return;
    this.#doubted.add(scriptHex);
    this.#begin(scriptHex, Math.max(watch.fromHeight, 1), tip);
  }

  /** Reads blocks at one that is not asked otherwise: those that are may refuse to give what would show their lie. */
  readAt(server: RemoteServer): Promise<void> {
    return this.#run([server], false);
  }

  /** Whether all blocks were read for a script whose history is refused. */
  isThrough(scriptHex: string): boolean {
    const next = this.#next.get(scriptHex);
    return next !== undefined && next > (this.#deps.index.tipHeader?.height ?? 0);
  }

  /** Whether a script is searched for at all: not one whose past is too long. */
  has(scriptHex: string): boolean {
    return this.#next.has(scriptHex);
  }

  /** What has become of the search for a script whose history is refused. */
  crowded(scriptHex: string): Crowded {
    return this.isThrough(scriptHex) ? "read" : this.has(scriptHex) ? "reading" : "unread";
  }

  /** The blocks above this height are on the chain no more. Below 0: the chain begins anew, and so does every search, at its watch's height. */
  forgetAbove(height: number): void {
    if (height < 0) {
      for (const kept of [this.#next, this.#told, this.#doubted, this.#blocks]) kept.clear();
      return;
    }
    for (const [hex, next] of this.#next) this.#next.set(hex, Math.min(next, height + 1));
    for (const [hex, told] of this.#told) this.#told.set(hex, Math.min(told, height));
    for (const above of this.#blocks.keys()) if (above > height) this.#blocks.delete(above);
  }

  /** @param areMost what most of `servers` say of a block before all headers kept counts */
  async #run(servers: readonly RemoteServer[], areMost: boolean): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      while (!this.#deps.closed.aborted && (await this.#step(servers, areMost)));
    } catch (cause) {
      if (!(cause instanceof Aborted)) this.#deps.log.warn("blocks_not_read", { cause: String(cause) });
    } finally {
      this.#isRunning = false;
    }
  }

  /** @returns whether there may be more to do now */
  async #step(servers: readonly RemoteServer[], areMost: boolean): Promise<boolean> {
    const { clock, log } = this.#deps;
    const height = this.#nextHeight();
    const nowMs = clock.nowMs();
    const open = this.#pace.open(servers, nowMs);
    const who = open.map(({ name }) => name).join(" ");
    if (height === null || open.length === 0 || !this.#again.isDue(who, nowMs)) return false;
    const block = await this.#blockAt(height, servers, areMost);
    if (block === null || !(await this.#more(block, open))) {
      this.#again.refused(who, nowMs);
      log.warn("block_not_read", { height });
      return false;
    }
    this.#again.forget(who);
    if (block.isWhole) await this.#take(block);
    return true;
  }

  /**
   * One that answers each of these as late as may be would hold up the search for what others give at once: it is asked for what they do not
   * give. They alone could keep it from the rest.
   */
  async #more(block: BlockTxs, open: readonly RemoteServer[]): Promise<boolean> {
    const quick = open.filter(({ isSlow }) => !isSlow);
    const slow = open.filter(({ isSlow }) => isSlow);
    for (const servers of [quick, slow]) if (servers.length > 0 && (await block.more(servers, (placed) => this.#hear(placed)))) return true;
    return false;
  }

  /**
   * What is guarded comes first: others of the own scripts can be far behind. Of guarded ones the one with the least left: one server that
   * refuses an old history must not hold up what a new swap waits for.
   */
  #nextHeight(): number | null {
    const { index, guards } = this.#deps;
    const open = [...this.#next].filter(([, next]) => next <= (index.tipHeader?.height ?? 0));
    const guarded = open.filter(([hex]) => guards.roundOf(hex) > 0).map(([, next]) => next);
    if (guarded.length > 0) return Math.max(...guarded);
    return open.length === 0 ? null : Math.min(...open.map(([, next]) => next));
  }

  /** The one that is being read, unless another is on the chain in its place. */
  async #blockAt(height: number, servers: readonly RemoteServer[], areMost: boolean): Promise<BlockTxs | null> {
    const { index, reader, prover } = this.#deps;
    const own = index.headerAt(height);
    const begun = this.#blocks.get(height);
    this.#blocks.delete(height);
    if (begun !== undefined && (own === undefined || own.hash === begun.header.hash)) {
      this.#blocks.set(height, begun);
      return begun;
    }
    if (own === undefined && !areMost) return null;
    const header = own === undefined ? await reader.agreedAt(servers, height) : await reader.withHash(servers, height, own.hash);
    if (!header.ok) return null;
    const block = new BlockTxs(height, header.value, index, prover);
    this.#blocks.set(height, block);
    dropOldest(this.#blocks, MAX_BEGUN);
    return block;
  }

  /** The secret in a claim counts before its block is read to the end. */
  #hear({ tx, server, isNew }: PlacedTx): void {
    const { index, guards, clock } = this.#deps;
    this.#pace.spend(server, isNew ? PLACE_COST + BYTES_COST : PLACE_COST, clock.nowMs());
    for (const hex of new Set(tx.tx.inputs.flatMap((input) => index.scriptOf(outKey(input)) ?? []))) {
      if (this.#next.has(hex) && guards.roundOf(hex) > 0) guards.tell(hex, tx, server.voter);
    }
  }

  /** Writes what a block says of watched scripts, all of it at once: blocks need not list a parent before its child. */
  async #take(block: BlockTxs): Promise<void> {
    const { index, store, clock, omissions, enqueue, commit, onRead } = this.#deps;
    this.#blocks.delete(block.height);
    await enqueue(async () => {
      const own = index.headerAt(block.height);
      if (own === undefined ? block.height >= index.windowBottom : own.hash !== block.header.hash) return;
      const builder = new FactsBuilder(index, clock.nowMs(), await longSpent(index, store, block.txs));
      builder.add(block.txs, { height: block.height, hash: block.header.hash });
      if (builder.size > 0) await commit(builder.facts());
      if (builder.size > 0) for (const hex of this.#doubted) omissions.suspect(hex);
      for (const [hex, next] of this.#next) if (next === block.height) this.#next.set(hex, next + 1);
    });
    if (block.height === index.tipHeader?.height) onRead();
  }
}
