import { err, ok } from "../../core/util/result.ts";
import type { StoredWatch, WatchKey } from "../../ports/chainStore.ts";
import type { Answer } from "./daemonCalls.ts";
import type { SyncContext } from "./syncContext.ts";

/**
 * A swap may hang on a block for so long, seconds: the maker's lock where a coin has slow blocks or a notarization is required (62,400 s), and the day
 * for which what has ended is watched; twice that, for blocks may come quicker than the last ones did.
 */
const SWAP_SEC = 2 * (62_400 + 86_400);
/** Blocks read again: so many where a swap may go back as far, more on quick chains, and never more than on those with a block each 15 s. */
const USUAL_BACK = 2_000;
const MAX_BACK = 20_000;
/** The same for a script without a birthday, which is an own address: what servers had not put into its history yet. */
const FEW_BACK = 100;

/**
 * Reads again what servers told of blocks before the coin went over to a daemon: they may have left out what a swap depends on, or not told of their last
 * block yet. Until that is done nothing counts as gone that a mempool does not hold: a block may.
 */
export class ToldBlocks {
  readonly #ctx: SyncContext;
  /** What was watched when the daemon took over. Null until then. */
  #watched: ReadonlySet<string> | null = null;

  constructor(ctx: SyncContext) {
    this.#ctx = ctx;
  }

  /** Before blocks are followed: from the last one that was told on they are read for all that is watched. */
  async begin(): Promise<void> {
    const { index, commit } = this.#ctx;
    if (!index.isTold || this.#watched !== null) return;
    const tip = index.tipHeader?.height ?? 0;
    const back = this.#blocksOfSwaps();
    const from = ({ fromHeight }: StoredWatch): number => Math.max(fromHeight, tip - (fromHeight === 0 ? FEW_BACK : back));
    const watches = index.watches();
    const covered = watches.filter(({ nextHeight }) => nextHeight === null);
    await commit({ watches: covered.map((w) => ({ ...w, nextHeight: from(w), wasTold: true })) });
    this.#watched = new Set(watches.map(idOf));
  }

  /** Blocks that come while a swap may hang on one, as quickly as the last ones did. */
  #blocksOfSwaps(): number {
    const { tipHeader: last, windowBottom } = this.#ctx.index;
    const first = this.#ctx.index.headerAt(windowBottom);
    if (last === undefined || first === undefined || last.height === first.height) return USUAL_BACK;
    const blockSec = (last.timeSec - first.timeSec) / (last.height - first.height);
    return Math.round(Math.min(MAX_BACK, Math.max(USUAL_BACK, SWAP_SEC / Math.max(blockSec, 1))));
  }

  /**
   * A block to be read again is pruned away. What servers told of it, and of others that are, counts on: without its watch a swap would stand still.
   * @returns those of the watches that were never covered, and cannot be without it
   */
  async withoutBlock(height: number, watches: readonly StoredWatch[]): Promise<Answer<readonly StoredWatch[]>> {
    const again = watches.filter((w) => w.wasTold === true);
    if (again.length > 0) {
      const next = await this.#firstAbove(height);
      if (!next.ok) return next;
      await this.#ctx.commit({ watches: again.map((w) => ({ ...w, nextHeight: next.value })) });
    }
    return ok(watches.filter((w) => !again.includes(w)));
  }

  /** Height of the first block above a pruned one that the daemon has: it prunes from the first on. */
  async #firstAbove(height: number): Promise<Answer<number>> {
    const { index, calls } = this.#ctx;
    // What comes after the tip is read as it comes.
    let [gone, there] = [height, (index.tipHeader?.height ?? height) + 1];
    while (there - gone > 1) {
      const middle = Math.floor((gone + there) / 2);
      const hash = await calls.hashAt(middle);
      if (!hash.ok) return hash;
      if (hash.value === null) return err({ kind: "moved" });
      const block = await calls.block(hash.value, middle);
      if (block.ok) there = middle;
      else if (block.error.kind === "block_gone") gone = middle;
      else return block;
    }
    return ok(there);
  }

  /** @param pending watches for which blocks are left that can be read; those that came since hold up nothing, of which there may always be some */
  async end(pending: readonly StoredWatch[]): Promise<void> {
    const { index, commit } = this.#ctx;
    const watched = this.#watched;
    if (index.isTold && watched !== null && !pending.some((w) => watched.has(idOf(w)))) await commit({ isTold: false });
  }
}

const idOf = ({ kind, key }: WatchKey): string => `${kind}:${key}`;
