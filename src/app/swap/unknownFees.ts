import { AskCredit } from "../../core/util/askCredit.ts";
import type { Clock } from "../../ports/clock.ts";
import { Repeater } from "./repeater.ts";

/**
 * Fees of one swap that the backend turned out not to know, after which each further one is judged so much later, ms. Electrum servers (ElectrumX
 * 1.15) count some three hundred for each, more where it is offered again, forgive one a second and cut off at ten thousand, with all else that is asked.
 */
const AT_ONCE = 3;
const PAUSE_MS = 120_000;
/** The same of all swaps of a coin together. */
const AT_ONCE_OF_ALL = 10;
const PAUSE_OF_ALL_MS = 600_000;

/** Fees of each coin, of whatever swaps, that servers may be asked for though none waits in their mempools. */
export class FeeAllowances {
  readonly #coins = new Map<string, AskCredit>();

  of(ticker: string): AskCredit {
    const allowance = this.#coins.get(ticker) ?? new AskCredit(AT_ONCE_OF_ALL, PAUSE_OF_ALL_MS);
    this.#coins.set(ticker, allowance);
    return allowance;
  }
}

/** When the next of many fees may be judged: takers can make up as many as they like, and sign them. */
export class UnknownFees {
  readonly #clock: Clock;
  readonly #allowance: AskCredit;
  readonly #last: Repeater;
  #count = 0;
  #holds = false;

  constructor(clock: Clock, allowance: AskCredit) {
    this.#clock = clock;
    this.#allowance = allowance;
    this.#last = new Repeater(clock);
  }

  /** One was not known. */
  note(): void {
    this.#count++;
    this.#holds = false;
    this.#last.isDue(0);
  }

  /** Milliseconds until the next may be judged; 0: now. */
  get leftMs(): number {
    return this.#count < AT_ONCE ? 0 : this.#last.leftMs(PAUSE_MS);
  }

  /** Whether servers may be asked now for one that they say does not wait in their mempools. To be followed by `judged`. */
  take(): boolean {
    this.#holds = this.#allowance.take(this.#clock.nowMs());
    return this.#holds;
  }

  /** What was not noted cost servers little: they have it, or were asked nothing. */
  judged(): void {
    if (this.#holds) this.#allowance.giveBack();
    this.#holds = false;
  }
}
