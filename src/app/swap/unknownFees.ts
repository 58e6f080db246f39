import type { Clock } from "../../ports/clock.ts";
import { Repeater } from "./repeater.ts";

/**
 * Fees of one swap that the backend turned out not to know, after which each further one is judged so much later, ms. Electrum servers (ElectrumX
 * 1.15) count some three hundred for each, forgive one a second and cut off at ten thousand, with all else that is asked.
 */
const AT_ONCE = 3;
const PAUSE_MS = 120_000;

/** When the next of many fees may be judged: a taker can make up as many as it likes, and sign them. */
export class UnknownFees {
  readonly #last: Repeater;
  #count = 0;

  constructor(clock: Clock) {
    this.#last = new Repeater(clock);
  }

  /** One was not known. */
  note(): void {
    this.#count++;
    this.#last.isDue(0);
  }

  /** Milliseconds until the next may be judged; 0: now. */
  get leftMs(): number {
    return this.#count < AT_ONCE ? 0 : this.#last.leftMs(PAUSE_MS);
  }
}
