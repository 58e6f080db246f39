import type { Clock } from "../ports/clock.ts";

/** Longest wait between two tries at a daemon that does not answer. */
const MAX_BACKOFF_MS = 30_000;

/**
 * When to look next: `pollMs` after a success, doubling up to 30 s after failures, at once when hurried. A hurry
 * during failures is granted once per `pollMs`, so that impatient callers do not hammer a daemon that is starting.
 */
export class RetryTimer {
  readonly #clock: Clock;
  readonly #pollMs: number;
  readonly #onDue: () => void;
  #due = true;
  #hurried = false;
  #resting = false;
  #failures = 0;
  #cancel: () => void = () => undefined;
  #cancelRest: () => void = () => undefined;

  constructor(clock: Clock, pollMs: number, onDue: () => void) {
    this.#clock = clock;
    this.#pollMs = pollMs;
    this.#onDue = onDue;
  }

  get failing(): boolean {
    return this.#failures > 0;
  }

  /** True once for each time a look is due. */
  take(): boolean {
    const now = this.#due || (this.#hurried && !this.#resting);
    if (now) {
      this.#due = false;
      this.#hurried = false;
      this.#cancel();
    }
    return now;
  }

  /** Asks for a look now. */
  hurry(): void {
    this.#hurried = true;
    if (!this.#resting) this.#onDue();
  }

  /** @param atLeastMs lower bound of the wait where politeness asks for more than `pollMs` */
  succeeded(atLeastMs: number): void {
    this.#failures = 0;
    this.#schedule(Math.max(this.#pollMs, atLeastMs));
  }

  /** @param mostMs longest wait, where what is missing is on its way */
  failed(mostMs = MAX_BACKOFF_MS): void {
    const backoff = Math.min(mostMs, this.#pollMs * 2 ** Math.min(this.#failures, 20));
    this.#failures++;
    this.#hurried = false;
    this.#resting = true;
    this.#cancelRest();
    this.#cancelRest = this.#clock.after(Math.min(this.#pollMs, backoff), () => {
      this.#resting = false;
      if (this.#hurried) this.#onDue();
    });
    this.#schedule(backoff);
  }

  stop(): void {
    this.#cancel();
    this.#cancelRest();
  }

  #schedule(delayMs: number): void {
    this.#cancel();
    this.#cancel = this.#clock.after(delayMs, () => {
      this.#due = true;
      this.#onDue();
    });
  }
}
