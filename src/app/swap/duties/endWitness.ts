import type { Slot } from "../../../core/swap/events.ts";
import type { BlockRef } from "../../../ports/chain.ts";
import { chainOf, depthOf } from "../contracts.ts";
import type { SwapTask } from "../swapTask.ts";

/**
 * A doubt that holds up no step is asked about again after so long, seconds, then after twice as long each time, up to the last value: a swap whose payment was
 * cancelled waits for it with its end. So is a block of which somebody said nothing, until then.
 */
const FIRST_REST_SEC = 300;
const LAST_REST_SEC = 3_600;

/** `unsure`: nobody denied it, and somebody who may was silent. */
type State = "asking" | "clear" | "unsure" | "denied" | "unheard";

type Asked = {
  readonly hash: string;
  state: State;
  readonly restSec: number;
  readonly againSec: number;
};

/**
 * Has blocks that would end a swap asked of others, where strangers could have made them up: beside the looks at the chains, which wait for
 * nobody.
 */
export class EndWitness {
  readonly #task: SwapTask;
  readonly #signal: AbortSignal;
  readonly #isOneEnough: boolean;
  /** The last block asked about, by slot. */
  readonly #asked = new Map<Slot, Asked>();

  /** @param isOneEnough whether one server that denies a block speaks against it: no step waits for that */
  constructor(task: SwapTask, signal: AbortSignal, isOneEnough = false) {
    this.#task = task;
    this.#signal = signal;
    this.#isOneEnough = isOneEnough;
  }

  /** The block a slot's transaction is in now: what was said of another one is forgotten, for that may come back made up. */
  seen(slot: Slot, block: BlockRef | null): void {
    if (this.#asked.get(slot)?.hash !== block?.hash) this.#asked.delete(slot);
  }

  /**
   * Whether nothing speaks against a block; false also until that is known: the swap is woken then. A doubt that holds up the swap is asked about at
   * each look.
   */
  isClear(slot: Slot, block: BlockRef): boolean {
    const state = this.#stateOf(slot, block);
    return state === "clear" || state === "unsure";
  }

  /**
   * Whether nothing will: a block of which somebody said nothing, and for which nobody vouches, is asked about again for an hour or so, for whoever made
   * it up may have kept the only honest server from answering at first.
   */
  isSure(slot: Slot, block: BlockRef): boolean {
    return this.#stateOf(slot, block) === "clear";
  }

  #stateOf(slot: Slot, block: BlockRef): State {
    const { state } = this.#task;
    const { chain } = this.#task.coin(chainOf(state.terms.role, slot));
    if (!chain.doubt) return "clear";
    const last = this.#asked.get(slot);
    const known = last?.hash === block.hash ? last : undefined;
    if (known?.state === "asking" || known?.state === "clear") return known.state;
    const nowSec = this.#isOneEnough ? this.#task.nowSec() : 0;
    if (known && nowSec < known.againSec) return known.state;
    const restSec = known ? Math.min(2 * known.restSec, LAST_REST_SEC) : FIRST_REST_SEC;
    const asked: Asked = { hash: block.hash, state: "asking", restSec, againSec: this.#isOneEnough ? nowSec + restSec : 0 };
    this.#asked.set(slot, asked);
    void this.#hear(slot, block, asked);
    return asked.state;
  }

  /** Whether a block that was asked about is denied, as far as is known by now. */
  isDenied(slot: Slot, block: BlockRef): boolean {
    const known = this.#asked.get(slot);
    return known?.hash === block.hash && known.state === "denied";
  }

  async #hear(slot: Slot, block: BlockRef, asked: Asked): Promise<void> {
    const { state } = this.#task;
    const { chain } = this.#task.coin(chainOf(state.terms.role, slot));
    const { confs } = depthOf(state, slot);
    try {
      const doubt = (await chain.doubt?.(block, confs, this.#signal, this.#isOneEnough)) ?? null;
      // Some servers never answer.
      const isUnsure = this.#isOneEnough && asked.restSec < LAST_REST_SEC && chain.mayBeDenied?.(block, confs) === true;
      asked.state = doubt !== null ? "denied" : isUnsure ? "unsure" : "clear";
      // One that is a block behind is no trouble.
      const isLasting = !this.#isOneEnough || asked.restSec > FIRST_REST_SEC;
      if (doubt === null) this.#task.wake("chain");
      else if (isLasting && `${slot}: ${doubt}` !== this.#task.lastTrouble) this.#task.trouble(`${slot}: ${doubt}`);
    } catch {
      // The duty or its chain ends, or it took too long: whoever looks next asks again.
      asked.state = "unheard";
    }
  }
}
