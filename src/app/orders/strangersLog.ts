import type { Clock } from "../../ports/clock.ts";
import type { Log, LogFields } from "../../ports/log.ts";
import { KeyedBuckets } from "../orderbook/keyedBuckets.ts";

/** Lines of one event: on average a second, and at once. */
const LINE_RATE = { perSec: 1, burst: 300 };
const MAX_EVENTS = 16;

/**
 * A log of what strangers bring about with every message, as often as they like: so many lines that a person can follow them, and
 * no more, or a log file would fill the disk on which swaps are stored. How many were left out is told with the next line.
 */
export class StrangersLog {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #budget = new KeyedBuckets(LINE_RATE, MAX_EVENTS);
  readonly #leftOut = new Map<string, number>();

  constructor({ log, clock }: { readonly log: Log; readonly clock: Clock }) {
    this.#log = log;
    this.#clock = clock;
  }

  info(event: string, fields: LogFields): void {
    this.#tell("info", event, fields);
  }
  warn(event: string, fields: LogFields): void {
    this.#tell("warn", event, fields);
  }

  #tell(level: "info" | "warn", event: string, fields: LogFields): void {
    const leftOut = this.#leftOut.get(event) ?? 0;
    if (!this.#budget.take(event, this.#clock.nowMs())) {
      this.#leftOut.set(event, leftOut + 1);
      return;
    }
    this.#leftOut.delete(event);
    this.#log[level](event, leftOut > 0 ? { ...fields, left_out: leftOut } : fields);
  }
}
