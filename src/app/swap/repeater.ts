import type { Clock } from "../../ports/clock.ts";

/** Says when something that is repeated is due again. A wall clock set back makes it due at once, never late. */
export class Repeater {
  readonly #clock: Clock;
  #lastMs: number | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** True, and counted as done now, when the last time is `everyMs` or more ago. */
  isDue(everyMs: number): boolean {
    if (this.leftMs(everyMs) > 0) return false;
    this.#lastMs = this.#clock.nowMs();
    return true;
  }

  /** Milliseconds until it is due; 0 when it is, never more than `everyMs`. */
  leftMs(everyMs: number): number {
    if (this.#lastMs === null) return 0;
    const passedMs = this.#clock.nowMs() - this.#lastMs;
    return passedMs < 0 ? 0 : Math.max(0, everyMs - passedMs);
  }
}
