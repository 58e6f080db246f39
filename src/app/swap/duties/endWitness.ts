import type { Slot } from "../../../core/swap/events.ts";
import type { BlockRef } from "../../../ports/chain.ts";
import { chainOf, depthOf } from "../contracts.ts";
import type { SwapTask } from "../swapTask.ts";

type Asked = { readonly hash: string; state: "asking" | "clear" | "doubted" };

/**
 * Has blocks that would end a swap asked of others, where strangers could have made them up: beside the looks at the chains, which wait for
 * nobody.
 */
export class EndWitness {
  readonly #task: SwapTask;
  readonly #signal: AbortSignal;
  /** The last block asked about, by slot. */
  readonly #asked = new Map<Slot, Asked>();

  constructor(task: SwapTask, signal: AbortSignal) {
    this.#task = task;
    this.#signal = signal;
  }

  /** The block a slot's transaction is in now: what was said of another one is forgotten, for that may come back made up. */
  seen(slot: Slot, block: BlockRef | null): void {
    if (this.#asked.get(slot)?.hash !== block?.hash) this.#asked.delete(slot);
  }

  /** Whether nothing speaks against a block; false also until that is known: the swap is woken then. A doubt is asked about at each look. */
  isClear(slot: Slot, block: BlockRef): boolean {
    const { state } = this.#task;
    const { chain } = this.#task.coin(chainOf(state.terms.role, slot));
    if (!chain.doubt) return true;
    const known = this.#asked.get(slot);
    if (known?.hash === block.hash && known.state !== "doubted") return known.state === "clear";
    const asked: Asked = { hash: block.hash, state: "asking" };
    this.#asked.set(slot, asked);
    void this.#hear(slot, asked, chain.doubt(block, depthOf(state, slot).confs, this.#signal));
    return false;
  }

  async #hear(slot: Slot, asked: Asked, answer: Promise<string | null>): Promise<void> {
    try {
      const doubt = await answer;
      asked.state = doubt === null ? "clear" : "doubted";
      if (doubt === null) this.#task.wake("chain");
      else if (`${slot}: ${doubt}` !== this.#task.lastTrouble) this.#task.trouble(`${slot}: ${doubt}`);
    } catch {
      // The duty or its chain ends, or it took too long: whoever looks next asks again.
      asked.state = "doubted";
    }
  }
}
