import type { StoredWatch } from "../../ports/chainStore.ts";
import type { SyncContext } from "./syncContext.ts";

/** Blocks read again at most: longer than swaps take on the quickest chains. */
const MAX_BACK = 2_000;
/** The same for a script without a birthday, which is an own address: what servers had not put into its history yet. */
const FEW_BACK = 100;

/**
 * Reads again what servers told of blocks before the coin went over to a daemon: they may have left out what a swap depends on, or not told of their last
 * block yet. Until that is done nothing counts as gone that a mempool does not hold: a block may.
 */
export class ToldBlocks {
  readonly #ctx: SyncContext;
  #isBegun = false;

  constructor(ctx: SyncContext) {
    this.#ctx = ctx;
  }

  /** Before blocks are followed: from the last one that was told on they are read for all that is watched. */
  async begin(): Promise<void> {
    const { index, commit } = this.#ctx;
    if (!index.isTold || this.#isBegun) return;
    const tip = index.tipHeader?.height ?? 0;
    const from = ({ fromHeight }: StoredWatch): number => Math.max(fromHeight, tip - (fromHeight === 0 ? FEW_BACK : MAX_BACK));
    const covered = index.watches().filter(({ nextHeight }) => nextHeight === null);
    await commit({ watches: covered.map((w) => ({ ...w, nextHeight: from(w) })) });
    this.#isBegun = true;
  }

  /** @param isOpen blocks are left that can be read */
  async end(isOpen: boolean): Promise<void> {
    const { index, commit } = this.#ctx;
    if (index.isTold && this.#isBegun && !isOpen) await commit({ isTold: false });
  }
}
