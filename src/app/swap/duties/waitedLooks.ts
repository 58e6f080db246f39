import { type Clock, steadyTime } from "../../../ports/clock.ts";

/** No more than this counts from one look to the next: a wall clock that is set forward by hours is no wait. Seconds. */
const MOST_SEC = 60;

/** How long somebody has waited for a chain, by looks at it and not by what time it is. */
export class WaitedLooks {
  readonly #steadyMs: () => number;
  #lastMs: number;
  #tip: string | null = null;
  #waitedSec = 0;
  #stillSec = 0;

  constructor(clock: Clock) {
    this.#steadyMs = steadyTime(clock);
    this.#lastMs = this.#steadyMs();
  }

  /** @param tip hash of the tip that is shown now; null: none is */
  look(tip: string | null): void {
    const nowMs = this.#steadyMs();
    const passed = Math.min(MOST_SEC, (nowMs - this.#lastMs) / 1_000);
    this.#lastMs = nowMs;
    this.#waitedSec += passed;
    this.#stillSec = tip === this.#tip ? this.#stillSec + passed : 0;
    this.#tip = tip;
  }

  /** Since the first look. */
  get waitedSec(): number {
    return this.#waitedSec;
  }
  /** Since the tip was first seen to be the present one. */
  get stillSec(): number {
    return this.#stillSec;
  }
}
