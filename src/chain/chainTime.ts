import type { Clock } from "../ports/clock.ts";

/** The chain's own time: the node's clock with an offset that tests may move. */
export class ChainTime {
  readonly #clock: Clock;
  #offsetMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Unix seconds. */
  get nowSec(): number {
    return Math.floor((this.#clock.nowMs() + this.#offsetMs) / 1_000);
  }

  /** Makes it `sec` now; time goes on from there. */
  set(sec: number): void {
    this.#offsetMs = sec * 1_000 - this.#clock.nowMs();
  }

  add(sec: number): void {
    this.#offsetMs += sec * 1_000;
  }
}
