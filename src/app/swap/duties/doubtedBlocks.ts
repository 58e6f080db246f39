import type { Slot } from "../../../core/swap/events.ts";
import type { BlockRef } from "../../../ports/chain.ts";
import { chainOf } from "../contracts.ts";
import type { SwapTask } from "../swapTask.ts";

/**
 * Others are asked this long after a transaction of the slot was first seen in a block, seconds: honest servers may be a block behind, and
 * most swaps have gone on by then.
 */
const ASK_AFTER_SEC = 120;

/** `clearHash`: of a block that nothing spoke against. */
type Asked = { readonly sinceSec: number; isAsking: boolean; isDoubted: boolean; clearHash: string | null };

/**
 * Whether own transactions are in blocks that others deny, where strangers could have made them up: what is in one goes on being sent and
 * raised, for a miner may never have had it. Nobody waits for the answer.
 */
export class DoubtedBlocks {
  readonly #task: SwapTask;
  readonly #asked = new Map<Slot, Asked>();

  constructor(task: SwapTask) {
    this.#task = task;
  }

  /**
   * Whether others deny the block that a slot's transaction is in, or denied the one it was in before and have not answered yet; false until
   * they were asked. The swap is woken when it changes.
   */
  has(slot: Slot, block: BlockRef): boolean {
    const task = this.#task;
    const { chain } = task.coin(chainOf(task.state.terms.role, slot));
    if (!chain.doubt) return false;
    const asked = this.#asked.get(slot) ?? { sinceSec: task.nowSec(), isAsking: false, isDoubted: false, clearHash: null };
    this.#asked.set(slot, asked);
    if (asked.clearHash === block.hash) return false;
    if (!asked.isAsking && task.nowSec() >= asked.sinceSec + ASK_AFTER_SEC) {
      asked.isAsking = true;
      void this.#hear(slot, block, asked, chain.doubt(block, 1, task.stopped));
    }
    return asked.isDoubted;
  }

  async #hear(slot: Slot, { hash }: BlockRef, asked: Asked, answer: Promise<string | null>): Promise<void> {
    const wasDoubted = asked.isDoubted;
    try {
      const doubt = await answer;
      asked.isDoubted = doubt !== null;
      asked.clearHash = doubt === null ? hash : null;
      if (doubt !== null && `${slot}: ${doubt}` !== this.#task.lastTrouble) this.#task.trouble(`${slot}: ${doubt}`);
    } catch {
      // It took too long, or the chain closes: whoever looks next asks again.
    }
    asked.isAsking = false;
    if (asked.isDoubted !== wasDoubted) this.#task.wake("chain");
  }
}
