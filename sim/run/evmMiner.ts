import type { Clock } from "../../src/ports/clock.ts";
import type { Rng } from "../../src/ports/rng.ts";
import type { SimEvmChain } from "../world/evm/simEvmChain.ts";
import { waitFor } from "./dice.ts";
import { ENVELOPE } from "./envelope.ts";

/** Blocks come at random, but never further apart than this many times the mean. */
const LONGEST_FACTOR = 6;

export type EvmMinerDeps = {
  readonly chain: SimEvmChain;
  readonly clock: Clock;
  readonly rng: Rng;
  readonly blockSec: number;
};

/** Makes the blocks of one account chain: at random times, none in a drought, many in a burst. `SimEvmChain.spike` makes gas dear. */
export class EvmMiner {
  readonly #deps: EvmMinerDeps;
  #lastBlockMs: number;
  #noneUntilMs = 0;
  #stop: () => void = () => undefined;

  constructor(deps: EvmMinerDeps) {
    this.#deps = deps;
    this.#lastBlockMs = deps.clock.nowMs();
  }

  start(): void {
    const { rng, clock, blockSec } = this.#deps;
    const most = Math.min(blockSec * 1_000 * LONGEST_FACTOR, ENVELOPE.blockGapMs);
    this.#stop = clock.after(waitFor(rng, blockSec * 1_000, most), () => this.#due());
  }

  stop(): void {
    this.#stop();
  }

  /** No block until `forMs` after the last one. */
  drought(forMs: number): void {
    this.#noneUntilMs = Math.max(this.#noneUntilMs, this.#lastBlockMs + forMs);
  }

  burst(blocks: number): void {
    this.#deps.chain.mine(blocks);
    this.#lastBlockMs = this.#deps.clock.nowMs();
  }

  #due(): void {
    const leftMs = this.#noneUntilMs - this.#deps.clock.nowMs();
    if (leftMs > 0) {
      this.#stop = this.#deps.clock.after(leftMs, () => this.#due());
      return;
    }
    this.burst(1);
    this.start();
  }
}
