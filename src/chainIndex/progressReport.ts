import type { ChainStatus } from "../ports/chain.ts";
import type { Clock } from "../ports/clock.ts";
import type { Log } from "../ports/log.ts";

/** A catch-up is reported so often; a shorter one is not mentioned. */
const EVERY_MS = 10_000;

/** Says in the log how far the reading of a chain has come, so that a first start of hours does not look like a standstill. */
export class ProgressReport {
  readonly #clock: Clock;
  readonly #log: Log;
  /** When something was said last, or when the catch-up began; null while there is none. */
  #sinceMs: number | null = null;

  constructor(clock: Clock, log: Log) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Told after every step of the chain's loop. */
  note(progress: ChainStatus["progress"]): void {
    const nowMs = this.#clock.nowMs();
    if (progress === null) this.#sinceMs = null;
    else if (this.#sinceMs === null || nowMs < this.#sinceMs) this.#sinceMs = nowMs;
    else if (nowMs - this.#sinceMs >= EVERY_MS) {
      this.#sinceMs = nowMs;
      this.#log.info("chain_catching_up", progress);
    }
  }
}
