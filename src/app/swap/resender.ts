import { resendPauseSec } from "../../core/swap/resendPause.ts";
import type { Clock } from "../../ports/clock.ts";
import { Repeater } from "./repeater.ts";

/** Two answers to repetitions of the other side are at least this far apart. */
const AT_ONCE_MS = 1_000;

/**
 * When an own message goes out again: after pauses that grow while the other side is silent (`resendPauseSec`), at once when it
 * shows that it still waits, and from then on as in the beginning.
 */
export class Resender {
  readonly #repeater: Repeater;
  readonly #firstSec: number;
  readonly #leftSec: () => number;
  #pauseMs: number;
  #repeated = 0;

  /** @param leftSec until the other side stops waiting for the message */
  constructor(clock: Clock, firstSec: number, leftSec: () => number) {
    this.#repeater = new Repeater(clock);
    this.#firstSec = firstSec;
    this.#leftSec = leftSec;
    this.#pauseMs = firstSec * 1_000;
  }

  /**
   * True, and counted as sent now, when it is due.
   * @param isAsked the other side has shown since the last time that it waits
   */
  isDue(isAsked: boolean): boolean {
    if (isAsked) {
      this.#repeated = 0;
      this.#pauseMs = this.#firstSec * 1_000;
    }
    if (!this.#repeater.isDue(isAsked ? AT_ONCE_MS : this.#pauseMs)) return false;
    this.#pauseMs = resendPauseSec(this.#firstSec, this.#repeated++, this.#leftSec()) * 1_000;
    return true;
  }

  /** Milliseconds until it is due if nobody asks; at least 1. */
  get leftMs(): number {
    return Math.max(1, this.#repeater.leftMs(this.#pauseMs));
  }
}
