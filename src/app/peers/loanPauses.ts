import { type Clock, steadyClock } from "../../ports/clock.ts";
import { ExpiringMap } from "../expiringMap.ts";

/** After a handshake that came to nothing: its taker may simply have chosen another maker. */
const HANDSHAKE_PAUSE_MS = 20_000;
/** After a swap whose taker never paid: doubled each time, until one pays. */
const SWAP_PAUSE_MS = 600_000;
const LONGEST_PAUSE_MS = 86_400_000;
/** Orders and balances remembered, and loans under way. */
const MAX_NAMES = 1_000;
const MAX_LOANS = 1_000;

type Pause = { readonly untilMs: number; readonly failures: number };

/**
 * When a key without history may have more than its share of an order or a balance because nobody else is there. One that
 * comes to nothing costs its taker nothing, so that the next such favour waits: whoever comes with fresh keys again and
 * again gets a small and shrinking part of the time.
 */
export class LoanPauses {
  readonly #clock: Clock;
  /** By taker uuid: of which order or balance. */
  readonly #loans = new Map<string, string>();
  readonly #pauses: ExpiringMap<Pause>;

  constructor(clock: Clock) {
    this.#clock = steadyClock(clock);
    this.#pauses = new ExpiringMap(this.#clock, 2 * LONGEST_PAUSE_MS, MAX_NAMES);
  }

  isPaused(name: string): boolean {
    return (this.#pauses.get(name)?.untilMs ?? 0) > this.#clock.nowMs();
  }

  began(uuid: string, name: string): void {
    const oldest = this.#loans.size >= MAX_LOANS ? this.#loans.keys().next() : undefined;
    if (oldest && !oldest.done) this.#loans.delete(oldest.value);
    this.#loans.set(uuid, name);
  }

  repaid(uuid: string): void {
    const name = this.#loans.get(uuid);
    if (name === undefined) return;
    this.#loans.delete(uuid);
    this.#pauses.set(name, { untilMs: 0, failures: 0 });
  }

  failed(uuid: string, stage: "handshake" | "swap"): void {
    const name = this.#loans.get(uuid);
    if (name === undefined) return;
    this.#loans.delete(uuid);
    const failures = this.#pauses.get(name)?.failures ?? 0;
    const pauseMs = stage === "handshake" ? HANDSHAKE_PAUSE_MS : Math.min(LONGEST_PAUSE_MS, SWAP_PAUSE_MS * 2 ** failures);
    this.#pauses.set(name, { untilMs: this.#clock.nowMs() + pauseMs, failures: stage === "swap" ? failures + 1 : failures });
  }
}
