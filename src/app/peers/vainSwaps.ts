import type { Clock } from "../../ports/clock.ts";

/** Swaps that may come to nothing at once, and how long until there may be one more. */
const BURST = 1_000;
const ONE_MORE_MS = 20_000;

/**
 * How many swaps may still be begun with takers who have paid nothing. Each is written down for good, some 15 kB with its files, and its
 * taker may end it within a second: keys are free, so that without a bound they would fill the disk.
 */
export class VainSwaps {
  readonly #clock: Clock;
  #left = BURST;
  #sinceMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#sinceMs = clock.nowMs();
  }

  /** @param open what was begun or offered, and may come to nothing yet */
  hasRoom(open: number): boolean {
    this.#refill();
    return this.#left - open >= 1;
  }

  cameToNothing(): void {
    this.#refill();
    this.#left = Math.max(0, this.#left - 1);
  }

  #refill(): void {
    const nowMs = this.#clock.nowMs();
    this.#left = Math.min(BURST, this.#left + Math.max(0, nowMs - this.#sinceMs) / ONE_MORE_MS);
    this.#sinceMs = nowMs;
  }
}
